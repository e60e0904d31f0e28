package health

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// A Stretch is what a run did between two instants, for holding it against another.
type Stretch struct {
	From, To time.Time
	// Since is from when on batches are known, where that is later than From.
	Since   time.Time
	Batches []Several // oldest first, as are Minutes
	Minutes []Minute
}

// A Minute is what was known of freshness and backlog in one; unknown numbers are NaN.
type Minute struct {
	At                   time.Time
	Delivery             *Sketch // how old rows were at their commit; empty if unknown
	Newest, OldestUnread float64 // ages in seconds, the worst
	Backlog              float64 // rows, the most
	Arrival              float64 // rows/s
}

// Several are batches of which the mean is known: one, mostly.
type Several struct {
	Batch
	Count int64
}

// A Measure is a number that two runs are held against each other by.
type Measure uint8

// The measures. Those of phases follow PhaseMeasures.
const (
	ArrivalMeasure   Measure = iota // rows/s that came to the sources, median
	ProcessedMeasure                // rows/s committed
	PaceMeasure                     // rows/s while a batch ran
	InBatchesMeasure                // share of the time
	RowsMeasure                     // of a batch, median
	BatchP50Measure                 // seconds, as all below
	BatchP95Measure
	BatchP99Measure
	FreshP50Measure
	FreshP95Measure
	FreshP99Measure
	BacklogMeasure // rows, the most
	StateMeasure   // bytes, the most
	LateMeasure    // share of the rows
	PhaseMeasures
	MeasureCount = PhaseMeasures + Measure(PhaseCount)
)

// Phase is the phase whose median time in a batch a measure is, if it is one.
func (m Measure) Phase() (p Phase, ok bool) {
	return Phase(m - PhaseMeasures), m >= PhaseMeasures && m < MeasureCount
}

// Figures are the measures of a stretch; unknown ones are NaN (H1).
type Figures struct {
	Batches int
	Seconds float64
	Values  [MeasureCount]float64
}

// Figures sums a stretch up.
func (s *Stretch) Figures() Figures {
	f := Figures{Seconds: s.To.Sub(s.From).Seconds()}
	if s.Since.After(s.From) {
		f.Seconds = s.To.Sub(s.Since).Seconds()
	}
	for m := range f.Values {
		f.Values[m] = unknown()
	}
	var sum sums
	for i := range s.Batches {
		sum.add(&s.Batches[i], &f)
	}
	var delivery Sketch
	var arrivals []float64
	for i := range s.Minutes {
		m := &s.Minutes[i]
		delivery.Merge(m.Delivery)
		if Known(m.Arrival) {
			arrivals = append(arrivals, m.Arrival)
		}
		if Known(m.Backlog) {
			f.Values[BacklogMeasure] = math.Max(m.Backlog, orZero(f.Values[BacklogMeasure]))
		}
	}
	f.Values[ArrivalMeasure] = median(arrivals)
	f.Values[FreshP50Measure], f.Values[FreshP95Measure] = delivery.Quantile(.5), delivery.Quantile(.95)
	f.Values[FreshP99Measure] = delivery.Quantile(.99)
	if f.Batches > 0 {
		sum.tell(&f)
	}
	return f
}

// sums are what figures are made of.
type sums struct {
	took, rows         []float64 // of a batch
	phases             [PhaseCount][]float64
	read, late, inside float64
}

func (s *sums) add(b *Several, f *Figures) {
	n := float64(max(1, b.Count))
	s.late += b.Dropped * n
	s.inside += b.seconds() * n
	if Known(b.StateBytes) {
		f.Values[StateMeasure] = math.Max(b.StateBytes, orZero(f.Values[StateMeasure]))
	}
	if b.NoData {
		return
	}
	f.Batches += int(n)
	s.read += b.Rows * n
	s.took, s.rows = append(s.took, b.seconds()), append(s.rows, b.Rows)
	for p, seconds := range b.Phases {
		if Known(seconds) {
			s.phases[p] = append(s.phases[p], seconds)
		}
	}
}

func (s *sums) tell(f *Figures) {
	whole := positive(f.Seconds)
	f.Values[ProcessedMeasure] = s.read / whole
	f.Values[PaceMeasure] = s.read / positive(s.inside)
	f.Values[InBatchesMeasure] = s.inside / whole
	if f.Values[InBatchesMeasure] > 1 {
		f.Values[InBatchesMeasure] = 1
	}
	f.Values[LateMeasure] = s.late / positive(s.read+s.late)
	f.Values[RowsMeasure] = median(s.rows)
	f.Values[BatchP50Measure], f.Values[BatchP95Measure] = quantile(s.took, .5), quantile(s.took, .95)
	f.Values[BatchP99Measure] = quantile(s.took, .99)
	for p := range s.phases {
		f.Values[int(PhaseMeasures)+p] = median(s.phases[p])
	}
}

func orZero(x float64) float64 {
	if !Known(x) {
		return 0
	}
	return x
}

const (
	// leastCompared is how many batches a run needs so that its quantiles mean anything.
	leastCompared = 5
	// apart is from which factor on a difference matters, and farApart from which it is
	// told beside a greater one.
	apart, farApart = 1.1, 1.5
)

// ratio is b by a; unknown unless both are above zero.
func ratio(a, b float64) float64 { return positive(b) / positive(a) }

// differs tells whether two numbers are more than a factor apart.
func differs(a, b, factor float64) bool {
	r := ratio(a, b)
	return Known(r) && (r >= factor || r <= 1/factor)
}

// An aside is a measure with its words.
type aside struct {
	m                Measure
	name, more, less string
}

// told are the measures that a difference names besides the time of a batch.
var told = [...]aside{
	{StateMeasure, "state", "larger", "smaller"}, {FreshP95Measure, "p95 of freshness", "later", "sooner"},
	{RowsMeasure, "a batch has", "more rows", "fewer rows"}, {ArrivalMeasure, "arrival", "faster", "slower"},
	{BacklogMeasure, "backlog", "larger", "smaller"},
}

// Difference says in one sentence what sets the second run apart from the first.
func Difference(a, b *Figures) string {
	if a.Batches < leastCompared || b.Batches < leastCompared {
		return fmt.Sprintf("Too few batches with rows to tell: %d and %d.", a.Batches, b.Batches)
	}
	var said []string
	was, is := a.Values[BatchP95Measure], b.Values[BatchP95Measure]
	if differs(was, is, apart) {
		said = append(said, "p95 of a batch "+factor(was, is, "slower", "faster")+phaseShift(a, b))
	}
	others := slices.Clone(told[:])
	far := func(m Measure) float64 { return orZero(math.Abs(math.Log(ratio(a.Values[m], b.Values[m])))) }
	slices.SortStableFunc(others, func(x, y aside) int { return cmp.Compare(far(y.m), far(x.m)) })
	for _, o := range others[:2] {
		if x, y := a.Values[o.m], b.Values[o.m]; differs(x, y, farApart) {
			said = append(said, o.name+" "+factor(x, y, o.more, o.less))
		}
	}
	if len(said) == 0 {
		return "No difference that matters: p95 of a batch is " + Span(was) + " and " + Span(is) + "."
	}
	text := strings.Join(said, "; ") + "."
	if !strings.HasPrefix(text, "p9") {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return text
}

// factor says how far b is from a: 2.3× slower, 15 % faster.
func factor(a, b float64, more, less string) string {
	r, word := ratio(a, b), more
	if r < 1 {
		r, word = 1/r, less
	}
	if r < 1.3 {
		return Percent(r-1) + " " + word
	}
	return times(r) + " " + word
}

// phaseShift names the phase whose time changed most in the direction of the whole.
func phaseShift(a, b *Figures) string {
	slower := b.Values[BatchP95Measure] > a.Values[BatchP95Measure]
	most, at := 0.0, PhaseCount
	for p := range PhaseCount {
		i := int(PhaseMeasures) + int(p)
		shift := orZero(b.Values[i]) - orZero(a.Values[i])
		if !Known(a.Values[i]) && !Known(b.Values[i]) || (shift > 0) != slower {
			continue
		}
		if math.Abs(shift) > math.Abs(most) {
			most, at = shift, p
		}
	}
	if at == PhaseCount {
		return ""
	}
	sign := "+"
	if most < 0 {
		sign = "−"
	}
	return ": " + phaseNames[at] + " " + sign + Span(math.Abs(most))
}

// phaseNames are the phases in sentences.
var phaseNames = [PhaseCount]string{
	LatestOffset: "getting offsets", QueryPlanning: "planning", Read: "reading", Compute: "computing",
	StateCommit: "state commit", SinkWrite: "sink write", LogCommit: "log commit",
}
