package ui

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
)

// comparison is the answer to GET /api/v1/compare?a=&b=&align=: two runs by the same
// numbers, over stretches of one length.
type comparison struct {
	NowAtMs  instant           `json:"nowAtMs"`
	Align    string            `json:"align"`
	LengthMs number            `json:"lengthMs"`
	Sentence string            `json:"sentence"`
	Runs     [2]comparedRun    `json:"runs"`
	Measures []measureJSON     `json:"measures"`
	Settings []differenceJSON  `json:"settings"`
	Plan     []planLine        `json:"plan"`
	Series   compareSeriesJSON `json:"series"`
}

type comparedRun struct {
	runJSON
	FromAtMs  instant `json:"fromAtMs"`
	SinceAtMs instant `json:"sinceAtMs"`
	Batches   int     `json:"batches"`
}

// measureJSON is a number of both runs. Ratio is the second by the first; Better says
// whether lower or higher is, or neither.
type measureJSON struct {
	Name   string    `json:"name"`
	Values [2]number `json:"values"`
	Ratio  number    `json:"ratio"`
	Better string    `json:"better"`

	measure
}

type figureJSON struct {
	Name  string `json:"name"`
	Value number `json:"value"`

	measure
}

type differenceJSON struct {
	Name   string      `json:"name"`
	Values [2]optional `json:"values"`
}

// planLine is a line of both plans; Mark is "-" for one of the first only, "+" for one
// of the second only, "" for one of both.
type planLine struct {
	Mark string `json:"mark"`
	Text string `json:"text"`
}

// compareSeriesJSON has a list for each run and column; value i ends (i+1)·stepMs after
// the run's fromAtMs.
type compareSeriesJSON struct {
	StepMs  number                 `json:"stepMs"`
	Columns map[string][2][]number `json:"columns"`
}

// measure is how a number of health is called and shown.
type measure struct {
	name, word, note, better string
	kind                     kind
	share                    bool    // it is a share of one
	scale                    float64 // from health's unit
}

var measures = [health.PhaseMeasures]measure{
	health.ArrivalMeasure:   {"arrivalRowsPerSecond", "Arriving", "rows/s, median", "", inRows, false, 1},
	health.ProcessedMeasure: {"processedRowsPerSecond", "Processed", "rows/s", "", inRows, false, 1},
	health.PaceMeasure: {"paceRowsPerSecond", "Pace", "rows/s while a batch ran", "higher", inRows,
		false, 1},
	health.InBatchesMeasure: {"batchRatio", "In batches", "share of time", "lower", inRows, true, 1},
	health.RowsMeasure:      {"batchRows", "Rows of a batch", "median", "", inRows, false, 1},
	health.BatchP50Measure:  {"batchP50Ms", "Batch p50", "", "lower", inMs, false, 1000},
	health.BatchP95Measure:  {"batchP95Ms", "Batch p95", "", "lower", inMs, false, 1000},
	health.BatchP99Measure:  {"batchP99Ms", "Batch p99", "", "lower", inMs, false, 1000},
	health.FreshP50Measure:  {"freshnessP50Ms", "Freshness p50", "source to commit", "lower", inMs, false, 1000},
	health.FreshP95Measure:  {"freshnessP95Ms", "Freshness p95", "source to commit", "lower", inMs, false, 1000},
	health.FreshP99Measure:  {"freshnessP99Ms", "Freshness p99", "source to commit", "lower", inMs, false, 1000},
	health.BacklogMeasure:   {"backlogRows", "Backlog", "rows, the most", "lower", inRows, false, 1},
	health.StateMeasure:     {"stateBytes", "State", "the most", "lower", inBytes, false, 1},
	health.LateMeasure:      {"lateRatio", "Late rows", "share of rows", "lower", inRows, true, 1},
}

func measureOf(m health.Measure) measure {
	p, ok := m.Phase()
	if !ok {
		return measures[m]
	}
	name := p.String()
	return measure{"phase" + strings.ToUpper(name[:1]) + name[1:] + "Ms", phaseWords[p].long,
		"median of a batch",
		"lower", inMs, false, 1000}
}

func figuresOf(f *health.Figures) []figureJSON {
	out := []figureJSON{}
	for m, x := range f.Values {
		how := measureOf(health.Measure(m))
		out = append(out, figureJSON{how.name, num(x * how.scale), how})
	}
	return out
}

// These say why there is nothing to compare.
var (
	errTwoRuns = errors.New("a and b name two runs, by run id, or query one that has two; " +
		"GET /api/v1/runs lists them")
	errAlign = errors.New("align is start or end")
)

func (s *server) compare(w http.ResponseWriter, r *http.Request) {
	c, code, err := s.newComparison(r.Context(), r)
	if err != nil {
		refuse(w, code, err.Error())
		return
	}
	answer(w, c)
}

// compared finds the two runs that a request names: a and b, or the newest two of query,
// the older one first.
func (s *server) compared(r *http.Request) (two [2]told, code int, err error) {
	values := r.URL.Query()
	a, b := values.Get("a"), values.Get("b")
	if id := values.Get("query"); id != "" && a == "" && b == "" {
		if runs := of(s.runs(), id); len(runs) > 1 {
			a, b = runs[1].RunID, runs[0].RunID
		}
	}
	if a == "" || b == "" || a == b {
		return two, http.StatusBadRequest, errTwoRuns
	}
	for i, id := range []string{a, b} {
		t, ok := s.runOf(id)
		if !ok {
			return two, http.StatusNotFound, errors.New("no run is remembered that has the id " + strconv.Quote(id))
		}
		two[i] = t
	}
	return two, 0, nil
}

func (s *server) newComparison(ctx context.Context, r *http.Request) (*comparison, int, error) {
	two, code, err := s.compared(r)
	if err != nil {
		return nil, code, err
	}
	align := r.URL.Query().Get("align")
	if align == "" {
		align = "start"
	}
	if align != "start" && align != "end" {
		return nil, http.StatusBadRequest, errAlign
	}
	now := s.options.Now()
	stretches, err := s.stretches(ctx, two, align, now)
	if err != nil {
		return nil, http.StatusServiceUnavailable, errors.New("the history cannot be read: " + err.Error())
	}
	c := &comparison{NowAtMs: instant(now), Align: align, Measures: []measureJSON{},
		Settings: []differenceJSON{}, Plan: []planLine{}}
	var figures [2]health.Figures
	for i := range two {
		figures[i] = stretches[i].Figures()
		c.Runs[i] = comparedRun{newRun(&two[i]), instant(stretches[i].From), instant(stretches[i].Since),
			figures[i].Batches}
	}
	length := stretches[0].To.Sub(stretches[0].From)
	c.LengthMs = milliseconds(length.Seconds())
	c.Sentence = health.Difference(&figures[0], &figures[1])
	for m := range health.MeasureCount {
		how := measureOf(m)
		x, y := num(figures[0].Values[m]*how.scale), num(figures[1].Values[m]*how.scale)
		if !isKnown(x) && !isKnown(y) {
			continue
		}
		one := measureJSON{how.name, [2]number{x, y}, unknown(), how.better, how}
		if x > 0 && isKnown(y) {
			one.Ratio = num(float64(y / x))
		}
		c.Measures = append(c.Measures, one)
	}
	c.Settings = settingsApart(two[0].Settings, two[1].Settings)
	if two[0].Plan != "" && two[1].Plan != "" {
		c.Plan = planApart(two[0].Plan, two[1].Plan)
	}
	c.Series = newCompareSeries(stretches, length)
	return c, 0, nil
}

// longest is over how much of two runs they are compared at most.
const longest = 24 * time.Hour

// stretches are pieces of one length of both runs, from their starts or before their ends.
func (s *server) stretches(ctx context.Context, two [2]told, align string, now time.Time,
) (out [2]health.Stretch, err error) {
	length := longest
	var ends [2]time.Time
	for i := range two {
		if ends[i], err = s.endOf(ctx, &two[i], now); err != nil {
			return out, err
		}
		length = min(length, ends[i].Sub(two[i].StartedAt))
	}
	length = max(length, time.Second)
	for i := range two {
		from := two[i].StartedAt
		if align == "end" {
			from = ends[i].Add(-length)
		}
		if out[i], err = s.stretch(ctx, &two[i], from, from.Add(length)); err != nil {
			return out, err
		}
	}
	return out, nil
}

// endOf is when a run ended, or as far as it is known.
func (s *server) endOf(ctx context.Context, t *told, now time.Time) (time.Time, error) {
	switch {
	case t.Ended && !t.EndedAt.IsZero():
		return t.EndedAt, nil
	case t.query != nil:
		return now, nil
	}
	st, err := s.stretch(ctx, t, t.StartedAt, now)
	if n := len(st.Batches); err == nil && n > 0 {
		return st.Batches[n-1].End, nil
	}
	return t.StartedAt, err
}

// settingsApart are the settings that two runs do not have in common, by name.
func settingsApart(a, b []monitor.Setting) []differenceJSON {
	out := []differenceJSON{}
	if len(a) == 0 || len(b) == 0 {
		return out // of one of them they are not known
	}
	second := map[string]string{}
	for _, s := range b {
		second[s.Name] = s.Value
	}
	first := map[string]bool{}
	for _, s := range a {
		first[s.Name] = true
		if second[s.Name] != s.Value {
			out = append(out, differenceJSON{s.Name, [2]optional{optional(s.Value), optional(second[s.Name])}})
		}
	}
	for _, s := range b {
		if !first[s.Name] && s.Value != "" {
			out = append(out, differenceJSON{s.Name, [2]optional{"", optional(s.Value)}})
		}
	}
	return out
}

// mostPlanLines is how many lines of a plan are compared.
const mostPlanLines = 400

// planApart is both plans line by line; nothing when they are the same.
func planApart(a, b string) []planLine {
	if a == b {
		return []planLine{}
	}
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	x, y = x[:min(len(x), mostPlanLines)], y[:min(len(y), mostPlanLines)]
	same := make([][]int, len(x)+1) // lines in common from i and j on
	for i := range same {
		same[i] = make([]int, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			same[i][j] = max(same[i+1][j], same[i][j+1])
			if x[i] == y[j] {
				same[i][j] = same[i+1][j+1] + 1
			}
		}
	}
	out := []planLine{}
	i, j := 0, 0
	for i < len(x) || j < len(y) {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			out = append(out, planLine{"", x[i]})
			i, j = i+1, j+1
		case j == len(y) || i < len(x) && same[i+1][j] >= same[i][j+1]:
			out = append(out, planLine{"-", x[i]})
			i++
		default:
			out = append(out, planLine{"+", y[j]})
			j++
		}
	}
	return out
}

// compareSteps is how many steps the series of a comparison have.
const compareSteps = 60

// compareColumns are the columns of the series, in the order of the charts.
var compareColumns = [...]struct{ name, title, axis string }{
	{"batchMs", "Batch time", "longest of a step"}, {"processedRowsPerSecond", "Processed", "rows/s"},
	{"freshnessP95Ms", "Freshness p95", "source to commit, worst of a step"},
}

func newCompareSeries(two [2]health.Stretch, length time.Duration) compareSeriesJSON {
	step := max(time.Second, (length / compareSteps).Round(time.Second))
	n := int((length + step - 1) / step)
	out := compareSeriesJSON{milliseconds(step.Seconds()), map[string][2][]number{}}
	var batches, rows, fresh [2][]number
	for k := range two {
		batches[k], rows[k], fresh[k] = unknowns(n), unknowns(n), unknowns(n)
		at := func(t time.Time) int { return min(n-1, max(0, int(t.Sub(two[k].From)/step))) }
		for i := range two[k].Batches {
			b := &two[k].Batches[i]
			took, cell := b.End.Sub(b.Start).Seconds(), at(b.End)
			if b.NoData {
				continue
			}
			batches[k][cell] = larger(batches[k][cell], milliseconds(took))
			rows[k][cell] = sum(rows[k][cell], number(b.Rows*float64(b.Count)/step.Seconds()))
		}
		for i := range rows[k] {
			rows[k][i] = num(float64(rows[k][i]))
		}
		for i := range two[k].Minutes {
			m := &two[k].Minutes[i]
			p95 := milliseconds(m.Delivery.Quantile(.95))
			// A minute is told by its begin; it fills the steps that it covers.
			for cell := at(m.At); cell <= at(m.At.Add(time.Minute-1)); cell++ {
				fresh[k][cell] = larger(fresh[k][cell], p95)
			}
		}
	}
	out.Columns["batchMs"], out.Columns["processedRowsPerSecond"] = batches, rows
	out.Columns["freshnessP95Ms"] = fresh
	return out
}

func unknowns(n int) []number {
	out := make([]number, n)
	for i := range out {
		out[i] = unknown()
	}
	return out
}

func larger(a, b number) number {
	if !isKnown(a) || b > a {
		return b
	}
	return a
}

// shown is a number of a measure in figures with its unit.
func (m *measure) shown(n number) (figure, unit string) {
	if m.share && isKnown(n) {
		return fixed(100*float64(n), 1), "%"
	}
	return parts(n, m.kind)
}

// change says how far the second number is from the first.
func (m *measureJSON) change() string {
	switch r := float64(m.Ratio); {
	case !isKnown(m.Ratio):
		return ""
	case r >= 2 || r > 0 && r <= 0.5:
		return times(m.Ratio)
	case math.Abs(r-1) < 0.005:
		return "0" + nbsp + "%"
	case r < 1:
		return "−" + percent(number(1-r))
	default:
		return "+" + percent(number(r-1))
	}
}

// lean is how much worse (above 0) or better the second number is, from -1 to 1, where
// that can be said.
func (m *measureJSON) lean() (share number, worse bool) {
	r := float64(m.Ratio)
	if !isKnown(m.Ratio) || r <= 0 || m.Better == "" {
		return 0, false
	}
	far := math.Log2(r) / 3 // an eighth or eight times fill the bar
	if m.Better == "higher" {
		far = -far
	}
	return number(min(1, math.Abs(far))), far > 0
}

// linePath draws a column of a chart, of which top is the greatest value; unknown values
// break the line.
func linePath(values []number, top number) string {
	var b strings.Builder
	pen := "M"
	for i, v := range values {
		if !isKnown(v) {
			pen = "M"
			continue
		}
		x := (float64(i) + 0.5) / float64(len(values)) * 600
		y := 118 - 114*float64(v/top)
		b.WriteString(pen + fixed(x, 1) + " " + fixed(math.Max(2, y), 1))
		if pen == "M" { // a point alone is seen too
			b.WriteString("h.1")
		}
		pen = "L"
	}
	return b.String()
}

// chartTop is the end of the scale of a chart of both lists.
func chartTop(two [2][]number) number {
	all := sorted(append(append([]number{}, two[0]...), two[1]...)...)
	if len(all) == 0 {
		return unknown()
	}
	return number(topOf(all))
}

// The two runs of a comparison as its page and its address call them.
var (
	runLetters = [...]string{"A", "B"}
	runNames   = [...]string{"a", "b"}
)

func (s *server) showComparison(w http.ResponseWriter, r *http.Request) {
	p := s.newPage(r, "compare", "Compare")
	all := s.runs()
	if r.URL.RawQuery == "" {
		begin(w, http.StatusOK)
		writecomparePage(w, p, nil, all, "")
		return
	}
	c, code, err := s.newComparison(r.Context(), r)
	if err != nil {
		begin(w, code)
		writecomparePage(w, p, nil, all, err.Error())
		return
	}
	p.title = strings.TrimSuffix(c.Sentence, ".") + " · weir"
	begin(w, http.StatusOK)
	writecomparePage(w, p, c, all, "")
}

// compareLink is where two runs are compared.
func compareLink(a, b string) string {
	return "/compare?a=" + strings.TrimPrefix(linkTo(a), "/queries/") + "&b=" +
		strings.TrimPrefix(linkTo(b), "/queries/")
}

// chosen tells whether a run is to stand in a list: the one that is compared, or of the
// newest two.
func (c *comparison) chosen(i int, runID string, place int) bool {
	if c == nil {
		return place == 1-i
	}
	return c.Runs[i].RunID == runID
}

func (c *comparison) lengthNote() string {
	if c.Align == "end" {
		return "last " + span(c.LengthMs) + " of each"
	}
	return "first " + span(c.LengthMs) + " of each"
}

// chartSentence is a chart for those who do not see it.
func (c *comparison) chartSentence(title string, two [2][]number, how kind) string {
	says := title + ", " + c.lengthNote() + ":"
	for i, letter := range runLetters {
		all := sorted(two[i]...)
		if len(all) == 0 {
			says += " " + letter + " is not known."
			continue
		}
		says += " " + letter + " is between " + join(parts(number(all[0]), how)) + " and " +
			join(parts(number(all[len(all)-1]), how)) + "."
	}
	return says
}

func (c *comparison) noSettings() string {
	return "None, as far as both are known."
}

func (c *comparison) noPlan() string {
	return "The same, as far as both are known."
}

func (l *planLine) class() string {
	switch l.Mark {
	case "-":
		return "out"
	case "+":
		return "in"
	default:
		return ""
	}
}

func columnKind(name string) kind {
	if strings.HasSuffix(name, "Ms") {
		return inMs
	}
	return inRows
}

func lastOf(values []number) number {
	for i := len(values) - 1; i >= 0; i-- {
		if isKnown(values[i]) {
			return values[i]
		}
	}
	return unknown()
}
