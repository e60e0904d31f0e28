package health

import "time"

// An Estimate tells how a lag in seconds was found.
type Estimate string

// The ways to find a lag, the best first.
const (
	Exact        Estimate = "exact"        // the source says when its first unread row came
	Interpolated Estimate = "interpolated" // from when the source's end was where the query is now
	Extrapolated Estimate = "extrapolated" // the same, beyond what was seen
	ByRate       Estimate = "byRate"       // backlog by arrival rate
	NoEstimate   Estimate = ""
)

// Signals are the numbers about a query at one instant. Unknown ones are NaN (H1).
type Signals struct {
	At   time.Time
	Unit string // in which sources are measured: rows, bytes, files, or "" when nothing is known

	ArrivalPerSecond float64 // in the unit
	// ArrivalRowsPerSecond and Backlog.Rows are estimated by the rows read so far where
	// the unit is another.
	ArrivalRowsPerSecond float64
	ProcessedPerSecond   float64 // rows
	Backlog              Amount
	BacklogSeconds       float64
	BacklogBy            Estimate
	// Growth is how fast the backlog grows, as a share of what arrives: 0.17 is
	// short by 17 %. growthNow is the same over the fast window.
	Growth    float64
	growthNow float64
	// Short is the share of what arrives that the query does not work off: one less
	// Headroom where that is below one, else Growth; 0 while it keeps up.
	Short float64
	// engineBusy is Busy as if there were no read limit.
	engineBusy float64
	// byBatches says that Growth is that of what waited when batches began.
	byBatches bool
	// arrivalNow is the arrival rate over the fast window, in rows.
	arrivalNow float64

	// DrainPerSecond is how fast a backlog is worked off: known only while there is one.
	DrainPerSecond             float64
	CatchUpLow, CatchUpHigh    float64 // seconds; unknown when it does not catch up
	BatchSeconds, BatchAtWorst float64 // median and p99
	// InBatches is the share of the window in which a batch ran, and PacePerSecond how
	// many rows batches read for each second of it, the running one included.
	InBatches, PacePerSecond float64
	// Busy is the share of what it can take that arrives, and Headroom its inverse:
	// unknown while batches run hardly ever.
	Busy, Headroom float64
	Capped         bool    // every recent batch took all that it may
	CapRows        float64 // how many rows that is

	DeliveryP50, DeliveryP95, DeliveryP99, DeliveryMax float64 // seconds, of rows committed of late
	NewestAge                                          float64 // seconds since the newest committed row
	OldestUnreadAge                                    float64 // seconds; 0 when nothing waits
	// Floor is the delivery that trigger and batch time alone make; only what exceeds
	// it deserves attention. Unknown for a query that does not keep up.
	Floor     float64
	UntilLoss float64 // seconds until the source deletes what is unread

	WatermarkLag float64 // seconds behind the last batch, beyond the delay of the plan
	// WatermarkStuck is for how long the watermark has not moved while rows came, in
	// seconds; unknown for a query without one.
	WatermarkStuck float64
	// LatePartition is by how many seconds the newest row of LateName, the worst partition,
	// is behind the watermark although rows of it come: they are dropped. Unknown when none is.
	LatePartition float64
	LateName      string
	DroppedRatio  float64 // rows that came too late, of those read of late
	// DroppedRows and DroppedOf are the two, over the batches that are remembered.
	DroppedRows, DroppedOf float64
	StateBytes             float64
	StatePerHour           float64 // bytes; unknown while it is not clear that it grows or shrinks
	UntilStateLimit        float64 // seconds
	LastCommit             time.Time
}

// Signals reads the watch.
func (w *Watch) Signals(now time.Time) Signals {
	s := Signals{
		At: now, Unit: w.unit.String(), Backlog: w.unread(), LastCommit: w.commitAt,
		DrainPerSecond: unknown(), CatchUpLow: unknown(), CatchUpHigh: unknown(), CapRows: unknown(),
	}
	window := w.window()
	s.ArrivalPerSecond = perSecond(w.arrived.within(now, window))
	perUnit := w.rowsPerUnit()
	s.ArrivalRowsPerSecond = inRows(s.ArrivalPerSecond, perUnit)
	if !Known(s.Backlog.Rows) {
		s.Backlog.Rows = inRows(w.waits(), perUnit)
	}
	s.ProcessedPerSecond = w.processed(now, window)
	s.BacklogSeconds, s.BacklogBy = w.lag(now, s.ArrivalPerSecond)
	s.Growth = w.growth(now, window, s.ArrivalPerSecond)
	s.byBatches = len(w.begins.within(now, window)) >= leastPoints
	fast := max(fastWindow, 4*w.gap())
	s.growthNow = w.growth(now, fast, s.ArrivalPerSecond)
	s.arrivalNow = perSecond(w.arrived.within(now, fast)) * perUnit
	w.paces(&s, window)
	w.durations(&s)
	w.drain(&s)
	w.load(&s)
	s.shortage()
	w.freshness(&s, now)
	w.ofState(&s)
	s.LateName, s.LatePartition = w.latest(now)
	s.UntilLoss = unknown()
	for _, source := range w.reading.Sources {
		if !(s.UntilLoss <= source.UntilLoss) {
			s.UntilLoss = source.UntilLoss
		}
	}
	return s
}

// rowsPerUnit is how many rows there were in what the watch measures.
func (w *Watch) rowsPerUnit() float64 {
	if w.unit == rows {
		return 1
	}
	return w.readRows / positive(w.read)
}

// inRows estimates an amount in rows; nothing is no rows, however many there are in a
// unit.
func inRows(amount, perUnit float64) float64 {
	if amount == 0 {
		return 0
	}
	return amount * perUnit
}

// unread is what waits in all sources together.
func (w *Watch) unread() Amount {
	if len(w.reading.Sources) == 0 {
		return Unmeasured()
	}
	var a Amount
	for _, s := range w.reading.Sources {
		a = a.plus(s.Unread)
	}
	return a
}

// waits is the backlog in the watch's unit.
func (w *Watch) waits() float64 { return w.unit.of(w.unread()) }

// processed is how many rows were committed a second over the window.
func (w *Watch) processed(now time.Time, window time.Duration) float64 {
	rows, since := 0.0, now
	for i := len(w.batches) - 1; i >= 0; i-- {
		b := &w.batches[i]
		if now.Sub(b.End) > window {
			since = b.End
			break
		}
		rows, since = rows+b.Rows, b.Start
	}
	if len(w.batches) == 0 {
		return unknown()
	}
	return rows / max(now.Sub(since).Seconds(), 1e-3)
}

// lag is how long ago the first unread row came, of the latest source.
func (w *Watch) lag(now time.Time, arrival float64) (seconds float64, by Estimate) {
	waits := w.waits()
	switch {
	case !Known(waits):
		return unknown(), NoEstimate
	case waits <= 0:
		return 0, Exact
	}
	if oldest := w.oldest(); !oldest.IsZero() {
		return max(0, now.Sub(oldest).Seconds()), Exact
	}
	for _, s := range []*series{&w.arrived, &w.history} {
		if at, exact := reached(s.points, w.read, arrival); exact {
			return max(0, now.Sub(at).Seconds()), Interpolated
		}
	}
	if at, _ := reached(w.history.points, w.read, arrival); !at.IsZero() {
		return max(0, now.Sub(at).Seconds()), Extrapolated
	}
	if Known(positive(arrival)) {
		return waits / arrival, ByRate
	}
	return unknown(), NoEstimate
}

// oldest is when the first unread row of any source came, if all that have some know it.
func (w *Watch) oldest() time.Time {
	var oldest time.Time
	for _, s := range w.reading.Sources {
		switch {
		case s.Oldest.IsZero() && w.unit.of(s.Unread) > 0:
			return time.Time{}
		case s.Oldest.IsZero():
		case oldest.IsZero() || s.Oldest.Before(oldest):
			oldest = s.Oldest
		}
	}
	return oldest
}

// leastPoints is how many points make a trend.
const leastPoints = 4

// growth is the backlog's trend as a share of what arrives.
func (w *Watch) growth(now time.Time, window time.Duration, arrival float64) float64 {
	points := w.begins.within(now, window)
	if len(points) < leastPoints {
		points = w.backlog.within(now, window)
	}
	if len(points) < leastPoints {
		return unknown()
	}
	g := slope(points, w.room[:0])
	if arrival <= 0 && g < 0 { // nothing arrives and it shrinks
		return -1
	}
	return g / positive(arrival)
}

// durations fills in how long batches take.
func (w *Watch) durations(s *Signals) {
	s.BatchSeconds, s.BatchAtWorst, s.Floor = unknown(), unknown(), unknown()
	recent := w.recent(64)
	if len(recent) == 0 {
		return
	}
	seconds := make([]float64, len(recent))
	for i := range recent {
		seconds[i] = recent[i].seconds()
	}
	s.BatchAtWorst = quantile(seconds, 0.99)
	s.BatchSeconds = median(seconds)
	s.Floor = max(w.config.TriggerEvery.Seconds(), s.BatchSeconds)/2 + s.BatchSeconds
}

// loadOfEndless is how loaded a query is that begins a batch as soon as the last
// has ended: its batches grow until they take as long as their rows need to arrive,
// which is a fixed cost over one less the load.
func (w *Watch) loadOfEndless(batch float64) float64 {
	var costs, small []float64
	for _, b := range w.batches {
		p := b.Phases
		cost := p[LatestOffset] + p[QueryPlanning] + p[StateCommit] + p[LogCommit]
		if Known(cost) {
			costs = append(costs, cost)
		}
		small = append(small, b.seconds())
	}
	fixed := quantile(small, 0.02)
	if cost := median(costs); Known(cost) {
		fixed = min(fixed, max(cost, 1e-6))
	}
	if !Known(positive(batch)) {
		return unknown()
	}
	return max(0, 1-fixed/batch)
}

// backlogBatches is how many batches tell how fast a backlog is worked off.
const backlogBatches = 5

// drain fills in how fast the backlog is worked off and when that is done.
func (w *Watch) drain(s *Signals) {
	recent := w.recent(backlogBatches + 1)
	capped := len(recent) >= backlogBatches
	var rates []float64
	for i := range recent {
		capped = capped && recent[i].Capped
		if i+1 < len(recent) {
			if gap := recent[i+1].Start.Sub(recent[i].Start).Seconds(); gap > 0 {
				rates = append(rates, recent[i].Rows/gap)
			}
		}
	}
	s.Capped = capped
	if capped {
		s.CapRows = recent[len(recent)-1].Rows
	}
	// Of a query that keeps up this would only be what arrives.
	late := s.BacklogSeconds > w.leastLag().Seconds()/2
	if len(rates) < 3 || !capped && !late {
		return
	}
	s.DrainPerSecond = median(rates)
	low, high := quantile(rates, 0.25)-s.arrivalNow, quantile(rates, 0.75)-s.arrivalNow
	waits := s.Backlog.Rows
	if s.DrainPerSecond > s.arrivalNow && late && waits > 0 {
		s.CatchUpLow = waits / high
		s.CatchUpHigh = waits / positive(low)
	}
}

// leastLag is the shortest lag that counts.
func (w *Watch) leastLag() time.Duration {
	least := max(10*time.Second, 3*w.config.TriggerEvery)
	if w.config.Objective > 0 {
		least = w.config.Objective
	}
	return least
}

// freshness fills in how old results are.
func (w *Watch) freshness(s *Signals, now time.Time) {
	both := w.delivery[1].clone()
	both.Merge(&w.delivery[0])
	s.DeliveryP50, s.DeliveryP95 = both.Quantile(0.5), both.Quantile(0.95)
	s.DeliveryP99, s.DeliveryMax = both.Quantile(0.99), both.Max()
	s.NewestAge, s.OldestUnreadAge = unknown(), unknown()
	if !w.newest.IsZero() {
		s.NewestAge = max(0, now.Sub(w.newest).Seconds())
	}
	if waits := w.waits(); waits == 0 {
		s.OldestUnreadAge = 0
	} else if s.BacklogBy == Exact || s.BacklogBy == Interpolated {
		s.OldestUnreadAge = s.BacklogSeconds
	}
}

// stuckBatches is how many batches with rows do not move a watermark that is stuck.
const stuckBatches = 3

// stuck is for how long the watermark has not moved while rows came.
func (w *Watch) stuck() float64 {
	switch {
	case w.markMoved.IsZero(), w.config.Bounded: // what is there is read, in whatever order (H4)
		return unknown()
	case w.unmoved < stuckBatches:
		return 0
	default:
		return w.rowsAt.Sub(w.markMoved).Seconds()
	}
}

// leastStateSpan is the shortest time over which growth of state is told.
const leastStateSpan = 10 * time.Minute

// ofState fills in watermark, late rows and the size of state.
func (w *Watch) ofState(s *Signals) {
	s.WatermarkLag = max(0, w.markLag)
	if !Known(w.markLag) {
		s.WatermarkLag = unknown()
	}
	s.WatermarkStuck = w.stuck()
	rows, dropped := 0.0, 0.0
	for i := range w.batches {
		rows, dropped = rows+w.batches[i].Rows, dropped+w.batches[i].Dropped
	}
	s.DroppedRows, s.DroppedOf = dropped, rows
	s.DroppedRatio = min(1, dropped/positive(rows))
	s.StateBytes, s.StatePerHour, s.UntilStateLimit = unknown(), unknown(), unknown()
	points := w.state.points
	if len(points) == 0 {
		return
	}
	s.StateBytes = points[len(points)-1].value
	if points[len(points)-1].at.Sub(points[0].at) < leastStateSpan {
		return
	}
	all := slopes(points, w.room[:0])
	// Only when three of four pairs agree that it grows, it does.
	low, middle, high := quantile(all, 0.25), median(all), quantile(all, 0.75)
	if low <= 0 && high >= 0 {
		return
	}
	s.StatePerHour = middle * 3600
	if left := w.config.StateLimit - s.StateBytes; w.config.StateLimit > 0 && middle > 0 {
		s.UntilStateLimit = max(0, left) / middle
	}
}
