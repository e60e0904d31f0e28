package alert

import (
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
)

// testEnv is a server without queries whose files are in memory.
func testEnv(t *testing.T, file string) Env {
	t.Helper()
	e := Env{
		Registry: monitor.NewRegistry(), Log: slog.New(slog.DiscardHandler), Files: vfs.NewMemory(),
		File: "/weir/alerts.yaml", Link: "http://localhost:4040", Server: "test",
		Variable: func(name string) (string, bool) { return "secret-of-" + name, name == "HOOK" },
	}
	if err := e.Files.MkdirAll("/weir"); err != nil {
		t.Fatal(err)
	}
	write(t, &e, file)
	return e
}

func write(t *testing.T, e *Env, file string) {
	t.Helper()
	if err := vfs.WriteReplace(e.Files, e.File, []byte(file)); err != nil {
		t.Fatal(err)
	}
}

const whole = `
link: https://weir.example.org/
repeat: 1 h
group: {by: rule, wait: 30s}
rules:
  - name: orders late
    when: backlogMs > 2 min and
          name = 'orders*'
    for: 1m
    keep: 2 min
    severity: critical
    labels: {team: shop, tier: 1}
    notify: [ops]
  - name: behind for 5 min   # a shipped rule
    for: 10m
    severity: info
  - {name: query stalled, off: true}
notify:
  - name: ops
    slack: {url: {env: HOOK_URL}}
    severity: [critical, warning]
    repeat: 2h
  - webhook:
      url: http://127.0.0.1:9/hook
      bearer: {env: HOOK}
      headers: {X-Team: shop}
    resolved: false
  - name: mail
    email: {server: "smtp.example.org:587", from: weir@example.org, to: [a@example.org, "B <b@example.org>"], user: weir, password: {file: /weir/password}}
  - exec: {command: [/usr/bin/logger, -t, weir]}
  - alertmanager: {url: "http://127.0.0.1:9093/"}
  - pagerduty: {key: abc}
`

func TestAFileIsReadWhole(t *testing.T) {
	e := testEnv(t, whole)
	e.Variable = func(name string) (string, bool) { return "https://hooks.example.org/" + name, true }
	if err := vfs.WriteNew(e.Files, "/weir/password", []byte("pa55word\n")); err != nil {
		t.Fatal(err)
	}
	c, err := readConfig(&e)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*rule{}
	for _, r := range c.rules {
		byName[r.name] = r
	}
	late := byName["orders late"]
	if late == nil || late.when != "backlogMs > 2 min and name = 'orders*'" || late.wait != time.Minute ||
		late.keep != 2*time.Minute || late.severity != Critical || len(late.labels) != 2 ||
		late.labels[1].Value != "1" {
		t.Errorf("%+v", late)
	}
	if b := byName["behind for 5 min"]; b.wait != 10*time.Minute || b.severity != Info ||
		b.when != "state = behind" {
		t.Errorf("%+v", b)
	}
	if byName["query stalled"] != nil || len(c.rules) != len(shippedRules()) {
		t.Errorf("%d rules; stalled: %v", len(c.rules), byName["query stalled"])
	}
	if c.link != "https://weir.example.org" || c.repeat != time.Hour || c.groupBy != "rule" ||
		c.groupWait != 30*time.Second {
		t.Errorf("%+v", c)
	}
	var got []string
	for _, n := range c.notifiers {
		got = append(got, n.name+" "+n.kind.name+" "+n.receiver.target()+" "+n.repeat.String())
	}
	want := []string{
		"ops slack hooks.example.org 2h0m0s", "webhook webhook 127.0.0.1:9 1h0m0s",
		"mail email a@example.org, b@example.org by smtp.example.org:587 1h0m0s", "exec exec /usr/bin/logger 1h0m0s",
		"alertmanager alertmanager 127.0.0.1:9093 1m0s", "pagerduty pagerduty events.pagerduty.com 1h0m0s",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if m := c.notifiers[2].receiver.(*email); m.password != "pa55word" {
		t.Errorf("password %q", m.password)
	}
}

func TestNoFileIsTheShippedRules(t *testing.T) {
	for name, file := range map[string]string{"empty": "", "comment": "# nothing yet\n", "null": "---\n", "nulls": "rules:\nnotify:\n"} {
		e := testEnv(t, file)
		c, err := readConfig(&e)
		if err != nil || len(c.rules) != len(shippedRules()) || len(c.notifiers) != 0 {
			t.Errorf("%s: %v, %+v", name, err, c)
		}
	}
	e := testEnv(t, "")
	e.File = "/weir/none.yaml"
	if c, err := readConfig(&e); err != nil || len(c.rules) == 0 {
		t.Errorf("no file: %v", err)
	}
}

func TestWrongFilesNameLineAndKey(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"rule: []", "line 1: the file has no key rule; the nearest is rules"},
		{"\nrules:\n  - nme: x", "line 3: a rule has no key nme; the nearest is name"},
		{"rules:\n  - name: x", "line 2: the rule x has no condition"},
		{"rules:\n  - when: state = failed", "line 2: a rule has a name"},
		{"rules:\n  - name: x\n    when: backlogSec > 5", "line 3: when: column 1: there is no signal backlogSec; the nearest is backlogMs"},
		{"rules:\n  - name: x\n    when: state = failed\n    for: soon", "line 4: for is a time such as 30s, 5 min or 2h, not \"soon\""},
		{"rules:\n  - name: x\n    when: state = failed\n    for: -5s", "line 4: for is a time"},
		{"rules:\n  - name: x\n    when: state = failed\n    for: 5", "line 4: for is a time"},
		{"rules:\n  - name: x\n    when: state = failed\n    for: 9e99 d", "line 4: for is a time"},
		{"rules:\n  - name: x\n    when: state = failed\n    severity: hight", "line 4: severity is critical, warning or info; the nearest to hight is"},
		{"rules:\n  - name: x\n    when: state = failed\n    notify: opps\nnotify:\n  - name: ops\n    pagerduty: {key: k}", "line 4: there is no notifier opps; the nearest is ops"},
		{"rules:\n  - name: x\n    when: state = failed\n    notify: ops", "line 4: there is no notifier ops"},
		{"rules:\n  - name: query failled\n    off: true", "line 2: there is no rule query failled to switch off; the nearest is query failed"},
		{"rules:\n  - name: a\n    when: state = failed\n  - name: a\n    when: state = failed", "line 4: there is another rule a above"},
		{"rules: {name: x}", "rules is a list"},
		{"rules:\n  - just text", "line 2: a rule is keys with values"},
		{"- a\n- b", "the file is keys with values"},
		{"notify:\n  - {name: x}", "line 2: a notifier is one of webhook, slack, pagerduty"},
		{"notify:\n  - slak: {url: x}", "a notifier has no key slak; the nearest is slack"},
		{"notify:\n  - slack: {}", "slack needs the key url"},
		{"notify:\n  - slack: {url: hooks}", "url is an address"},
		{"notify:\n  - slack: {url: {env: NONE}}", "url: the environment has no variable NONE"},
		{"notify:\n  - slack: {url: {file: /no/such}}", "/no/such"},
		{"notify:\n  - slack: {url: {}}", "url is a text, {file: PATH} or {env: NAME}"},
		{"notify:\n  - slack: {url: 'http://x'}\n    webhook: {url: 'http://x'}", "a notifier is of one kind"},
		{"notify:\n  - slack: {url: 'http://x'}\n  - slack: {url: 'http://y'}", "there is another notifier slack above"},
		{"notify:\n  - webhook: {url: 'http://x', headers: {'a b': c}}", "is no header"},
		{"notify:\n  - email: {server: x, from: a@b, to: c@d}", "server is HOST:PORT"},
		{"notify:\n  - email: {server: 'x:25', from: nobody, to: c@d}", `"nobody" is no address`},
		{"notify:\n  - email: {server: 'x:25', from: a@b, to: c@d, password: x, encryption: off}", "a password is not sent without encryption"},
		{"notify:\n  - exec: {command: logger}", "exec needs the key command"},
		{"group: {by: everything}", "by is all, rule, query or alert; the nearest to everything is"},
		{"repeat: 5s", "line 1: repeat is at least a minute"},
		{"link: weir.example.org", "link is where people find the pages"},
		{"a: [", "line 1"},
		{"rules: &x []", "anchor is not used here"},
		{"link: *x", "is not used here"},
		{"link: a\nlink: b", "line 2"},
		{"---\nlink: http://a.b\n---\nlink: http://a.b\n", "a second document begins"},
		{strings.Repeat("[", 40) + strings.Repeat("]", 40), "nested deeper than 12 levels"},
		{"\xff\xfe", ""},
	} {
		e := testEnv(t, c.file)
		if _, err := readConfig(&e); err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "/weir/alerts.yaml: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60q: %v, want %q", c.file, err, c.want)
		}
	}
}

func FuzzConfig(f *testing.F) {
	f.Add(whole)
	f.Add("rules: [{name: x, when: 'state = failed'}]")
	f.Fuzz(func(t *testing.T, file string) {
		e := Env{Files: vfs.NewMemory(), Variable: func(string) (string, bool) { return "", false }}
		c, err := parseConfig(&e, []byte(file))
		if err == nil && len(c.rules) > mostRules+len(shippedRules()) {
			t.Errorf("%d rules", len(c.rules))
		}
	})
}

// docs/alerts.md names every signal, rule and kind of notifier.
func TestTheGuideNamesEverySignalAndRule(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(testkit.ModuleRoot(t), "docs", "alerts.md"))
	if err != nil {
		t.Fatal(err)
	}
	guide := string(data)
	for _, s := range signals {
		if !strings.Contains(guide, "`"+s.name+"`") {
			t.Errorf("the guide does not name the signal %s", s.name)
		}
	}
	for _, r := range shippedRules() {
		wait := "at once"
		if r.wait > 0 {
			wait = strconv.Itoa(int(r.wait/time.Minute)) + " min"
		}
		row := "| " + r.name + " | `" + r.when + "` | " + wait + " | " + string(r.severity) + " |"
		if !strings.Contains(guide, row) {
			t.Errorf("the guide lacks %s", row)
		}
	}
	for _, name := range kindsOfNotifiers() {
		if !strings.Contains(guide, "| `"+name+"` |") {
			t.Errorf("the guide lacks the notifier %s", name)
		}
	}
}
