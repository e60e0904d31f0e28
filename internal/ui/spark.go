package ui

import (
	"fmt"
	"html"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/monitor/report"
)

// sparkVersion is the Spark whose programs weir runs.
const sparkVersion = "4.3.0"

// addSpark adds the pages of Spark's own port that tools ask for: the metrics under
// Spark's names, and what the Datadog Agent's check of Spark reads of a driver or of
// a standalone master.
func (s *server) addSpark(mux *http.ServeMux) {
	mux.HandleFunc("GET /metrics/prometheus", s.sparkPrometheus)
	mux.HandleFunc("GET /metrics/prometheus/{$}", s.sparkPrometheus)
	mux.HandleFunc("GET /metrics/json", s.sparkJSON)
	mux.HandleFunc("GET /metrics/json/{$}", s.sparkJSON)
	mux.HandleFunc("GET /api/v1/version", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, sparkBuild{sparkVersion})
	})
	s.addApplications(mux)
	mux.HandleFunc("GET /json/", s.master)
	mux.HandleFunc("GET /app/", s.masterApplication)
}

type sparkBuild struct {
	Spark string `json:"spark"`
}

// metrics is weir's own page: OpenMetrics for who asks for it, as Prometheus does, and its
// older text format for everybody else.
func (s *server) metrics(w http.ResponseWriter, r *http.Request) {
	var own []report.Own
	if s.options.Own != nil {
		own = s.options.Own()
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Accept")
	if wantsOpenMetrics(r.Header.Get("Accept")) {
		h.Set("Content-Type", report.OpenMetrics)
		w.Write(report.AppendOpenMetrics(nil, s.registry, own))
		return
	}
	h.Set("Content-Type", report.PlainText)
	w.Write(report.AppendText(nil, s.registry, own))
}

// wantsOpenMetrics tells whether an Accept header names OpenMetrics, and plain text not
// with more weight.
func wantsOpenMetrics(accept string) bool {
	var open, plain float64
	for part := range strings.SplitSeq(accept, ",") {
		kind, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		weight := 1.0
		if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
			weight = q
		}
		switch kind {
		case "application/openmetrics-text":
			open = max(open, weight)
		case "text/plain":
			plain = max(plain, weight)
		}
	}
	return open > 0 && open >= plain
}

func (s *server) sparkPrometheus(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	gauges := report.Gauges(s.registry, s.options.Application, report.PrometheusName)
	w.Write(report.AppendPrometheus(nil, gauges))
}

func (s *server) sparkJSON(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, report.AppendJSON(nil, report.Gauges(s.registry, s.options.Application, report.JSONName)))
}

// master is what a standalone master lists.
func (s *server) master(w http.ResponseWriter, _ *http.Request) {
	type active struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	answer(w, map[string]any{"status": "ALIVE", "activeapps": []active{{s.options.Application, "weir"}}})
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
