package ui

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weir-dev/weir/internal/history"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
)

const (
	weekDays  = 7
	dayHours  = 24
	weekHours = weekDays * dayHours
	// narrowFrom is the first day that a narrow window shows.
	narrowFrom = 5
	// weekFor is how long a week that was read is shown again.
	weekFor = time.Minute
)

// week is the answer to GET /api/v1/week: the worst state of each query in each hour of seven
// days of UTC, of which today is the last, as far as the history tells. The queries that were
// not healthy for the largest share of their time come first.
type week struct {
	FromAtMs    instant   `json:"fromAtMs"`
	ToAtMs      instant   `json:"toAtMs"`
	StepSeconds int       `json:"stepSeconds"`
	Queries     []weekRow `json:"queries"`
}

type weekRow struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Application optional `json:"application"`
	// HealthyRatio is the share of the known time in which the query was healthy or idle.
	HealthyRatio number `json:"healthyRatio"`
	Starts       int    `json:"starts"`
	// StateStrip has a letter for each hour, as that of the fleet.
	StateStrip string `json:"stateStrip"`
}

// weeks keeps the last one that was read.
type weeks struct {
	mu sync.Mutex // held while it is read: who comes meanwhile gets the same
	at time.Time
	is *week
}

func (s *server) addWeek(mux *http.ServeMux) {
	if s.options.Past == nil {
		return
	}
	mux.HandleFunc("GET /week", func(w http.ResponseWriter, r *http.Request) {
		is, err := s.weekNow(r)
		p := s.newPage(r, "week", "The last seven days")
		if err != nil {
			begin(w, http.StatusServiceUnavailable)
			writetroublePage(w, p, "The history cannot be read", err.Error())
			return
		}
		begin(w, http.StatusOK)
		writeweekPage(w, p, is)
	})
	mux.HandleFunc("GET /api/v1/week", func(w http.ResponseWriter, r *http.Request) {
		is, err := s.weekNow(r)
		if err != nil {
			refuse(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		answer(w, is)
	})
}

func (s *server) weekNow(r *http.Request) (*week, error) {
	s.weeks.mu.Lock()
	defer s.weeks.mu.Unlock()
	now := s.options.Now()
	if s.weeks.is != nil && now.Sub(s.weeks.at) < weekFor && !now.Before(s.weeks.at) {
		return s.weeks.is, nil
	}
	from := now.UTC().Truncate(dayHours*time.Hour).AddDate(0, 0, 1-weekDays)
	changes, err := s.options.Past.Changes(r.Context(), from)
	if err != nil {
		return nil, err
	}
	runs := s.runs()
	for i := range runs { // what changed lately is not in the history yet
		if q := runs[i].query; q != nil && !runs[i].Ended {
			if a := q.Health(); !a.Since.IsZero() {
				changes = append(changes, history.Change{RunID: runs[i].RunID, At: a.Since, State: a.State})
			}
		}
	}
	s.weeks.at, s.weeks.is = now, weekOf(runs, changes, from, now)
	return s.weeks.is, nil
}

// hours is what is known of a query: the worst state of each hour, and how long it was in
// each.
type hours struct {
	from, to time.Time
	worst    [weekHours]health.State
	spent    map[health.State]time.Duration
}

// take adds that a state held between two moments, which may be one.
func (h *hours) take(state health.State, from, to time.Time) {
	if from.Before(h.from) {
		from = h.from
	}
	if to.After(h.to) {
		to = h.to
	}
	if to.Before(from) {
		return
	}
	h.spent[state] += to.Sub(from)
	for i := int(from.Sub(h.from) / time.Hour); i < weekHours; i++ {
		if begins := h.from.Add(time.Duration(i) * time.Hour); !begins.Before(to) && !begins.Equal(from) {
			return
		}
		if h.worst[i] == "" || slices.Index(stateOrder[:], state) < slices.Index(stateOrder[:], h.worst[i]) {
			h.worst[i] = state
		}
	}
}

func weekOf(runs []told, changes []history.Change, from, to time.Time) *week {
	byRun := map[string][]history.Change{}
	for _, c := range changes {
		byRun[c.RunID] = append(byRun[c.RunID], c)
	}
	out := &week{instant(from), instant(to), int(time.Hour.Seconds()), []weekRow{}}
	next := map[string]time.Time{} // the start of a query's run after the one that is looked at
	all := map[string]*hours{}
	at := map[string]int{}
	for i := range runs { // newest start first
		t := &runs[i]
		h := all[t.ID]
		if h == nil {
			h = &hours{from: from, to: to, spent: map[health.State]time.Duration{}}
			all[t.ID], at[t.ID] = h, len(out.Queries)
			out.Queries = append(out.Queries, weekRow{ID: t.ID, Name: t.shownName(),
				Application: optional(t.Application)})
		}
		if !t.StartedAt.Before(from) {
			out.Queries[at[t.ID]].Starts++
		}
		h.run(t, byRun[t.RunID], next[t.ID])
		next[t.ID] = t.StartedAt
	}
	for id, h := range all {
		out.Queries[at[id]].put(h)
	}
	out.Queries = slices.DeleteFunc(out.Queries, func(r weekRow) bool { return r.known() == 0 })
	slices.SortStableFunc(out.Queries, func(a, b weekRow) int {
		return cmp.Or(cmp.Compare(float64(a.HealthyRatio), float64(b.HealthyRatio)), cmp.Compare(a.Name, b.Name))
	})
	out.Queries = out.Queries[:min(len(out.Queries), mostRuns)]
	return out
}

// run adds what is known of a run. One that failed is down until the next one starts or
// somebody dismisses it.
func (h *hours) run(t *told, changes []history.Change, next time.Time) {
	end := h.to
	switch {
	case t.Ended:
		end = t.EndedAt
	case t.query == nil && len(changes) > 0: // its end was not told
		end = changes[len(changes)-1].At
	}
	for i, c := range changes {
		until := end
		if i+1 < len(changes) && changes[i+1].At.Before(end) {
			until = changes[i+1].At
		}
		if until.Before(c.At) {
			until = c.At
		}
		h.take(c.State, c.At, until)
	}
	if t.State == monitor.Failed {
		until := h.to
		for _, at := range []time.Time{next, t.DismissedAt} {
			if !at.IsZero() && at.Before(until) {
				until = at
			}
		}
		h.take(health.Failed, end, until)
	}
}

// put writes what was found into the row.
func (r *weekRow) put(h *hours) {
	text := make([]byte, weekHours)
	for i, state := range h.worst {
		text[i] = '.'
		if letter, ok := letters[state]; ok {
			text[i] = letter
		}
	}
	r.StateStrip = string(text)
	var known time.Duration
	for state, spent := range h.spent {
		if state != health.Stopped {
			known += spent
		}
	}
	r.HealthyRatio = unknown()
	if known > 0 {
		r.HealthyRatio = num(float64(h.spent[health.Healthy]+h.spent[health.Idle]) / float64(known))
	}
}

// known is of how many hours there is a state.
func (r *weekRow) known() int { return weekHours - strings.Count(r.StateStrip, ".") }

// day is the part of a strip of a day.
func (r *weekRow) day(i int) string { return r.StateStrip[i*dayHours : (i+1)*dayHours] }

// dayName is what a day of the week is called.
func (w *week) dayName(i int) string {
	return time.Time(w.FromAtMs).AddDate(0, 0, i).Format("Mon 2 Jan")
}

// hoursText is the strip of a day in words.
func hoursText(strip string) string {
	var out []string
	for _, s := range stateOrder {
		if n := strings.Count(strip, string(letters[s])); n > 0 {
			out = append(out, looks[s].word+" "+strconv.Itoa(n)+" h")
		}
	}
	if out == nil {
		return "nothing is known"
	}
	return strings.Join(out, ", ")
}
