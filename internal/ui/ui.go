package ui

import (
	"context"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/alert"
	"github.com/weir-dev/weir/internal/monitor/eventlog"
	"github.com/weir-dev/weir/internal/monitor/report"
)

// Options say what the pages show and who may ask.
type Options struct {
	Version string
	// Remote is the address for programs that the empty page shows.
	Remote string
	// Hosts are the names, without port, under which the server may be asked
	// besides loopback ones; "*" stands for any.
	Hosts []string
	// Token is asked for as a bearer token of everybody but the user who started
	// the server; "" asks for none.
	Token string
	// SameUser tells whether the connection is of the user who started the
	// server, on this machine.
	SameUser func(r *http.Request) bool
	// Private admits that user alone.
	Private bool
	// MayHear tells who sees what functions print, in which rows may stand, besides
	// those with the token; nil: whoever may ask at all.
	MayHear func(r *http.Request) bool
	Now     func() time.Time
	// Environment tells what the server runs with, and Resources what it uses; nil:
	// there is no such page.
	Environment func() []Group
	Resources   func() Resources
	// Own are the server's own numbers for /metrics; nil: there are none.
	Own func() []report.Own
	// Alerts are the rules in force and what they found; nil: there is no such page.
	Alerts *alert.Alerts
	// Stop ends the run of a run id; the error is ErrEnded when it has ended already.
	// nil: queries cannot be stopped from here.
	Stop func(ctx context.Context, runID string) error
	// Push takes in what an application says of its queries; nil: none may.
	Push func(body []byte) (eventlog.Pushed, error)
	// Past are the runs beyond the registry; nil: there are none.
	Past Past
	// Application is what Spark calls the id of an application; the metrics under
	// Spark's names begin with it. User is the name of who started the server.
	Application, User string
}

type server struct {
	registry *monitor.Registry
	options  Options
	changes  changes
	streams  atomic.Int64 // how many are open
	load     load
	weeks    weeks
	csrf     string
	begun    time.Time
	logins   logins
}

// New is the handler of the HTTP port.
func New(registry *monitor.Registry, o Options) http.Handler {
	s := &server{registry: registry, options: o, csrf: newCSRF(), begun: o.Now()}
	s.changes.server = s
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.showFleet)
	mux.HandleFunc("GET /queries/{id}", s.showQuery)
	mux.Handle("GET /assets/{name...}", &assets{read: map[string]*asset{}})
	mux.HandleFunc("GET /api/v1/queries", s.queries)
	mux.HandleFunc("GET /api/v1/queries/{id}", s.query)
	mux.HandleFunc("GET /api/v1/queries/{id}/progress", s.progress)
	mux.HandleFunc("GET /api/v1/queries/{id}/batches", s.batches)
	mux.HandleFunc("GET /api/v1/queries/{id}/logs", s.logs)
	mux.HandleFunc("GET /api/v1/fleet", s.fleet)
	mux.HandleFunc("GET /api/v1/series", s.series)
	mux.HandleFunc("GET /api/v1/stream", s.stream)
	mux.HandleFunc("GET /api/v1/build", s.build)
	mux.HandleFunc("GET /api/v1/openapi.json", s.openapi)
	mux.HandleFunc("GET /metrics", s.metrics)
	s.addRuns(mux)
	s.addWeek(mux)
	s.addSystem(mux)
	s.addAlerts(mux)
	s.addStop(mux)
	s.addPush(mux)
	mux.HandleFunc("POST /api/v1/queries/{id}/dismiss", s.changing(mostPosted, s.dismiss))
	s.addLogin(mux)
	s.addSpark(mux)
	return s.guard(s.answered(mux))
}

// guard applies U1 and U2 to every request.
func (s *server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if code, why := s.refuse(r); code == http.StatusUnauthorized && wantsPage(r) {
			http.Redirect(w, r, "/login?next="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
			return
		} else if code != 0 && ofAPI(r) {
			refuse(w, code, why)
			return
		} else if code != 0 {
			http.Error(w, why, code)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy",
			"default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		// Without a referrer browsers say null for the origin of a form, too.
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}

// refuse says why a request is not answered; a code of 0 admits it. A request
// with the token is its sender's own, whatever host name it came by.
func (s *server) refuse(r *http.Request) (code int, why string) {
	o := &s.options
	if o.Token != "" && bearer(r) != "" && s.logins.tooMany(addressOf(r), o.Now()) {
		return http.StatusTooManyRequests, "too many wrong tokens; wait a minute"
	}
	if s.hasToken(r) || s.inSession(r) || s.open(r) && s.sameSite(r) {
		return 0, ""
	}
	if o.Token != "" && bearer(r) != "" {
		s.logins.miss(addressOf(r), o.Now())
	}
	switch {
	case !s.ownHost(r.Host) && o.Token != "":
		// Nobody is known by the machine that they are on here, the token is for all.
		return http.StatusUnauthorized, "a bearer token is needed at this host name"
	case !s.ownHost(r.Host):
		return http.StatusMisdirectedRequest, "this host name is not one of the server's"
	case !s.ownOrigin(r.Header.Get("Origin")):
		return http.StatusForbidden, "pages of other sites may not ask here"
	case o.Private && !o.SameUser(r):
		return http.StatusForbidden, "only the user who started weir may ask here"
	case o.Token != "" && !o.SameUser(r):
		return http.StatusUnauthorized, "a bearer token is needed"
	default:
		return 0, ""
	}
}

// wantsPage tells whether somebody looks at a page, and not a program at the API.
func wantsPage(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") &&
		!strings.HasPrefix(r.URL.Path, "/api/")
}

// hasToken tells whether a request shows the server's token.
func (s *server) hasToken(r *http.Request) bool {
	token := s.options.Token
	return token != "" && subtle.ConstantTimeCompare([]byte(bearer(r)), []byte(token)) == 1
}

func (s *server) mayHear(r *http.Request) bool {
	return s.options.MayHear == nil || s.hasToken(r) || s.inSession(r) || s.options.MayHear(r)
}

// bearer is the token of a request, "" when it has none.
func bearer(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}

// ownOrigin tells whether the page that asks is one of the server's; "" is none.
func (s *server) ownOrigin(origin string) bool {
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && s.ownHost(u.Host)
}

func (s *server) ownHost(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = hostPort
	}
	host = strings.Trim(host, "[]")
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() || strings.EqualFold(host, "localhost") {
		return true
	}
	for _, h := range s.options.Hosts {
		if h == "*" || strings.EqualFold(host, h) {
			return true
		}
	}
	return false
}

// queryList is the answer to GET /api/v1/queries, in the order of their starts.
type queryList struct {
	NowAtMs instant   `json:"nowAtMs"`
	Queries []*detail `json:"queries"`
}

func (s *server) queries(w http.ResponseWriter, _ *http.Request) {
	now := s.options.Now()
	list := queryList{instant(now), []*detail{}}
	for _, q := range s.registry.Queries() {
		list.Queries = append(list.Queries, s.detailOf(q, now))
	}
	answer(w, list)
}

// find is the query that the path names; it answers the request when there is
// none.
func (s *server) find(w http.ResponseWriter, r *http.Request) *monitor.Query {
	q := s.registry.Find(r.PathValue("id"))
	if q == nil {
		refuse(w, http.StatusNotFound,
			"no query has the id or run id "+r.PathValue("id")+"; GET /api/v1/queries lists them")
	}
	return q
}

func (s *server) progress(w http.ResponseWriter, r *http.Request) {
	q := s.find(w, r)
	if q == nil {
		return
	}
	last := q.Last()
	if last == nil {
		writeJSON(w, []byte("null"))
		return
	}
	writeJSON(w, last.AppendJSON(nil))
}

func (s *server) build(w http.ResponseWriter, _ *http.Request) {
	answer(w, build{"weir", s.options.Version})
}

func writeJSON(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Write(body)
}
