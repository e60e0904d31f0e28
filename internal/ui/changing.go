package ui

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"strings"
)

const (
	// csrfField is the field of a form, and csrfHeader the header, with which whoever
	// changes something shows that it has read a page of this server.
	csrfField  = "csrf"
	csrfHeader = "X-Weir-Csrf"
	// mostPosted is how large the body of a request may be, in bytes.
	mostPosted = 64 << 10
)

// newCSRF is a word that only pages of this server know, while it runs.
func newCSRF() string { return rand.Text() }

type csrfJSON struct {
	CSRF string `json:"csrf"`
}

// tellCSRF is GET /api/v1/csrf, for programs. A foreign page may ask and cannot read it.
func (s *server) tellCSRF(w http.ResponseWriter, _ *http.Request) { answer(w, csrfJSON{s.csrf}) }

// changing admits a request that changes something (U3): one with the server's token,
// or one of the user who started the server that shows the word.
func (s *server) changing(most int64, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, most)
		switch {
		case s.hasToken(r):
		case s.inSession(r) && s.showsCSRF(r):
		case s.options.SameUser == nil || !s.options.SameUser(r):
			refuse(w, http.StatusForbidden, "only the user who started weir may do that, or who has its token")
			return
		case !s.showsCSRF(r):
			refuse(w, http.StatusForbidden, "the header "+csrfHeader+" is missing or of another server; "+
				"GET /api/v1/csrf tells it, and a page that was loaded before the server started is to be loaded anew")
			return
		}
		next(w, r)
	}
}

// mayChange tells whether changing would admit a form on a page that it was sent.
func (s *server) mayChange(r *http.Request) bool {
	return s.hasToken(r) || s.inSession(r) || s.options.SameUser != nil && s.options.SameUser(r)
}

func (s *server) showsCSRF(r *http.Request) bool {
	word := r.Header.Get(csrfHeader)
	if word == "" && isForm(r) {
		word = r.PostFormValue(csrfField)
	}
	return subtle.ConstantTimeCompare([]byte(word), []byte(s.csrf)) == 1
}

// isForm tells whether the body is that of a form of a page.
func isForm(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded")
}
