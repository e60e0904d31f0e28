package ui

import (
	"fmt"
	"html"
	"net/http"
	"net/url"

	"github.com/weir-dev/weir/internal/monitor/report"
)

// sparkVersion is the Spark whose programs weir runs.
const sparkVersion = "4.3.0"

// addSpark adds the pages of Spark's own port that tools ask for: the metrics under
// Spark's names, and what the Datadog Agent's check of Spark reads of a driver or of
// a standalone master. weir is one application without jobs, stages and executors of
// Spark's kind, so these lists are empty.
func (s *server) addSpark(mux *http.ServeMux) {
	mux.HandleFunc("GET /metrics/prometheus", s.sparkPrometheus)
	mux.HandleFunc("GET /metrics/json", s.sparkJSON)
	mux.HandleFunc("GET /metrics/json/{$}", s.sparkJSON)
	mux.HandleFunc("GET /api/v1/version", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]string{"spark": sparkVersion})
	})
	mux.HandleFunc("GET /api/v1/applications", s.applications)
	for _, list := range []string{"jobs", "stages", "executors", "allexecutors", "storage/rdd", "sql"} {
		mux.HandleFunc("GET /api/v1/applications/{app}/"+list, s.ofApplication([]any{}))
	}
	mux.HandleFunc("GET /api/v1/applications/{app}/streaming/statistics", s.ofApplication(map[string]any{}))
	mux.HandleFunc("GET /json/", s.master)
	mux.HandleFunc("GET /app/", s.masterApplication)
}

func (s *server) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", report.ContentType)
	w.Header().Set("Cache-Control", "no-store")
	var own []report.Own
	if s.options.Own != nil {
		own = s.options.Own()
	}
	w.Write(report.AppendOpenMetrics(nil, s.registry, own))
}

func (s *server) sparkPrometheus(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Write(report.AppendPrometheus(nil, report.Gauges(s.registry, s.options.Application)))
}

func (s *server) sparkJSON(w http.ResponseWriter, _ *http.Request) {
	gauges := report.Gauges(s.registry, s.options.Application)
	writeJSON(w, report.AppendJSON(nil, gauges, s.options.Application))
}

// application is weir as Spark's lists show one.
type application struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func (s *server) own() []application { return []application{{s.options.Application, "weir"}} }

func (s *server) applications(w http.ResponseWriter, _ *http.Request) { answer(w, s.own()) }

// ofApplication answers about weir, and knows no other application.
func (s *server) ofApplication(body any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if id := r.PathValue("app"); id != s.options.Application {
			refuse(w, http.StatusNotFound, "unknown app: "+id)
			return
		}
		answer(w, body)
	}
}

// master is what a standalone master lists.
func (s *server) master(w http.ResponseWriter, _ *http.Request) {
	answer(w, map[string]any{"status": "ALIVE", "activeapps": s.own()})
}

// masterApplication is a master's page of an application: the link that leads to the
// application's own port, which is this one.
func (s *server) masterApplication(w http.ResponseWriter, r *http.Request) {
	own := url.URL{Scheme: "http", Host: r.Host}
	if r.TLS != nil {
		own.Scheme = "https"
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<!doctype html>\n<title>weir</title>\n<a href=\"%s\">Application Detail UI</a>\n",
		html.EscapeString(own.String()))
}
