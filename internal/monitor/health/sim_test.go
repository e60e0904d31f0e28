package health

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// simulation is a query over a source at which rows arrive steadily but for what
// change says, with batches of a fixed cost and one for each row.
type simulation struct {
	trigger time.Duration
	load    float64 // share of its time that it is busy with perSecond arriving
	cap     float64 // rows a batch, 0 for none
	sigma   float64 // of the lognormal noise of a batch's time
	waiting float64 // rows that came in the time before the run
	ahead   bool    // a batch reads all its rows at once, before it works
	// objective is that of the query, 0 for none.
	objective time.Duration
	slow      float64 // seconds more that the first batch takes, before it reads a row
	// factor is by how much more rows arrive at a second of the run; nil for none.
	factor func(second float64) float64
	// mode is what the watch is told: everything, no times of rows, or only what
	// the progress of another engine says.
	mode simMode
}

type simMode int

const (
	withTimes simMode = iota
	withoutTimes
	progressOnly
)

const (
	simRate  = 1000.0 // rows a second
	simFixed = 0.3    // seconds a batch
	simTime  = 30 * 60.0
)

var simStart = time.UnixMilli(1_700_000_000_000)

func at(second float64) time.Time {
	return simStart.Add(time.Duration(second * float64(time.Second)))
}

// arrivals is how many rows came, as a table by 10 ms.
func (s simulation) arrivals() []float64 {
	sum, table := s.waiting, make([]float64, 0, int(simTime*100)+2)
	for i := range int(simTime*100) + 2 {
		table = append(table, sum)
		rate := simRate
		if s.factor != nil {
			rate *= s.factor(float64(i) / 100)
		}
		sum += rate / 100
	}
	return table
}

// change is a state that a run entered and when, in seconds.
type change struct {
	state  State
	second float64
}

// run plays half an hour and gives the states that were said.
func (s simulation) run(seed uint64) []change { return s.play(seed, nil) }

// play is run, and shows each assessment to look, if there is one.
func (s simulation) play(seed uint64, look func(second float64, a *Assessment)) []change {
	random := rand.New(rand.NewPCG(seed, 1))
	came := s.arrivals()
	arrived := func(second float64) float64 { return came[min(int(second*100), len(came)-1)] }
	w := New(Config{TriggerEvery: s.trigger, Objective: s.objective}, at(0))
	perRow := s.load / simRate
	if t := s.trigger.Seconds(); t > 0 { // busy for load of every interval
		perRow = (s.load*t - simFixed) / (simRate * t)
	}
	var changes []change
	committed, oldest, tick := 0.0, 0, 0.0
	// watch lets the sampler look once a second until an instant; moved says how many
	// rows the running batch has read by then.
	watch := func(until float64, moved func(second float64) float64) {
		for ; tick <= until && tick < simTime; tick++ {
			if moved != nil && s.mode != progressOnly {
				w.Move(at(tick), Compute, moved(tick), unknown(), "")
				w.Step(at(tick), int64(tick))
			}
			if s.mode != progressOnly {
				w.Observe(s.reading(tick, committed, arrived(tick), came, &oldest))
			}
			a := w.Assess(at(tick))
			if n := len(changes); n == 0 || changes[n-1].state != a.State {
				changes = append(changes, change{a.State, tick})
			}
			if look != nil {
				look(tick, &a)
			}
		}
	}
	for now, id := 0.0, int64(0); now < simTime; id++ {
		watch(now, nil)
		rows := arrived(now) - committed
		if s.cap > 0 {
			rows = min(rows, s.cap)
		}
		if rows < 1 {
			w.Quiet(at(now))
			now += 0.01
			continue
		}
		begin := s.reading(now, committed, arrived(now), came, &oldest)
		if s.mode != progressOnly {
			w.Observe(begin)
			w.Begin(id, at(now))
		}
		// of mean 1
		noise := math.Exp(s.sigma*random.NormFloat64() - s.sigma*s.sigma/2)
		reads := now
		if id == 0 {
			reads += s.slow
		}
		end := reads + (simFixed+perRow*rows)*noise
		watch(end, s.reader(rows, reads, end))
		if s.mode == progressOnly { // it is known when the batch has ended
			w.Observe(begin)
			w.Begin(id, at(now))
		}
		committed += rows
		w.Commit(Batch{ID: id, Start: at(now), End: at(end), Rows: rows,
			Capped: s.cap > 0 && rows == s.cap, Phases: noPhases(), StateBytes: unknown(),
			Operators: []Operator{{Name: "Python function", Seconds: 0.98 * (end - reads)}}})
		if t := s.trigger.Seconds(); t > 0 { // one that is late begins at once
			end = max(end, (math.Floor(now/t)+1)*t)
		}
		now = end
	}
	return changes
}

// reader says how many of its rows a batch has read that works between two seconds.
func (s simulation) reader(rows, from, to float64) func(second float64) float64 {
	return func(second float64) float64 {
		if s.ahead && second > from {
			return rows
		}
		return rows * max(0, second-from) / (to - from)
	}
}

func noPhases() (p Phases) {
	for i := range p {
		p[i] = unknown()
	}
	return p
}

func (s simulation) reading(second, committed, arrived float64, came []float64, oldest *int) Reading {
	source := Source{
		Name: "s", UntilLoss: unknown(),
		Read:   Amount{committed, unknown(), unknown()},
		Unread: Amount{arrived - committed, unknown(), unknown()},
	}
	if s.mode == withTimes && arrived > committed {
		for *oldest+1 < len(came) && came[*oldest+1] <= committed {
			*oldest++
		}
		source.Oldest = at(float64(*oldest) / 100)
		if committed < came[0] { // before the run they came as steadily
			source.Oldest = at((committed - came[0]) / simRate)
		}
	}
	return Reading{At: at(second), Sources: []Source{source}}
}

// from is a factor of arrivals from a second on.
func from(second, factor float64) func(float64) float64 {
	return func(at float64) float64 {
		if at < second {
			return 1
		}
		return factor
	}
}

func burst(second, seconds, factor float64) func(float64) float64 {
	return func(at float64) float64 {
		if at < second || at >= second+seconds {
			return 1
		}
		return factor
	}
}

// startsWithin is for how many seconds a query that is well may be called young.
const startsWithin = 60

// simCase is a row of the detector's table.
type simCase struct {
	name string
	sim  simulation
	// within is how many seconds after onset it must say behind; 0: nothing but healthy.
	onset, within float64
	then          []State // what follows, in this order
}

func (c simCase) judge(t *testing.T, seed uint64) {
	t.Helper()
	changes := c.sim.run(seed)
	if len(changes) > 1 && changes[0].state == Starting && changes[1].second <= startsWithin {
		changes = changes[1:]
	}
	told := func(want string) { t.Errorf("seed %d, mode %d: %v, want %s", seed, c.sim.mode, changes, want) }
	if c.within == 0 {
		if len(changes) != 1 || changes[0].state != Healthy {
			told("healthy throughout")
		}
		return
	}
	if len(changes) < 2+len(c.then) || changes[1].state != Behind ||
		changes[1].second < c.onset || changes[1].second > c.onset+c.within {
		told("behind in time")
		return
	}
	for i, want := range c.then {
		if changes[2+i].state != want {
			told("then " + string(want))
		}
	}
}

// The table of the detector: what it must never say, and what it must find. The
// healthy rows are 20 runs of half an hour.
func TestSustainedLag(t *testing.T) {
	const ten = 10 * time.Second
	for _, c := range []simCase{
		{name: "endless at 30 %", sim: simulation{load: 0.3, sigma: 0.2}},
		{name: "endless at 80 %", sim: simulation{load: 0.8, sigma: 0.5}},
		{name: "10 s at 40 %", sim: simulation{trigger: ten, load: 0.4, sigma: 0.2}},
		{name: "10 s at 90 %", sim: simulation{trigger: ten, load: 0.9, sigma: 0.3}},
		{name: "step to 120 %", onset: 600, within: 190,
			sim: simulation{load: 0.6, sigma: 0.2, factor: from(600, 2)}},
		{name: "step to 135 % with a cap", onset: 600, within: 105,
			sim: simulation{load: 0.5, sigma: 0.2, cap: 1000, factor: from(600, 1.8)}},
		{name: "10 s, step to 125 % of a cap", onset: 600, within: 215,
			sim: simulation{trigger: ten, load: 0.4, sigma: 0.2, cap: 12_000, factor: from(600, 1.5)}},
		{name: "burst that fits", sim: simulation{load: 0.1, sigma: 0.2, factor: burst(600, 60, 5)}},
		{name: "burst that drains slowly", onset: 600, within: 121, then: []State{CatchingUp, Healthy},
			sim: simulation{load: 0.3, sigma: 0.2, cap: 2000, factor: burst(600, 60, 5)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(5) {
				c.judge(t, seed)
			}
			// Told less it finds the same.
			for _, c.sim.mode = range []simMode{withoutTimes, progressOnly} {
				c.judge(t, 0)
			}
		})
	}
}
