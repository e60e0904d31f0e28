package alert

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/testkit"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// sample tells of one alert that fires and one that is over.
func sample() *message {
	behind := &alert{
		id: "a1b2c3", state: Firing, fired: noon.Add(-5 * time.Minute),
		rule: &rule{name: "behind for 5 min", severity: Warning, labels: []Label{{"team", "shop"},
			{"tier-1", "yes"}}},
		query: subject{"11111111-0000-4000-8000-000000000000", "run-1", "orders & <eu> | x", "shop", "weir"},
		text:  "Falling behind by 10 s every minute. Read cap is the limit, not the engine.",
		why:   []string{"Every recent batch took exactly its cap of 100 k rows."}, todo: []string{"Raise maxOffsetsPerTrigger and restart."},
	}
	failed := &alert{
		id: "d4e5f6", state: Resolved, fired: noon.Add(-time.Hour), ended: noon.Add(-time.Minute),
		rule:  &rule{name: "query failed", severity: Critical},
		query: subject{"22222222-0000-4000-8000-000000000000", "run-2", "кириллица 🙂\nsecond line", "", "Spark 3.5"},
		text:  "Failed after batch 7. boom.",
	}
	return newMessage(&Env{Server: "host-1"}, "https://weir.example.org", []*alert{behind, failed}, noon)
}

// listener is what a receiver of messages hears.
type listener struct {
	*httptest.Server
	requests []*http.Request
	bodies   [][]byte
	answer   func(w http.ResponseWriter)
}

func listen(t *testing.T) *listener {
	l := &listener{answer: func(w http.ResponseWriter) { w.WriteHeader(http.StatusAccepted) }}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		l.requests, l.bodies = append(l.requests, r), append(l.bodies, body)
		l.answer(w)
	}))
	t.Cleanup(l.Close)
	return l
}

// receiverOf reads a notifier as the file has it.
func receiverOf(t *testing.T, yaml string) receiver {
	t.Helper()
	e := testEnv(t, "notify:\n  - "+yaml)
	c, err := readConfig(&e)
	if err != nil {
		t.Fatal(err)
	}
	p := c.notifiers[0].receiver
	t.Cleanup(func() { closeIdle(p) })
	return p
}

func closeIdle(r receiver) {
	switch r := r.(type) {
	case *webhook:
		r.client.CloseIdleConnections()
	case *slack:
		r.client.CloseIdleConnections()
	case *pagerduty:
		r.client.CloseIdleConnections()
	case *alertmanager:
		r.client.CloseIdleConnections()
	}
}

// golden is the indented body as the golden file has it.
func golden(t *testing.T, name string, bodies ...[]byte) {
	t.Helper()
	var out bytes.Buffer
	for _, body := range bodies {
		if err := json.Indent(&out, body, "", "  "); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		out.WriteByte('\n')
	}
	testkit.Golden(t, name, out.Bytes())
}

func TestWebhook(t *testing.T) {
	l := listen(t)
	to := receiverOf(t, "webhook: {url: '"+l.URL+"/hook?key=s3cret', bearer: {env: HOOK}, headers: {X-Team: shop}}")
	if err := to.send(t.Context(), sample()); err != nil {
		t.Fatal(err)
	}
	golden(t, "webhook.json", l.bodies[0])
	r := l.requests[0]
	if r.Method != "POST" || r.URL.String() != "/hook?key=s3cret" ||
		r.Header.Get("Content-Type") != "application/json" ||
		r.Header.Get("Authorization") != "Bearer secret-of-HOOK" || r.Header.Get("X-Team") != "shop" {
		t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
	}
	if to.target() != strings.TrimPrefix(l.URL, "http://") {
		t.Errorf("the target is %q", to.target())
	}
}

// Slack takes up to 50 blocks, and texts of sections of up to 3,000 letters:
// docs.slack.dev/reference/block-kit/blocks.
func TestSlack(t *testing.T) {
	l := listen(t)
	to := receiverOf(t, "slack: {url: '"+l.URL+"/services/T0/B0/s3cret'}")
	if err := to.send(t.Context(), sample()); err != nil {
		t.Fatal(err)
	}
	golden(t, "slack.json", l.bodies[0])
	long := sample()
	long.list[0].text, long.list[0].why = strings.Repeat("ж", 5000), []string{strings.Repeat("<", 4000),
		strings.Repeat("&", 4000)}
	for range 30 {
		long.list = append(long.list, long.list[0])
	}
	for i := range long.list {
		long.list[i].text = cut(long.list[i].text, longestText)
	}
	if err := to.send(t.Context(), long); err != nil {
		t.Fatal(err)
	}
	for _, body := range l.bodies {
		var got slackJSON
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		if got.Text == "" || len(got.Blocks) > 50 {
			t.Errorf("%q, %d blocks", got.Text, len(got.Blocks))
		}
		for _, b := range got.Blocks {
			if b.Type == "section" && (b.Text == nil || b.Text.Type != "mrkdwn" || len([]rune(b.Text.Text)) > 3000) {
				t.Errorf("a section of %d letters", len([]rune(b.Text.Text)))
			}
		}
	}
}

// developer.pagerduty.com/docs/send-alert-event: which fields there must be, and how
// long they may be.
func TestPagerDuty(t *testing.T) {
	l := listen(t)
	to := receiverOf(t, "pagerduty: {key: R0UT1NG, url: '"+l.URL+"'}")
	if err := to.send(t.Context(), sample()); err != nil {
		t.Fatal(err)
	}
	golden(t, "pagerduty.json", l.bodies...)
	for i, body := range l.bodies {
		if l.requests[i].URL.Path != "/v2/enqueue" {
			t.Errorf("posted to %s", l.requests[i].URL)
		}
		var event map[string]any
		if err := json.Unmarshal(body, &event); err != nil {
			t.Fatal(err)
		}
		if event["routing_key"] != "R0UT1NG" || len(event["dedup_key"].(string)) > 255 {
			t.Errorf("%v", event)
		}
		if event["event_action"] == "resolve" {
			continue
		}
		payload := event["payload"].(map[string]any)
		for _, needed := range []string{"summary", "source", "severity"} {
			if s, ok := payload[needed].(string); !ok || s == "" || len([]rune(s)) > 1024 {
				t.Errorf("%s is %v", needed, payload[needed])
			}
		}
		if _, err := time.Parse(time.RFC3339, payload["timestamp"].(string)); err != nil {
			t.Error(err)
		}
		if !strings.Contains("critical error warning info", payload["severity"].(string)) {
			t.Errorf("severity %v", payload["severity"])
		}
	}
}

// postableAlerts of Alertmanager's api/v2/openapi.yaml: labels are needed, names of
// labels are those of Prometheus, times are RFC 3339.
func TestAlertmanager(t *testing.T) {
	l := listen(t)
	to := receiverOf(t, "alertmanager: {url: '"+l.URL+"/prefix/'}")
	if err := to.send(t.Context(), sample()); err != nil {
		t.Fatal(err)
	}
	golden(t, "alertmanager.json", l.bodies[0])
	if l.requests[0].URL.Path != "/prefix/api/v2/alerts" {
		t.Errorf("posted to %s", l.requests[0].URL)
	}
	var posted []struct {
		Labels, Annotations map[string]string
		StartsAt, EndsAt    time.Time
		GeneratorURL        string
	}
	d := json.NewDecoder(bytes.NewReader(l.bodies[0]))
	d.DisallowUnknownFields()
	if err := d.Decode(&posted); err != nil || len(posted) != 2 {
		t.Fatal(err, posted)
	}
	for _, p := range posted {
		for name, value := range p.Labels {
			if !regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`).MatchString(name) || value == "" {
				t.Errorf("label %q=%q", name, value)
			}
		}
		if u, err := url.Parse(p.GeneratorURL); err != nil || !u.IsAbs() {
			t.Errorf("%q is no address", p.GeneratorURL)
		}
		if p.Labels["alertname"] == "" || !p.StartsAt.Before(p.EndsAt) {
			t.Errorf("%+v", p)
		}
	}
	if !posted[0].EndsAt.After(noon.Add(alertmanagerResend)) || !posted[1].EndsAt.Before(noon) {
		t.Errorf("one that fires ends at %v, one that is over at %v", posted[0].EndsAt, posted[1].EndsAt)
	}
}

// mailServer takes one message by SMTP and gives what it heard.
func mailServer(t *testing.T, refuse string) (address string, heard <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	out := make(chan string, 1)
	go func() {
		defer l.Close()
		conn, err := l.Accept()
		if err != nil {
			out <- err.Error()
			return
		}
		defer conn.Close()
		var all strings.Builder
		in := bufio.NewReader(conn)
		fmt.Fprint(conn, "220 test ESMTP\r\n")
		data := false
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				break
			}
			all.WriteString(line)
			word := strings.ToUpper(strings.Fields(line + " x")[0])
			switch {
			case data && line == ".\r\n":
				data = false
				fmt.Fprint(conn, "250 taken\r\n")
			case data:
			case word == refuse:
				fmt.Fprint(conn, "550 no such mailbox\r\n")
			case word == "EHLO":
				fmt.Fprint(conn, "250-test\r\n250 8BITMIME\r\n")
			case word == "DATA":
				data = true
				fmt.Fprint(conn, "354 go on\r\n")
			default:
				fmt.Fprint(conn, "250 ok\r\n")
			}
			if word == "QUIT" {
				break
			}
		}
		out <- all.String()
	}()
	t.Cleanup(func() { l.Close() })
	return l.Addr().String(), out
}

func TestEmail(t *testing.T) {
	address, heard := mailServer(t, "")
	to := receiverOf(t, "email: {server: '"+address+"', from: 'weir <weir@example.org>', "+
		"to: ['Ops <ops@example.org>', b@example.org], encryption: off}")
	if err := to.send(t.Context(), sample()); err != nil {
		t.Fatal(err)
	}
	all := <-heard
	for _, want := range []string{"MAIL FROM:<weir@example.org>", "RCPT TO:<ops@example.org>", "RCPT TO:<b@example.org>"} {
		if !strings.Contains(all, want) {
			t.Errorf("the server did not hear %q:\n%s", want, all)
		}
	}
	_, text, _ := strings.Cut(all, "DATA\r\n")
	m, err := mail.ReadMessage(strings.NewReader(strings.TrimSuffix(text, ".\r\nQUIT\r\n")))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil {
		t.Fatal(err)
	}
	list, err := m.Header.AddressList("To")
	if err != nil || len(list) != 2 {
		t.Error(list, err)
	}
	testkit.Golden(t, "email.txt", []byte("Subject: "+m.Header.Get("Subject")+"\n\n"+
		strings.ReplaceAll(string(body), "\r\n", "\n")))
}

func TestMailThatIsRefusedIsNotTriedAgain(t *testing.T) {
	address, heard := mailServer(t, "RCPT")
	to := receiverOf(t, "email: {server: '"+address+"', from: a@b.c, to: d@e.f, encryption: off}")
	var refused *refusedError
	if err := to.send(t.Context(), sample()); !errors.As(err, &refused) || !strings.Contains(err.Error(),
		"no such mailbox") {
		t.Error(err)
	}
	<-heard
	address, heard = mailServer(t, "")
	to = receiverOf(t, "email: {server: '"+address+"', from: a@b.c, to: d@e.f}")
	if err := to.send(t.Context(), sample()); err == nil || !strings.Contains(err.Error(),
		"offers no STARTTLS") {
		t.Error(err)
	}
	<-heard
}

func TestExec(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "tell.sh")
	text := "#!/bin/sh\ncat > \"$1/body\"; echo \"$WEIR_ALERT_STATUS $WEIR_ALERT_TITLE\" > \"$1/env\"; exit $2\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	to := receiverOf(t, "exec: {command: ['"+script+"', '"+dir+"', '0']}")
	if err := to.send(t.Context(), sample()); err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(filepath.Join(dir, "body"))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "webhook.json", body)
	if env, _ := os.ReadFile(filepath.Join(dir, "env")); string(env) !=
		"firing 1 alert firing, 1 over, first orders & <eu> | x: behind for 5 min\n" {
		t.Errorf("%q", env)
	}
	if err := receiverOf(t, "exec: {command: ['"+script+"', '"+dir+"', '3']}").send(t.Context(),
		sample()); err == nil ||
		!strings.Contains(err.Error(), "tell.sh: exit status 3") {
		t.Error(err)
	}
	if err := receiverOf(t, "exec: {command: [/no/such/program]}").send(t.Context(), sample()); err == nil {
		t.Error("a program that is not there ran")
	}
}

func TestAnswersAreTakenRefusedOrTriedAgain(t *testing.T) {
	l := listen(t)
	to := receiverOf(t, "webhook: {url: '"+l.URL+"/s3cret'}")
	for code, want := range map[int]string{
		200: "", 202: "", 204: "",
		400: "refused", 401: "refused", 404: "refused", 302: "refused",
		408: "again", 500: "again", 502: "again", 429: "later", 503: "later",
	} {
		l.answer = func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "7")
			w.Header().Set("Location", l.URL+"/elsewhere")
			w.WriteHeader(code)
			if code != 204 {
				fmt.Fprint(w, "because\nof <that>")
			}
		}
		err := to.send(t.Context(), sample())
		var refused *refusedError
		var later *laterError
		got := ""
		switch {
		case errors.As(err, &refused):
			got = "refused"
		case errors.As(err, &later) && later.after == 7*time.Second:
			got = "later"
		case err != nil:
			got = "again"
		}
		if got != want || err != nil && !strings.Contains(err.Error(), fmt.Sprint(code)) {
			t.Errorf("%d: %q (%v), want %q", code, got, err, want)
		}
	}
	if n := len(l.requests); n != 12 {
		t.Errorf("%d requests: a redirect was followed", n)
	}
}

func TestErrorsDoNotHoldAddresses(t *testing.T) {
	l := listen(t)
	l.Close()
	for _, yaml := range []string{
		"webhook: {url: '" + l.URL + "/s3cret'}", "slack: {url: '" + l.URL + "/s3cret'}",
		"webhook: {url: 'http://169.254.169.254/s3cret'}", "webhook: {url: 'http://[fe80::1]/s3cret'}",
		"webhook: {url: 'http://user:s3cret@" + strings.TrimPrefix(l.URL, "http://") + "'}",
	} {
		to := receiverOf(t, yaml)
		err := to.send(t.Context(), sample())
		if err == nil || strings.Contains(err.Error(), "s3cret") || strings.Contains(to.target(), "s3cret") {
			t.Errorf("%s: %v, target %s", yaml, err, to.target())
		}
	}
}

func TestAddressesOfNobodyAreRefused(t *testing.T) {
	for text, may := range map[string]bool{
		"127.0.0.1": true, "10.1.2.3": true, "93.184.216.34": true, "::1": true, "169.254.169.254": false,
		"fe80::1": false, "0.0.0.0": false, "::": false, "224.0.0.1": false, "fd00:ec2::254": false, "100.100.100.200": false,
	} {
		if err := mayConnect(netip.MustParseAddr(text)); (err == nil) != may {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestTextsAreCut(t *testing.T) {
	for in, want := range map[string]string{
		"abcde": "abcde", "abcdef": "abcd…", "a\nb\tc": "a b c", "a\x00b": "ab", "жжжжжж": "жжжж…", "": "", "\xff": "\ufffd",
	} {
		if got := cut(in, 5); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
