package ui

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/monitor/health"
)

// link is where the query's page is.
func (r *fleetRow) link() string { return linkTo(r.ID) }

func linkTo(id string) string {
	return "/queries/" + strings.ReplaceAll(url.QueryEscape(id), "+", "%20")
}

// needs tells whether the query asks for somebody.
func (r *rowFigures) needs() bool { return r.NotStartedAgain || r.State.NeedsSomebody() }

// tone is the colour of the query's state.
func (r *rowFigures) tone() string {
	if r.NotStartedAgain {
		return "warn"
	}
	return looks[r.State].tone
}

// lasting says what the query has been doing.
func (r *rowFigures) lasting() string {
	if r.NotStartedAgain {
		return "has been missing"
	}
	return lasting[r.State]
}

// over tells whether a time misses the query's objective.
func (r *fleetRow) over(n number) bool { return n > r.FreshnessSloMs }

// tells tells whether the reason is worth reading before others.
func (r *fleetRow) tells() bool {
	tone := r.tone()
	return tone != "good" && tone != "calm"
}

func (r *fleetRow) eta() string {
	switch {
	case isKnown(r.EtaLowMs):
		return between(r.EtaLowMs, r.EtaHighMs)
	case isKnown(r.ShortPercent):
		return "short " + percent(r.ShortPercent/100)
	case r.State == health.Lagging:
		return "steady"
	default:
		return ""
	}
}

// hotClass marks the rows that need somebody.
func hotClass(r *fleetRow) string {
	if tone := r.tone(); tone == "bad" || tone == "warn" {
		return "hot " + tone
	}
	return ""
}

func busyClass(share number) string {
	switch {
	case share >= 1:
		return "full"
	case share > 0.85:
		return "high"
	default:
		return ""
	}
}

// summary is the fleet in a few words and figures.
type summary struct {
	verdict  string
	worst    []worst // the two that need somebody most
	sentence string  // what follows them

	furthest    *fleetRow // of all that run, nil when nothing is unread
	backlog     number
	backlogText string

	over, of, overText string
	red                bool
}

type worst struct {
	row  *fleetRow
	text string
}

func newSummary(f *fleet) *summary {
	s := &summary{verdict: verdictOf(f.Queries), backlog: unknown(), backlogText: "not measured"}
	need, objectives, missed := 0, 0, 0
	for _, q := range f.Queries {
		if q.needs() {
			if need++; need <= 2 {
				text := q.lasting() + " for " + span(q.SinceAtMs.since(f.NowAtMs))
				s.worst = append(s.worst, worst{q, text})
			}
		}
		if isKnown(q.FreshnessSloMs) && q.State != health.Stopped && q.State != health.Failed {
			objectives++
			if q.over(q.FreshnessP95Ms) || q.over(q.BacklogMs) {
				missed++
			}
		}
		s.follow(q)
	}
	s.sentence = sentenceOf(f.Queries, need)
	s.over, s.overText = unknownFig, "none is set"
	if objectives > 0 {
		s.over, s.of, s.overText = strconv.Itoa(missed), fmt.Sprintf("of %d", objectives), "freshness"
		s.red = missed > 0
	}
	return s
}

// follow looks for the query that is furthest behind.
func (s *summary) follow(q *fleetRow) {
	if !isKnown(q.BacklogMs) {
		return
	}
	if s.furthest == nil {
		s.backlogText = "nothing unread"
	}
	if !isKnown(s.backlog) {
		s.backlog = 0
	}
	if q.State != health.Stopped && q.BacklogMs > s.backlog {
		s.furthest, s.backlog = q, q.BacklogMs
	}
}

// count is how many rows are in a state.
func count(rows []*fleetRow, is func(health.State) bool) int {
	n := 0
	for _, q := range rows {
		if is(q.State) {
			n++
		}
	}
	return n
}

// needing is how many rows ask for somebody.
func needing(rows []*fleetRow) int {
	n := 0
	for _, q := range rows {
		if q.needs() {
			n++
		}
	}
	return n
}

func catches(s health.State) bool { return s == health.CatchingUp }
func starts(s health.State) bool  { return s == health.Starting }
func runs(s health.State) bool    { return s != health.Stopped }

// verdictOf is the fleet in one sentence.
func verdictOf(rows []*fleetRow) string {
	n, need := len(rows), needing(rows)
	catching, starting, running := count(rows, catches), count(rows, starts), count(rows, runs)
	switch {
	case n == 0:
		return "No queries yet."
	case need > 0 && n == 1:
		return rows[0].Name + " needs attention."
	case need > 0:
		return fmt.Sprintf("%d of %d queries need attention.", need, n)
	case running == 0 && n == 1:
		return rows[0].Name + " has stopped."
	case running == 0:
		return "No query is running."
	case n == 1 && catching == 1:
		return rows[0].Name + " is catching up."
	case n == 1 && starting == 1:
		return rows[0].Name + " has just started."
	case n == 1:
		return rows[0].Name + " keeps up."
	case catching+starting > 0:
		return "No query needs attention."
	case running == n:
		return fmt.Sprintf("All %d queries keep up.", n)
	default:
		return fmt.Sprintf("%d of %d queries run, and keep up.", running, n)
	}
}

// sentenceOf goes on behind the queries that need somebody, or says that none does.
func sentenceOf(rows []*fleetRow, need int) string {
	catching, starting := count(rows, catches), count(rows, starts)
	switch {
	case len(rows) == 0:
		return "Start one and it appears here within a second."
	case need > 2:
		return fmt.Sprintf("; %d more below.", need-2)
	case need > 0:
		return "."
	case len(rows) == 1 && rows[0].Reason != "":
		return health.Stop(rows[0].Reason)
	case catching == 1:
		return "1 query is catching up."
	case catching > 1:
		return fmt.Sprintf("%d queries are catching up.", catching)
	case starting == 1:
		return "1 query has just started."
	case starting > 1:
		return fmt.Sprintf("%d queries have just started.", starting)
	case count(rows, runs) > 0:
		return "Nothing is growing, stuck or late."
	default:
		return "None has failed."
	}
}
