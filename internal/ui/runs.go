package ui

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/history"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
)

// Past is what is known of runs beyond the registry: history's Store.
type Past interface {
	// Runs are those that ended, of earlier servers too, newest start first; one whose
	// end was not told may still run here.
	Runs() []history.Run
	// Stretch is what a run did between two instants.
	Stretch(ctx context.Context, runID string, from, to time.Time) (health.Stretch, error)
	// Changes are the verdicts on all runs since an instant, and the last of each before it.
	Changes(ctx context.Context, since time.Time) ([]history.Change, error)
}

const (
	// mostRuns is how many runs a list has.
	mostRuns = 500
	// shownRuns is how many finished ones the fleet's page shows.
	shownRuns = 12
	// pastBatches is how many batches of a past run are listed.
	pastBatches = 128
)

// runList is the answer to GET /api/v1/runs, newest start first.
type runList struct {
	NowAtMs instant   `json:"nowAtMs"`
	History bool      `json:"history"`
	Runs    []runJSON `json:"runs"`
}

// runJSON is a run of a query. State is running, stopped, failed, or unknown when its
// server ended without telling.
type runJSON struct {
	QueryID     string       `json:"queryId"`
	RunID       string       `json:"runId"`
	Name        string       `json:"name"`
	Application string       `json:"application"`
	Engine      string       `json:"engine"`
	State       string       `json:"state"`
	Live        bool         `json:"live"`
	StartedAtMs instant      `json:"startedAtMs"`
	EndedAtMs   instant      `json:"endedAtMs"`
	EndReason   optional     `json:"endReason"`
	Error       *pastFailure `json:"error"`
}

type pastFailure struct {
	Condition optional `json:"condition"`
	Headline  string   `json:"headline"`
	Message   string   `json:"message"`
}

// told is a run with where it is known from.
type told struct {
	history.Run
	query *monitor.Query // of the registry, nil for one of an earlier server
}

// newRun is a run as the API tells it.
func newRun(t *told) runJSON {
	out := runJSON{
		QueryID: t.ID, RunID: t.RunID, Name: t.shownName(), Application: t.Application, Engine: t.Engine,
		State: "running", Live: t.query != nil, StartedAtMs: instant(t.StartedAt), EndedAtMs: instant(t.EndedAt),
		EndReason: optional(t.EndReason),
	}
	switch {
	case t.Ended:
		out.State = string(t.State)
	case t.query == nil:
		out.State = "unknown"
	}
	if t.Message != "" || t.State == monitor.Failed {
		out.Error = &pastFailure{optional(t.Condition), health.Headline(t.Message), t.Message}
	}
	return out
}

func (t *told) shownName() string {
	return (&monitor.Snapshot{Run: monitor.Run{ID: t.ID, Name: t.Name}}).ShownName()
}

// runs are all that are known, newest start first.
func (s *server) runs() []told {
	var out []told
	seen := map[string]bool{}
	for _, q := range s.registry.Runs() {
		run := q.Snapshot()
		seen[run.RunID] = true
		out = append(out, told{history.RunOf(&run), q})
	}
	if s.options.Past != nil {
		for _, r := range s.options.Past.Runs() {
			if !seen[r.RunID] {
				out = append(out, told{r, nil})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b told) int {
		return cmp.Or(b.StartedAt.Compare(a.StartedAt), cmp.Compare(a.RunID, b.RunID))
	})
	return out
}

// earlier are the finished queries that the registry does not know any more, each by
// its newest run.
func (s *server) earlier() []told {
	if s.options.Past == nil {
		return nil
	}
	seen := map[string]bool{}
	var out []told
	for _, t := range s.runs() {
		q := s.registry.Find(t.ID)
		shown := q != nil && q.Snapshot().DismissedAt.IsZero()
		if !seen[t.ID] && t.query == nil && !shown {
			out = append(out, t)
		}
		seen[t.ID] = true
	}
	return out
}

// runOf is the run of an id, or the newest of a query's id.
func (s *server) runOf(id string) (told, bool) {
	if q := s.registry.Find(id); q != nil && !q.Recalled() {
		run := q.Snapshot()
		return told{history.RunOf(&run), q}, true
	}
	all := s.runs()
	i := slices.IndexFunc(all, func(t told) bool { return t.RunID == id || t.ID == id })
	if i < 0 {
		return told{}, false
	}
	return all[i], true
}

// of are the runs of a query.
func of(all []told, queryID string) []told {
	return slices.DeleteFunc(slices.Clone(all), func(t told) bool { return t.ID != queryID })
}

func (s *server) addRuns(mux *http.ServeMux) {
	mux.HandleFunc("GET /runs", s.showRuns)
	mux.HandleFunc("GET /compare", s.showComparison)
	mux.HandleFunc("GET /api/v1/runs", func(w http.ResponseWriter, r *http.Request) {
		answer(w, s.newRunList(s.runs(), r.URL.Query().Get("query")))
	})
	mux.HandleFunc("GET /api/v1/runs/{id}", s.run)
	mux.HandleFunc("GET /api/v1/compare", s.compare)
}

// newRunList lists runs, those of a query unless it is "".
func (s *server) newRunList(all []told, queryID string) *runList {
	out := &runList{NowAtMs: instant(s.options.Now()), History: s.options.Past != nil, Runs: []runJSON{}}
	for i := range all {
		if (queryID == "" || all[i].ID == queryID || all[i].Name == queryID) && len(out.Runs) < mostRuns {
			out.Runs = append(out.Runs, newRun(&all[i]))
		}
	}
	return out
}

// pastRun is the answer to GET /api/v1/runs/{id}: the run and what it did in its last
// batches, or as many as Lacks tells.
type pastRun struct {
	runJSON
	NowAtMs  instant       `json:"nowAtMs"`
	Sources  []string      `json:"sources"`
	Sink     optional      `json:"sink"`
	Settings []startedWith `json:"settings"`
	Plan     optional      `json:"plan"`
	FromAtMs instant       `json:"fromAtMs"`
	ToAtMs   instant       `json:"toAtMs"`
	LastAtMs instant       `json:"lastCommitAtMs"`
	Measures []figureJSON  `json:"measures"`
	Batches  []batch       `json:"batches"`
	Lacks    []string      `json:"lacks"`

	count   int
	others  []told  // runs of the same query
	verdict *detail // of a query of which somebody has to be told, else nil
}

type startedWith struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func (s *server) run(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	t, ok := s.runOf(id)
	if !ok {
		refuse(w, http.StatusNotFound, "no run or query has the id "+strconv.Quote(id)+
			"; GET /api/v1/runs lists those that are remembered")
		return
	}
	p, err := s.newPastRun(r.Context(), &t)
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, "the history cannot be read: "+err.Error())
		return
	}
	answer(w, p)
}

// lastDays is how far back from its end a run of the past is summed up.
const lastDays = 24 * time.Hour

func (s *server) newPastRun(ctx context.Context, t *told) (*pastRun, error) {
	now := s.options.Now()
	to := now
	if !t.EndedAt.IsZero() {
		to = t.EndedAt.Add(time.Second)
	} else if t.query == nil {
		// Nobody told the end: whatever is there counts.
		to = t.StartedAt.Add(now.Sub(t.StartedAt))
	}
	from := t.StartedAt
	if to.Sub(from) > lastDays && (t.query != nil || t.Ended) {
		from = to.Add(-lastDays)
	}
	st, err := s.stretch(ctx, t, from, to)
	if err != nil {
		return nil, err
	}
	p := &pastRun{
		runJSON: newRun(t), NowAtMs: instant(now), Sources: []string{}, Sink: optional(t.Sink),
		Settings: []startedWith{}, Plan: optional(t.Plan), Batches: []batch{}, Lacks: []string{},
		others: of(s.runs(), t.ID),
	}
	if t.Sources != "" {
		p.Sources = strings.Split(t.Sources, "\n")
	}
	for _, set := range t.Settings {
		p.Settings = append(p.Settings, startedWith{set.Name, set.Value})
	}
	if n := len(st.Batches); n > 0 {
		if t.query == nil && !t.Ended {
			st.To = st.Batches[n-1].End
		}
		p.LastAtMs = instant(st.Batches[n-1].End)
	}
	p.FromAtMs, p.ToAtMs = instant(st.From), instant(st.To)
	figures := st.Figures()
	p.count = figures.Batches
	p.Measures = figuresOf(&figures)
	for i := len(st.Batches) - 1; i >= 0 && len(p.Batches) < pastBatches; i-- {
		p.Batches = append(p.Batches, newBatch(&st.Batches[i].Batch))
	}
	p.lack(t, &st)
	return p, nil
}

// lack tells what is not known of the run.
func (p *pastRun) lack(t *told, st *health.Stretch) {
	if t.query == nil && !t.Ended {
		p.Lacks = append(p.Lacks, "When and why it ended: nobody saw that.")
	}
	if len(st.Batches) == 0 {
		p.Lacks = append(p.Lacks, "Batches: none was kept, or they are older than the history goes back.")
	}
	if !st.Since.IsZero() {
		p.Lacks = append(p.Lacks, "Batches before "+instant(st.Since).text("2006-01-02 15:04:05 UTC")+".")
	}
	if t.Plan == "" && len(t.Settings) == 0 {
		p.Lacks = append(p.Lacks, "Settings and plan: its engine or an older version of weir did not write them.")
	}
	if t.query == nil {
		p.Lacks = append(p.Lacks, "What partitions did, what functions printed and Spark's own progress: only a "+
			"running server has these.")
	}
}

// stretch is what a run did between two instants: what the history has, and of a live
// one what it does not have yet.
func (s *server) stretch(ctx context.Context, t *told, from, to time.Time) (health.Stretch, error) {
	st := health.Stretch{From: from, To: to}
	if s.options.Past != nil {
		var err error
		if st, err = s.options.Past.Stretch(ctx, t.RunID, from, to); err != nil {
			return st, err
		}
	}
	if t.query == nil {
		return st, nil
	}
	last, live := int64(-1), t.query.Batches()
	if n := len(st.Batches); n > 0 {
		last = st.Batches[n-1].ID
	} else if len(live) >= health.KeptBatches && live[0].Start.After(from) {
		st.Since = live[0].Start // the ones before are gone
	}
	for _, b := range live {
		if b.ID > last && !b.End.Before(from) && !b.End.After(to) {
			st.Batches = append(st.Batches, health.Several{Batch: b, Count: 1})
		}
	}
	return st, nil
}

func (s *server) showRuns(w http.ResponseWriter, r *http.Request) {
	p := s.newPage(r, "runs", "Runs")
	begin(w, http.StatusOK)
	all := s.runs()
	if id := r.URL.Query().Get("query"); id != "" {
		all = of(all, id)
	}
	writerunsPage(w, p, s.newRunList(nil, ""), all[:min(len(all), mostRuns)])
}

// showPast shows the page of a run of an earlier server, and tells whether there is one;
// q is it where somebody still has to be told of it, else nil.
func (s *server) showPast(w http.ResponseWriter, r *http.Request, id string, q *monitor.Query) bool {
	t, ok := s.runOf(id)
	if !ok {
		return false
	}
	p := s.newPage(r, "run", "")
	body, err := s.newPastRun(r.Context(), &t)
	if err != nil {
		p.title = "The history cannot be read" + p.title
		begin(w, http.StatusServiceUnavailable)
		writetroublePage(w, p, "The history cannot be read", err.Error())
		return true
	}
	p.title = body.Name + ": " + body.State + p.title
	if q != nil {
		body.verdict = s.detailOf(q, time.Time(p.now))
		s.mayForget(p, r, q)
	}
	begin(w, http.StatusOK)
	writepastPage(w, p, body)
	return true
}

// look is the mark of a run's state.
func (r *runJSON) look() (tone, icon, word string) {
	switch r.State {
	case string(monitor.Failed):
		return "bad", string(health.Failed), "Failed"
	case "running":
		return "good", string(health.Healthy), "Running"
	case "unknown":
		return "calm", string(health.Stopped), "End not told"
	default:
		return "calm", string(health.Stopped), "Stopped"
	}
}

func (r *runJSON) lasted() number { return r.EndedAtMs.at() - r.StartedAtMs.at() }

func (r *runJSON) why() string {
	if r.Error != nil {
		return r.Error.Headline
	}
	return string(r.EndReason)
}

// road is where rows came from and went to.
func (p *pastRun) road() string {
	if len(p.Sources) == 0 && p.Sink == "" {
		return ""
	}
	return orUnknown(strings.Join(p.Sources, " + ")) + " → " + orUnknown(string(p.Sink))
}

// before is the run before this one, "" for none.
func (p *pastRun) before() string { return runBefore(p.others, p.RunID) }

// runBefore is the run of the same query that started before one, "" for none.
func runBefore(all []told, runID string) string {
	i := slices.IndexFunc(all, func(t told) bool { return t.RunID == runID })
	if i < 0 || i+1 >= len(all) {
		return ""
	}
	return all[i+1].RunID
}

// stretchNote says over what the measures are.
func (p *pastRun) stretchNote() string {
	if p.count == 0 {
		return ""
	}
	text := whole(number(p.count)) + " batches with rows"
	if time.Time(p.FromAtMs).After(time.Time(p.StartedAtMs)) {
		text += " of its last day"
	}
	return text
}

func (p *pastRun) batchNote() string {
	if len(p.Batches) == pastBatches {
		return "the last " + strconv.Itoa(pastBatches)
	}
	return "newest first"
}
