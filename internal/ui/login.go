package ui

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	// sessionCookie is shown by a browser whose user has typed the token.
	sessionCookie = "weir-session"
	sessionFor    = 12 * time.Hour
	mostSessions  = 200
	// Of one address so many wrong tokens are taken in so long; more are not looked at.
	wrongTokens    = 10
	wrongTokensFor = time.Minute
	mostWrong      = 1000 // addresses that are remembered
)

// logins are the browsers that have shown the token, and who has shown wrong ones.
type logins struct {
	mu       sync.Mutex
	sessions map[string]time.Time // when they end
	wrong    map[string]*wrongOnes
}

type wrongOnes struct {
	since time.Time
	n     int
}

// open begins a session.
func (l *logins) open(now time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	oldest, first := "", time.Time{}
	for id, ends := range l.sessions {
		if !now.Before(ends) {
			delete(l.sessions, id)
		} else if oldest == "" || ends.Before(first) {
			oldest, first = id, ends
		}
	}
	if len(l.sessions) >= mostSessions {
		delete(l.sessions, oldest)
	}
	if l.sessions == nil {
		l.sessions = map[string]time.Time{}
	}
	id := rand.Text()
	l.sessions[id] = now.Add(sessionFor)
	return id
}

func (l *logins) has(id string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ends, ok := l.sessions[id]
	return ok && now.Before(ends)
}

func (l *logins) end(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.sessions, id)
}

// tooMany tells whether an address has shown so many wrong tokens that no more of its
// are looked at for a while.
func (l *logins) tooMany(address string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.wrong[address]
	return w != nil && now.Sub(w.since) < wrongTokensFor && w.n >= wrongTokens
}

// miss notes a wrong token.
func (l *logins) miss(address string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.wrong[address]
	if w == nil || now.Sub(w.since) >= wrongTokensFor {
		if len(l.wrong) >= mostWrong || l.wrong == nil {
			l.wrong = map[string]*wrongOnes{}
		}
		w = &wrongOnes{since: now}
		l.wrong[address] = w
	}
	w.n++
}

func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// addLogin adds the page on which the token is typed, where there is one.
func (s *server) addLogin(mux *http.ServeMux) {
	if s.options.Token == "" {
		return
	}
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, r *http.Request) {
		s.showLogin(w, r, http.StatusOK, "")
	})
	mux.HandleFunc("POST /login", s.logIn)
	mux.HandleFunc("POST /logout", s.changing(mostPosted, s.logOut))
}

// open tells whether everybody may ask for a path: the page that asks for the token
// and what it is made of.
func (s *server) open(r *http.Request) bool {
	return s.options.Token != "" && (r.URL.Path == "/login" || strings.HasPrefix(r.URL.Path, "/assets/"))
}

// sameSite tells whether a request comes from a page of the address that it goes to.
// Unlike ownOrigin it asks for no name that the server knows: a cookie, and a token that
// somebody types, belong to the name that stands in the browser.
func (s *server) sameSite(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// inSession tells whether a request comes from a browser that has shown the token.
func (s *server) inSession(r *http.Request) bool {
	if s.options.Token == "" {
		return false
	}
	c, err := r.Cookie(sessionCookie)
	return err == nil && s.sameSite(r) && s.logins.has(c.Value, s.options.Now())
}

func (s *server) showLogin(w http.ResponseWriter, r *http.Request, code int, refused string) {
	p := s.newPage(r, "login", "Log in")
	p.alerts, p.resources, p.environment = false, false, false
	begin(w, code)
	writeloginPage(w, p, pageBehind(r), refused)
}

// pageBehind is the page that somebody wanted who has to log in first: one of this server.
func pageBehind(r *http.Request) string {
	next := r.FormValue("next")
	u, err := url.Parse(next)
	if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(next, "/") ||
		strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n") {
		return "/"
	}
	return next
}

func (s *server) logIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, mostPosted)
	now, from := s.options.Now(), addressOf(r)
	token := strings.TrimSpace(r.PostFormValue("token"))
	switch {
	case s.logins.tooMany(from, now):
		s.showLogin(w, r, http.StatusTooManyRequests, "Too many wrong tokens; wait a minute.")
	case subtle.ConstantTimeCompare([]byte(token), []byte(s.options.Token)) != 1:
		s.logins.miss(from, now)
		s.showLogin(w, r, http.StatusForbidden, "That is not the token.")
	default:
		http.SetCookie(w, &http.Cookie{
			Name: sessionCookie, Value: s.logins.open(now), Path: "/", MaxAge: int(sessionFor.Seconds()),
			HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
		})
		http.Redirect(w, r, pageBehind(r), http.StatusSeeOther)
	}
}

func (s *server) logOut(w http.ResponseWriter, r *http.Request) {
	if c, err := r.Cookie(sessionCookie); err == nil {
		s.logins.end(c.Value)
	}
	http.SetCookie(w, &http.Cookie{Name: sessionCookie, Path: "/", MaxAge: -1, HttpOnly: true})
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}
