package health

import (
	"strings"
	"time"
)

// A State is how a query does.
type State string

// The states, worst first.
const (
	Failed     State = "failed"     // ended with an error
	Stalled    State = "stalled"    // rows wait and the running batch does not move
	Breach     State = "breach"     // the oldest unread row is older than the objective
	Behind     State = "behind"     // the backlog grows
	Lagging    State = "lagging"    // late by a constant amount
	CatchingUp State = "catchingUp" // the backlog shrinks
	Restarting State = "restarting" // started again after a failure, not long ago
	Starting   State = "starting"   // too young to be judged
	Healthy    State = "healthy"
	Idle       State = "idle"    // nothing arrives and nothing waits
	Stopped    State = "stopped" // stopped or finished
)

// NeedsSomebody tells whether a state asks for a person.
func (s State) NeedsSomebody() bool {
	switch s {
	case CatchingUp, Starting, Healthy, Idle, Stopped:
		return false
	default:
		return true
	}
}

// Word is the state as people read it; the constants are for programs.
func (s State) Word() string {
	switch s {
	case "":
		return ""
	case Breach:
		return "Too late"
	case CatchingUp:
		return "Catching up"
	default:
		return strings.ToUpper(string(s[:1])) + string(s[1:])
	}
}

const (
	// noticeable is the growth, as a share of what arrives, that is more than noise.
	noticeable = 0.03
	// growsFor is how long a backlog must grow before that is said.
	growsFor = time.Minute
	// shrinksFor is how long it must shrink before catching up is.
	shrinksFor = 5 * time.Second
	// regrowsFor is how long it must grow again before catching up is over.
	regrowsFor = 30 * time.Second
	// leastOverdue is the shortest time after which a batch is overdue.
	leastOverdue = 30 * time.Second
	// leastStall is the shortest silence of a batch that is one.
	leastStall = time.Minute
)

// machine is the detector of sustained lag. Idle, stalled and too late are laid
// over its state by Assess, for they say nothing of the trend.
type machine struct {
	state     State // Healthy, Behind, CatchingUp, Lagging; Failed and Stopped at the end
	since     time.Time
	calm      time.Time // the last time that hardly anything was late
	proven    bool      // that it keeps up, or does not, is known: it is not young any more
	growing   time.Time // since when the backlog grows beyond doubt; zero when it does not
	shrinking time.Time // the same for the fast window, and that it shrinks
	regrowing time.Time // that it grows again
	steady    time.Time
	late      time.Time // since when rows are late
	missed    time.Time // since when the objective is missed

	shown      State // what Assess said last
	shownSince time.Time
}

func (m *machine) enter(s State, at time.Time) {
	if m.state != s {
		m.state, m.since = s, at
	}
}

// mostOnset is how long at most a backlog had grown before that was beyond doubt.
const mostOnset = 3 * time.Minute

// fall enters Behind as of when the backlog began to grow.
func (m *machine) fall(begun time.Time) {
	since := later(begun, later(m.calm, m.growing.Add(-mostOnset)))
	if m.state != Healthy {
		since = later(since, m.since)
	}
	m.enter(Behind, since)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// hold notes since when a condition holds.
func hold(since *time.Time, holds bool, now time.Time) time.Duration {
	switch {
	case !holds:
		*since = time.Time{}
		return -1
	case since.IsZero():
		*since = now
	}
	return now.Sub(*since)
}

// step follows the trend.
func (m *machine) step(w *Watch, s *Signals, now time.Time) {
	least := w.leastLag().Seconds()
	late := s.BacklogSeconds > least
	// During the few batches of a catch-up what waits may grow, fast as they are. One
	// that runs far longer than any of late tells before the next one begins.
	growing := s.Growth > noticeable && (s.byBatches || !(s.PacePerSecond >= s.ArrivalRowsPerSecond))
	grows := hold(&m.growing, late && (growing || w.overdue(s, now)), now)
	shrinks := hold(&m.shrinking, s.growthNow < -noticeable, now)
	regrows := hold(&m.regrowing, s.growthNow > noticeable, now)
	steady := hold(&m.steady, s.Growth >= -noticeable && s.Growth <= noticeable && late, now)
	lasts := hold(&m.late, late, now)
	caught := s.BacklogSeconds < least/2
	switch m.state {
	case Healthy:
		switch {
		case grows >= growsFor:
			m.fall(w.begun)
		case lasts < 2*w.window():
		case shrinks >= shrinksFor:
			m.enter(CatchingUp, now)
		default: // what is late for so long is late, whichever way it sways
			m.enter(Lagging, now)
		}
	case Behind:
		switch {
		case caught, shrinks >= shrinksFor:
			m.enter(CatchingUp, now)
		case steady >= 2*w.window():
			m.enter(Lagging, now)
		}
	case Lagging:
		switch {
		case grows >= growsFor:
			m.fall(w.begun)
		case caught, s.Growth < -noticeable && shrinks >= shrinksFor:
			m.enter(CatchingUp, now)
		}
	case CatchingUp:
		switch {
		case caught:
			m.enter(Healthy, now)
		case grows >= growsFor && regrows >= max(regrowsFor, w.gap()):
			m.fall(w.begun)
		case steady >= 2*w.window():
			m.enter(Lagging, now)
		}
	}
}

// begin follows the trend of a run that is young: only what was measured counts (H4).
func (m *machine) begin(w *Watch, s *Signals, now time.Time) {
	m.regrowing, m.steady = time.Time{}, time.Time{}
	least := w.leastLag().Seconds()
	late := s.BacklogSeconds > least
	hold(&m.late, late, now)
	drowns := hold(&m.growing, late && s.Growth > noticeable && s.short(), now)
	shrinks := hold(&m.shrinking, late && s.growthNow < -noticeable, now)
	caught := s.BacklogSeconds < least/2
	switch {
	case m.state != Behind && drowns >= growsFor:
		m.fall(w.begun)
	case m.state == CatchingUp && caught:
		m.enter(Healthy, now)
	case m.state == Behind && caught, m.state != CatchingUp && shrinks >= shrinksFor:
		m.enter(CatchingUp, now)
	}
}

// provenBatches is after how many batches in time a query keeps up.
const provenBatches = 3

// proves tells whether enough was seen to say that the query keeps up.
func (w *Watch) proves(s *Signals, now time.Time) bool {
	least := w.leastLag().Seconds()
	if !w.young(now) {
		return !(s.BacklogSeconds > least)
	}
	n := len(w.batches)
	if every := w.config.TriggerEvery.Seconds(); every > 0 && s.BatchAtWorst < every {
		n += provenBatches - 1
	}
	// Batches that follow each other without a pause must be seen to be fast enough.
	room := s.InBatches <= fullShare || Known(s.PacePerSecond) && !s.short()
	return n >= provenBatches && s.BacklogSeconds <= least && room
}

// young tells whether rates are too new for a trend.
func (w *Watch) young(now time.Time) bool {
	return now.Sub(w.begun) < w.warmUp() || now.Sub(w.first) < w.warmUp()
}

// judge says how the query does at an instant.
func (w *Watch) judge(s *Signals, now time.Time) State {
	m := &w.verdict
	if w.ended != "" {
		return w.ended
	}
	if !(s.BacklogSeconds > w.leastLag().Seconds()/2) {
		m.calm = now
	}
	switch {
	case w.config.Bounded: // H4
		m.proven = true
	case w.young(now):
		m.begin(w, s, now)
	default:
		m.step(w, s, now)
	}
	m.proven = m.proven || m.state != Healthy || w.proves(s, now)
	objective := w.config.Objective.Seconds()
	missed := hold(&m.missed, objective > 0 && !w.config.Bounded && s.BacklogSeconds > objective, now)
	switch {
	case w.stalls(s, now):
		return Stalled
	case missed >= w.config.ObjectiveFor:
		return Breach
	case m.state == Healthy && w.quiet(now):
		return Idle
	case m.state == Healthy && s.WatermarkStuck > w.window().Seconds():
		return Lagging // rows are read in time, and what they make is not
	case !m.proven:
		return Starting
	default:
		return m.state
	}
}

// overdue tells whether the running batch takes far longer than those before it.
func (w *Watch) overdue(s *Signals, now time.Time) bool {
	return w.running != nil && Known(s.BatchAtWorst) &&
		now.Sub(w.running.Start).Seconds() > max(leastOverdue.Seconds(), 5*s.BatchAtWorst)
}

// stalls tells whether rows wait and nothing happens.
func (w *Watch) stalls(s *Signals, now time.Time) bool {
	limit := leastStall
	if Known(s.BatchAtWorst) {
		limit = max(limit, time.Duration(5*s.BatchAtWorst*float64(time.Second)))
	}
	if len(w.batches) == 0 { // a first batch has more to do
		limit = 2 * leastStall
	}
	if w.running != nil {
		return now.Sub(w.running.MovedAt) > limit && now.Sub(w.running.Start) > limit
	}
	commit := w.commitAt
	if commit.Before(w.begun) {
		commit = w.begun
	}
	return w.waits() > 0 && now.Sub(commit) > limit+w.config.TriggerEvery
}

// quiet tells whether nothing arrived in the whole window and nothing waits.
func (w *Watch) quiet(now time.Time) bool {
	if w.running != nil || w.waits() > 0 {
		return false
	}
	if w.unit == noUnit {
		return now.Sub(w.begun) > w.window() && now.Sub(w.commitAt) > w.window()
	}
	arrived := w.arrived.within(now, w.window())
	return len(arrived) > 0 && now.Sub(w.first) > w.window() &&
		arrived[len(arrived)-1].value == arrived[0].value
}

// Score orders states by how much they need a person: 100 is the worst.
func score(state State, s *Signals, objective float64) float64 {
	switch state {
	case Failed:
		return 100
	case Stalled:
		return 90
	case Breach:
		return 80
	case Behind:
		share := 1.0
		if objective > 0 && Known(s.BacklogSeconds) {
			share = min(1, s.BacklogSeconds/objective)
		}
		return 60 + 20*share
	case Lagging:
		return 50
	case CatchingUp:
		return 40
	case Restarting:
		return 30
	case Starting:
		return 15
	case Healthy:
		if !Known(s.Busy) {
			return 5
		}
		return 10 * min(1, s.Busy)
	case Idle:
		return 5
	default:
		return 0
	}
}
