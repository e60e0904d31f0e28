package ui

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/alert"
)

// alertsJSON is the answer to GET /api/v1/alerts.
type alertsJSON struct {
	NowAtMs       instant        `json:"nowAtMs"`
	Alerts        []alertJSON    `json:"alerts"`
	Rules         []ruleJSON     `json:"rules"`
	Silences      []silenceJSON  `json:"silences"`
	Notifiers     []notifierJSON `json:"notifiers"`
	RepeatMs      number         `json:"repeatMs"`
	File          optional       `json:"file"`
	Problem       optional       `json:"problem"`
	DroppedAlerts int64          `json:"droppedAlerts"`
	Unsaved       bool           `json:"unsaved"`

	csrf, refused string // of the page
}

type alertJSON struct {
	ID          string            `json:"id"`
	State       string            `json:"state"`
	Severity    string            `json:"severity"`
	Rule        string            `json:"rule"`
	Query       string            `json:"query"`
	QueryID     string            `json:"queryId"`
	Application string            `json:"application"`
	Text        string            `json:"text"`
	Labels      map[string]string `json:"labels"`
	HeldAtMs    instant           `json:"heldAtMs"`
	FiredAtMs   instant           `json:"firedAtMs"`
	EndedAtMs   instant           `json:"endedAtMs"`
	SentTo      []string          `json:"sentTo"`
}

type ruleJSON struct {
	Name        string            `json:"name"`
	Condition   string            `json:"condition"`
	ForSeconds  number            `json:"forSeconds"`
	KeepSeconds number            `json:"keepSeconds"`
	Severity    string            `json:"severity"`
	Labels      map[string]string `json:"labels"`
	Notify      []string          `json:"notify"`
	Shipped     bool              `json:"shipped"`
	Firing      int               `json:"firing"`
	Pending     int               `json:"pending"`
}

type silenceJSON struct {
	ID        string  `json:"id"`
	Rule      string  `json:"rule"`
	Query     string  `json:"query"`
	Comment   string  `json:"comment"`
	BegunAtMs instant `json:"begunAtMs"`
	UntilAtMs instant `json:"untilAtMs"`
}

type notifierJSON struct {
	Name         string   `json:"name"`
	Kind         string   `json:"kind"`
	Target       string   `json:"target"`
	Sent         int64    `json:"sent"`
	Failed       int64    `json:"failed"`
	Dropped      int64    `json:"dropped"`
	Waiting      int64    `json:"waiting"`
	LastSentAtMs instant  `json:"lastSentAtMs"`
	LastFailAtMs instant  `json:"lastFailedAtMs"`
	LastError    optional `json:"lastError"`
}

// addAlerts adds the page of alerts and its API, where there are any.
func (s *server) addAlerts(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/v1/csrf", s.tellCSRF)
	if s.options.Alerts == nil {
		return
	}
	mux.HandleFunc("GET /alerts", func(w http.ResponseWriter, r *http.Request) {
		s.showAlerts(w, r, http.StatusOK, "")
	})
	mux.HandleFunc("GET /api/v1/alerts", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, s.newAlerts(s.options.Now()))
	})
	mux.HandleFunc("POST /api/v1/alerts/silence", s.changing(mostPosted, s.silence))
	mux.HandleFunc("POST /api/v1/alerts/reload", s.changing(mostPosted, s.reloadAlerts))
}

func (s *server) newAlerts(now time.Time) *alertsJSON {
	o := s.options.Alerts.Overview()
	out := &alertsJSON{
		NowAtMs: instant(now), Alerts: []alertJSON{}, Rules: []ruleJSON{}, Silences: []silenceJSON{},
		Notifiers: []notifierJSON{}, RepeatMs: milliseconds(o.Repeat.Seconds()), File: optional(o.File),
		Problem: optional(o.Problem), DroppedAlerts: o.Dropped, Unsaved: o.Unsaved, csrf: s.csrf,
	}
	for i := range o.Alerts {
		out.Alerts = append(out.Alerts, newAlert(&o.Alerts[i]))
	}
	for _, r := range o.Rules {
		out.Rules = append(out.Rules, ruleJSON{
			r.Name, r.Condition, num(r.For.Seconds()), num(r.Keep.Seconds()), string(r.Severity), labelsOf(r.Labels),
			orNone(r.To), r.Shipped, r.Firing, r.Pending,
		})
	}
	for _, s := range o.Silences {
		out.Silences = append(out.Silences, silenceJSON{
			s.ID, s.Rule, s.Query, s.Comment, instant(s.Begun), instant(s.Until),
		})
	}
	for _, n := range o.Notifiers {
		out.Notifiers = append(out.Notifiers, notifierJSON{
			n.Name, n.Kind, n.Target, n.Sent, n.Failed, n.Dropped, n.Waiting, instant(n.LastSent),
			instant(n.LastFailed), optional(n.LastError),
		})
	}
	return out
}

func newAlert(a *alert.View) alertJSON {
	return alertJSON{
		a.ID, a.State, string(a.Severity), a.Rule, a.QueryName, a.QueryID, a.Application, a.Text,
		labelsOf(a.Labels),
		instant(a.HeldAt), instant(a.FiredAt), instant(a.Ended), orNone(a.SentTo),
	}
}

// detailOf is a query in full with what fires of it.
func (s *server) detailOf(q *monitor.Query, now time.Time) *detail {
	d := newDetail(q, now)
	if s.options.Alerts != nil {
		for _, a := range s.options.Alerts.Of(q.ID()) {
			d.Alerts = append(d.Alerts, newAlert(&a))
		}
	}
	return d
}

func labelsOf(list []alert.Label) map[string]string {
	out := map[string]string{}
	for _, l := range list {
		out[l.Name] = l.Value
	}
	return out
}

func (s *server) showAlerts(w http.ResponseWriter, r *http.Request, code int, refused string) {
	p := s.newPage(r, "alerts", "")
	body := s.newAlerts(time.Time(p.now))
	body.refused = refused
	p.title = strings.TrimSuffix(body.verdict(), ".") + p.title
	begin(w, code)
	writealertsPage(w, p, body)
}

// silencing is the body of POST /api/v1/alerts/silence: what is to be silent and for
// how long, or the silence that is to end.
type silencing struct {
	Alert   string  `json:"alert"`
	Rule    string  `json:"rule"`
	Query   string  `json:"query"`
	Minutes float64 `json:"minutes"`
	Comment string  `json:"comment"`
	End     string  `json:"end"`
}

func readSilencing(r *http.Request) (silencing, error) {
	var q silencing
	if !isForm(r) {
		d := json.NewDecoder(r.Body)
		d.DisallowUnknownFields()
		err := d.Decode(&q)
		if err == nil && d.More() {
			err = errors.New("there is more behind it")
		}
		if errors.Is(err, io.EOF) {
			err = errors.New("it is empty")
		}
		if err != nil {
			err = fmt.Errorf("the body is to be JSON such as {\"query\": \"orders\", \"minutes\": 60}: %w", err)
		}
		return q, err
	}
	if err := r.ParseForm(); err != nil {
		return q, err
	}
	get := r.PostForm.Get
	q = silencing{Alert: get("alert"), Rule: get("rule"), Query: get("query"), Comment: get("comment"),
		End: get("end")}
	if text := get("minutes"); text != "" {
		minutes, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return q, errors.New("minutes is a number")
		}
		q.Minutes = minutes
	}
	return q, nil
}

type silencedJSON struct {
	ID string `json:"id"`
}

func (s *server) silence(w http.ResponseWriter, r *http.Request) {
	q, err := readSilencing(r)
	id := q.End
	switch {
	case err != nil:
	case q.End != "":
		err = s.options.Alerts.EndSilence(q.End)
	case !(q.Minutes > 0 && q.Minutes < 1e6):
		err = errors.New("say for how many minutes")
	default:
		id, err = s.options.Alerts.Silence(alert.Silencing{
			Alert: q.Alert, Rule: q.Rule, Query: q.Query, Comment: q.Comment,
			For: time.Duration(q.Minutes * float64(time.Minute)),
		}, s.options.Now())
	}
	s.changed(w, r, err, silencedJSON{id})
}

func (s *server) reloadAlerts(w http.ResponseWriter, r *http.Request) {
	err := s.options.Alerts.Reload()
	s.changed(w, r, err, reloadedJSON{len(s.options.Alerts.Overview().Rules)})
}

type reloadedJSON struct {
	Rules int `json:"rules"`
}

// changed answers a form with its page and a program with JSON.
func (s *server) changed(w http.ResponseWriter, r *http.Request, err error, body any) {
	fromPage := isForm(r) && r.PostForm.Get("page") != ""
	switch {
	case err != nil && fromPage:
		s.showAlerts(w, r, http.StatusBadRequest, err.Error())
	case err != nil:
		refuse(w, http.StatusBadRequest, err.Error())
	case fromPage:
		http.Redirect(w, r, "/alerts", http.StatusSeeOther)
	default:
		answer(w, body)
	}
}

// shownAlerts is how many alerts are on the page; all are in the API.
const shownAlerts = 200

func (a *alertsJSON) shown() []alertJSON { return a.Alerts[:min(len(a.Alerts), shownAlerts)] }

// count is how many alerts are in a state, of a severity or of any.
func (a *alertsJSON) count(state, severity string) (n int) {
	for i := range a.Alerts {
		one := &a.Alerts[i]
		if one.State == state && (severity == "" || one.Severity == severity) {
			n++
		}
	}
	return n
}

// verdict is the page in one sentence.
func (a *alertsJSON) verdict() string {
	switch n := a.count("firing", ""); n {
	case 0:
		return "No alert is firing."
	case 1:
		return "1 alert is firing."
	default:
		return strconv.Itoa(n) + " alerts are firing."
	}
}

// below says how many of which severity, and who is told.
func (a *alertsJSON) below() string {
	var parts []string
	for _, severity := range [...][2]string{{"critical", "critical"}, {"warning", "warnings"}, {"info",
		"for information"}} {
		n := a.count("firing", severity[0])
		if word := severity[1]; n == 1 {
			parts = append(parts, "1 "+strings.TrimSuffix(word, "s"))
		} else if n > 1 {
			parts = append(parts, strconv.Itoa(n)+" "+word)
		}
	}
	if n := a.count("acknowledged", ""); n > 0 {
		parts = append(parts, strconv.Itoa(n)+" silent")
	}
	if len(a.Notifiers) == 0 {
		parts = append(parts, "nobody is told: no notifier is set up")
	} else {
		parts = append(parts, "one message per change, repeated every "+span(a.RepeatMs))
	}
	return strings.Join(parts, " · ")
}

// mark is how an alert is shown: its tone, icon and word.
func (a *alertJSON) mark() (tone, icon, word string) {
	switch a.State {
	case "acknowledged":
		return "calm", "behind", "silent"
	case "pending":
		return "calm", "lagging", "pending"
	case string(alert.Resolved):
		return "calm", "healthy", "resolved"
	case string(alert.Dismissed):
		return "calm", "stopped", "dismissed"
	case string(alert.Unwatched):
		return "calm", "stopped", "no longer watched"
	}
	return severityMark(a.Severity)
}

func severityMark(severity string) (tone, icon, word string) {
	switch severity {
	case string(alert.Critical):
		return "bad", "breach", severity
	case string(alert.Warning):
		return "warn", "behind", severity
	default:
		return "info", "catchingUp", severity
	}
}

func (a *alertJSON) rowClass() string {
	tone, _, _ := a.mark()
	if a.State != "firing" || tone == "info" {
		return ""
	}
	return "hot " + tone
}

// at is when the alert fired, or began to hold.
func (a *alertJSON) at() instant {
	if a.State == "pending" {
		return a.HeldAtMs
	}
	return a.FiredAtMs
}

func (a *alertJSON) lasted() number { return a.EndedAtMs.at() - a.FiredAtMs.at() }

func waitText(seconds number) string {
	if seconds == 0 {
		return "at once"
	}
	return span(1000 * seconds)
}

// pattern is what a silence is for, in words.
func pattern(text, all string) string {
	if text == "*" {
		return all
	}
	return text
}
