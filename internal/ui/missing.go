package ui

import (
	"net/http"
	"strings"
)

// answered serves what mux has a route for, and says what is wrong with the rest as the
// pages and the API say things.
func (s *server) answered(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		seen := refusal{header: http.Header{}}
		h.ServeHTTP(&seen, r)
		code, why := http.StatusNotFound, "there is no "+r.URL.Path+"; GET /api/v1/openapi.json lists what there is"
		if allow := seen.header.Get("Allow"); seen.code == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", allow)
			code, why = seen.code, r.URL.Path+" takes "+allow
		}
		if ofAPI(r) || code != http.StatusNotFound {
			refuse(w, code, why)
			return
		}
		p := s.newPage(r, "missing", "No such page")
		begin(w, code)
		writenoPage(w, p, r.URL.Path)
	})
}

// ofAPI tells whether a request is answered in JSON.
func ofAPI(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/api/") }

// refusal is what the mux would have answered, without its text.
type refusal struct {
	header http.Header
	code   int
}

func (f *refusal) Header() http.Header { return f.header }

func (f *refusal) WriteHeader(code int) { f.code = code }

func (f *refusal) Write(p []byte) (int, error) { return len(p), nil }
