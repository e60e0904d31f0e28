package ui

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
)

// themeCookie holds light or dark, so that the first paint is right.
const themeCookie = "weir-theme"

// modules are the parts of the page's script, named so that they load at once.
var modules = [...]string{"words.js", "fleet.js", "query.js", "charts.js", "live.js"}

// page is what every page has.
type page struct {
	name   string // of the kind of page, which the script goes by
	title  string
	id     string // of its query, "" on others
	theme  string // light or dark, "" as the system says
	remote string
	charts bool
	csrf   string // of somebody who may log out, "" for others
	stop   string // the same of somebody who may stop the page's query
	forget string // the same of somebody who may dismiss it
	now    instant
	begun  instant // the server
	firing int     // alerts that nobody has silenced
	// Which pages about the server there are.
	environment, resources, alerts, week bool
}

// navItem is a link at the top, with its key.
type navItem struct {
	href, key, word, means string
	current                bool
	counts                 bool // how many alerts fire stands beside it
}

// fleetPages are the pages below the fleet.
var fleetPages = []string{"fleet", "query", "runs", "run"}

func (p *page) nav() []navItem {
	items := []navItem{{"/", "f", "Fleet", "the fleet", slices.Contains(fleetPages, p.name), false}}
	if p.alerts {
		items = append(items, navItem{"/alerts", "a", "Alerts", "alerts", p.name == "alerts", true})
	}
	if p.week {
		items = append(items, navItem{"/week", "w", "Week", "the last seven days", p.name == "week", false})
	}
	items = append(items, navItem{"/compare", "c", "Compare", "compare two runs", p.name == "compare", false})
	if p.resources {
		items = append(items, navItem{"/resources", "r", "Resources", "resources", p.name == "resources", false})
	}
	if p.environment {
		items = append(items, navItem{"/environment", "e", "Environment", "environment", p.name == "environment",
			false})
	}
	return items
}

// column is one of the fleet's table.
type column struct{ key, class, head, second string }

var columns = [...]column{
	{"health", "", "State", "since"},
	{"name", "", "Query", "application"},
	{"fresh", " num", "Freshness", "p95"},
	{"backlog", " num", "Backlog", "oldest unread"},
	{"eta", " num", "Over in", "estimate"},
	{"arrive", " num", "Arriving", "rows/s"},
	{"process", " num", "Processed", "rows/s, 30 min"},
	{"busy", " num", "Busy", "% of capacity"},
	{"size", " num", "State", "bytes"},
	{"commit", " num", "Last batch", "ago"},
	{"strip", "", "Last 24 h", "worst per ½ h"},
	{"why", "", "Why", ""},
}

// lacking names the columns that no query has a value for: they are left out.
func lacking(rows []*fleetRow) string {
	fresh, size := false, false
	for _, q := range rows {
		fresh = fresh || isKnown(q.FreshnessP95Ms) || len(sorted(q.FreshnessSparkMs[:]...)) > 0
		size = size || isKnown(q.StateBytes)
	}
	var classes []string
	if !fresh {
		classes = append(classes, "hide-fresh")
	}
	if !size {
		classes = append(classes, "hide-size")
	}
	return strings.Join(classes, " ")
}

func (s *server) newPage(r *http.Request, name, title string) *page {
	p := &page{name: name, title: title + " · weir", remote: s.options.Remote, now: instant(s.options.Now()),
		begun:       instant(s.begun),
		environment: s.options.Environment != nil, resources: s.options.Resources != nil,
		alerts: s.options.Alerts != nil, week: s.options.Past != nil}
	if c, err := r.Cookie(themeCookie); err == nil && (c.Value == "light" || c.Value == "dark") {
		p.theme = c.Value
	}
	if s.options.Alerts != nil {
		p.firing, _ = s.options.Alerts.Firing()
	}
	if s.inSession(r) {
		p.csrf = s.csrf
	}
	return p
}

// begin writes what stands before every page.
func begin(w http.ResponseWriter, code int) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(code)
}

func (s *server) showFleet(w http.ResponseWriter, r *http.Request) {
	p := s.newPage(r, "fleet", "")
	now := time.Time(p.now)
	f := s.newFleet(now)
	p.title = strings.TrimSuffix(verdictOf(f.Queries), ".") + p.title
	var one *queryPage
	if len(f.Queries) == 1 {
		if q := s.registry.Find(f.Queries[0].ID); q != nil {
			p.charts = true
			one = s.newQueryPage(q, now)
		}
	}
	begin(w, http.StatusOK)
	writefleetPage(w, p, f, one, s.earlier())
}

func (s *server) newQueryPage(q *monitor.Query, now time.Time) *queryPage {
	p := &queryPage{
		detail: s.detailOf(q, now), batches: newBatches(q), logs: &logList{},
		series: newSeries(q, now.Add(-time.Hour), now, seriesStep),
	}
	if last := q.Last(); last != nil {
		p.progress = string(last.AppendJSON(nil))
	}
	return p
}

func (s *server) showQuery(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	p := s.newPage(r, "query", "")
	q := s.registry.Find(id)
	if q == nil || q.Recalled() {
		if s.showPast(w, r, id, q) {
			return
		}
	}
	if q == nil {
		p.name, p.title = "missing", "No such query"+p.title
		begin(w, http.StatusNotFound)
		writemissingPage(w, p, id)
		return
	}
	body := s.newQueryPage(q, time.Time(p.now))
	body.runs = of(s.runs(), body.detail.ID)
	if s.mayHear(r) {
		body.logs, _ = newLogs(q, 0)
	}
	p.charts, p.id = true, body.detail.ID
	if s.options.Stop != nil && s.mayChange(r) {
		p.stop = s.csrf
	}
	s.mayForget(p, r, q)
	p.title = body.detail.Name + ": " + strings.ToLower(looks[body.detail.State].word) + p.title
	begin(w, http.StatusOK)
	writedetailPage(w, p, body)
}

// unixMs is the text of the instant for the script.
func (t instant) unixMs() string { return strconv.FormatInt(time.Time(t).UnixMilli(), 10) }

// plus is so many seconds later.
func (t instant) plus(seconds int) instant {
	return instant(time.Time(t).Add(time.Duration(seconds) * time.Second))
}

// firingText says how many alerts fire, behind the word Alerts.
func firingText(n int) string {
	if n == 1 {
		return ", 1 alert fires"
	}
	return ", " + strconv.Itoa(n) + " alerts fire"
}
