package ui

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
)

// browser is somebody without the token, on another machine.
type browser struct {
	h      http.Handler
	cookie *http.Cookie
	from   string
}

func (b *browser) ask(method, url, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, url, strings.NewReader(body))
	r.Header.Set("Accept", "text/html,application/xhtml+xml")
	if body != "" {
		r.Header.Set("Content-Type", formType)
	}
	if b.from != "" {
		r.RemoteAddr = b.from
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if b.cookie != nil {
		r.AddCookie(b.cookie)
	}
	w := httptest.NewRecorder()
	b.h.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		if b.cookie = c; c.MaxAge < 0 {
			b.cookie = nil
		}
	}
	return w
}

func stranger(now *time.Time) *browser {
	return &browser{h: New(monitor.NewRegistry(), Options{
		Token: "t0ken", SameUser: func(*http.Request) bool { return false }, Now: func() time.Time { return *now },
		Hosts: []string{"weir.example"},
	})}
}

const outside = "https://weir.example:4040"

func TestATokenBecomesACookie(t *testing.T) {
	now := noon
	b := stranger(&now)
	if w := b.ask("GET", outside+"/queries/x?from=1&to=2", ""); w.Code != 303 ||
		w.Header().Get("Location") != "/login?next=%2Fqueries%2Fx%3Ffrom%3D1%26to%3D2" {
		t.Errorf("%d %s", w.Code, w.Header())
	}
	if w := b.ask("GET", outside+"/api/v1/fleet", ""); w.Code != 401 {
		t.Errorf("the API: %d", w.Code)
	}
	for _, path := range []string{"/login", "/assets/style.css"} {
		if w := b.ask("GET", outside+path, ""); w.Code != 200 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	page := b.ask("GET", outside+"/login?next=/queries/%22%3E%3Cscript%3E", "").Body.String()
	safe(t, "login", page)
	if w := b.ask("POST", outside+"/login", "token=wrong"); w.Code != 403 || b.cookie != nil ||
		strings.Contains(w.Body.String(), "t0ken") {
		t.Errorf("a wrong token: %d", w.Code)
	}
	w := b.ask("POST", outside+"/login", "token=t0ken&next=/queries/x?from=1", "Origin", outside)
	if w.Code != 303 || w.Header().Get("Location") != "/queries/x?from=1" || b.cookie == nil {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	if set := w.Header().Get("Set-Cookie"); !strings.Contains(set, "HttpOnly") || !strings.Contains(set,
		"SameSite=Strict") ||
		!strings.Contains(set, "Secure") || strings.Contains(set, "t0ken") {
		t.Errorf("%s", set)
	}
	for _, path := range []string{"/", "/api/v1/fleet"} {
		if w := b.ask("GET", outside+path, ""); w.Code != 200 {
			t.Errorf("%s with the cookie: %d", path, w.Code)
		}
	}
	if w := b.ask("GET", outside+"/", "", "Origin", "https://evil.example"); w.Code == 200 {
		t.Error("a page of another site asked with the cookie")
	}
	page = b.ask("GET", outside+"/", "").Body.String()
	_, word, _ := strings.Cut(page, `name="csrf" value="`)
	word, _, _ = strings.Cut(word, `"`)
	if w := b.ask("POST", outside+"/logout", "csrf=nope"); w.Code != 403 || b.cookie == nil {
		t.Errorf("logged out without the word: %d", w.Code)
	}
	kept := b.cookie
	if w := b.ask("POST", outside+"/logout", "csrf="+word); w.Code != 303 || b.cookie != nil {
		t.Errorf("%d", w.Code)
	}
	b.cookie = kept
	if w := b.ask("GET", outside+"/api/v1/fleet", ""); w.Code != 401 {
		t.Errorf("after the end of its session a cookie is worth %d", w.Code)
	}
}

func TestSessionsEnd(t *testing.T) {
	now := noon
	b := stranger(&now)
	b.ask("POST", outside+"/login", "token=t0ken")
	now = now.Add(sessionFor - time.Second)
	if w := b.ask("GET", outside+"/api/v1/fleet", ""); w.Code != 200 {
		t.Errorf("%d before its end", w.Code)
	}
	now = now.Add(2 * time.Second)
	if w := b.ask("GET", outside+"/api/v1/fleet", ""); w.Code != 401 {
		t.Errorf("%d after its end", w.Code)
	}
	var l logins
	first := l.open(noon)
	for i := range mostSessions {
		l.open(noon.Add(time.Duration(i+1) * time.Second))
	}
	if l.has(first, noon) || len(l.sessions) != mostSessions {
		t.Errorf("%d sessions, the first there: %t", len(l.sessions), l.has(first, noon))
	}
}

func TestWrongTokensAreNotTriedForLong(t *testing.T) {
	now := noon
	b := stranger(&now)
	for range wrongTokens {
		if w := b.ask("POST", outside+"/login", "token=guess"); w.Code != 403 {
			t.Fatalf("%d", w.Code)
		}
	}
	if w := b.ask("POST", outside+"/login", "token=t0ken"); w.Code != 429 {
		t.Errorf("the right token after %d wrong ones: %d", wrongTokens, w.Code)
	}
	if w := b.ask("GET", outside+"/api/v1/fleet", "", "Authorization", "Bearer t0ken"); w.Code != 429 {
		t.Errorf("as a bearer token: %d", w.Code)
	}
	other := &browser{h: b.h, from: "192.0.2.77:5000"}
	if w := other.ask("POST", outside+"/login", "token=t0ken"); w.Code != 303 {
		t.Errorf("from another address: %d", w.Code)
	}
	now = now.Add(wrongTokensFor)
	if w := b.ask("POST", outside+"/login", "token=t0ken"); w.Code != 303 {
		t.Errorf("a minute later: %d", w.Code)
	}
	for range wrongTokens {
		other.cookie = nil
		other.ask("GET", outside+"/api/v1/fleet", "", "Authorization", "Bearer guess")
	}
	if w := other.ask("GET", outside+"/api/v1/fleet", "", "Authorization", "Bearer t0ken"); w.Code != 429 {
		t.Errorf("after wrong bearer tokens: %d", w.Code)
	}
}

func TestLoginLeadsNowhereElse(t *testing.T) {
	now := noon
	for next, want := range map[string]string{
		"/": "/", "/alerts": "/alerts", "": "/", "https://evil.example/": "/", "//evil.example": "/", "/\\evil.example": "/",
		"javascript:alert(1)": "/", "alerts": "/", "/%0d%0aX: y": "/%0d%0aX: y",
	} {
		b := stranger(&now)
		w := b.ask("POST", outside+"/login", "token=t0ken&next="+strings.ReplaceAll(next, "%", "%25"))
		if got := w.Header().Get("Location"); got != want {
			t.Errorf("%q leads to %q, want %q", next, got, want)
		}
	}
	b := stranger(&now)
	if w := b.ask("POST", outside+"/login", "token=t0ken", "Origin",
		"https://evil.example"); w.Code == 303 && b.cookie != nil {
		t.Error("a page of another site logged somebody in")
	}
	open := &browser{h: New(monitor.NewRegistry(), Options{Now: time.Now})}
	if w := open.ask("GET", "http://localhost/login", ""); w.Code != 404 {
		t.Errorf("without a token there is a page to log in: %d", w.Code)
	}
}
