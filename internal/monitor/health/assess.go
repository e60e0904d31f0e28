package health

import (
	"fmt"
	"math"
	"time"
)

// An Assessment is what is to say about a query at one instant.
type Assessment struct {
	Signals
	State State
	Since time.Time
	Score float64 // how much it needs a person, 100 the most
	Cause
	InFlight *InFlight // nil between batches
	// Rested says that the run has ended and its sources are asked still: arrivals and
	// backlog are those of now.
	Rested bool
}

// Assess judges the query. It is called about once a second.
func (w *Watch) Assess(now time.Time) Assessment {
	w.told(now)
	w.spend()
	s := w.Signals(now)
	state := w.judge(&s, now)
	if state != w.verdict.shown {
		w.verdict.shown, w.verdict.shownSince = state, now
		if state == Behind {
			w.verdict.shownSince = w.verdict.since
		}
	}
	if state != Healthy {
		s.Floor = unknown()
	}
	if state == Stalled { // what it could take does not show while it stands still
		s.Busy, s.Headroom = unknown(), unknown()
	}
	a := Assessment{
		Signals: s, State: state, Since: w.verdict.shownSince,
		Score: score(state, &s, w.config.Objective.Seconds()),
	}
	if w.running != nil {
		running := *w.running
		a.InFlight = &running
	}
	a.Rested = w.ended != "" && w.reading.At.After(w.endedAt)
	w.explain(&a, now)
	return a
}

// explain puts the verdict into sentences.
func (w *Watch) explain(a *Assessment, now time.Time) {
	switch a.State {
	case Failed:
		w.explainFailure(a)
		w.explainWaiting(a)
	case Stopped:
		a.Sentence = "Stopped."
		if w.config.Bounded {
			a.Sentence, a.Reason = "Finished: everything that was there is committed.", "Ran to its end"
		}
		w.explainWaiting(a)
	case Stalled:
		w.explainStall(a, now)
	case Idle:
		a.Sentence = "Idle: nothing arrives and nothing waits."
		if !w.commitAt.IsZero() {
			a.Sentence = "Idle: nothing was read for " + Span(now.Sub(w.commitAt).Seconds()) + "."
		}
		a.Why = append(a.Why, "The source has no unread rows. This is not an error.")
	case Starting:
		w.explainStart(a, now)
	case Healthy:
		w.explainHealthy(a)
	default:
		if a.State == Lagging && w.verdict.state == Healthy {
			w.explainStuck(a)
			return
		}
		w.explainLag(a, now)
	}
}

// explainWaiting says what waits in the sources of a query that has ended.
func (w *Watch) explainWaiting(a *Assessment) {
	if !a.Rested {
		return
	}
	unread, text := w.unread(), ""
	switch {
	case unread.Rows > 0:
		text = Figure(unread.Rows) + nbsp + "rows wait"
	case unread.Files == 1:
		text = "A file waits"
	case unread.Files > 0:
		text = Figure(unread.Files) + nbsp + "files wait"
	case unread.Bytes > 0:
		text = Figure(unread.Bytes) + nbsp + "bytes wait"
	default:
		return
	}
	text += " in its sources"
	if !w.commitAt.IsZero() {
		text += "; nothing was read for " + Span(a.At.Sub(w.commitAt).Seconds())
	}
	a.Why = append(a.Why, text+".")
}

// explainStuck is for a query that reads in time and whose watermark stands still.
func (w *Watch) explainStuck(a *Assessment) {
	a.Sentence = "Reads in time, but its watermark has not moved for " + Span(a.WatermarkStuck) + "."
	a.Reason = "Watermark stuck: windows do not close"
	a.Why = append(a.Why, "Rows come, and none bears a later time than those before"+
		" (or one of several sources does not): windows stay open, and state grows.")
	a.Todo = append(a.Todo, "Look at the times that rows bear, and for a source that sends nothing.")
	a.EtaWord = "Not moving"
}

// explainStart is for a query of which little is known, and says that.
func (w *Watch) explainStart(a *Assessment, now time.Time) {
	a.Sentence = "Started " + Span(now.Sub(w.begun).Seconds()) + " ago: too early to judge."
	a.Reason = "Too early to judge"
	switch {
	case a.BacklogSeconds == 0 && len(w.batches) == 0:
		a.Why = append(a.Why, "No rows have come yet.")
	case a.short() && a.BacklogSeconds > w.leastLag().Seconds()/2:
		rates := fmt.Sprintf("%s of %s rows/s so far", Figure(a.PacePerSecond), Figure(a.ArrivalRowsPerSecond))
		a.Reason = "Too early to judge: " + rates
		a.Why = append(a.Why, "It works off "+rates+"; the oldest unread row waits for "+Span(a.BacklogSeconds)+".")
	case len(w.batches) == 0:
		a.Why = append(a.Why, "No batch is committed yet.")
	case a.BacklogSeconds > w.leastLag().Seconds():
		a.Why = append(a.Why, "The oldest unread row waits for "+Span(a.BacklogSeconds)+".")
	}
}

func (w *Watch) explainHealthy(a *Assessment) {
	late := a.BacklogSeconds > w.leastLag().Seconds()
	switch {
	case w.config.Bounded:
		a.Sentence, a.Reason = "Running to its end.", "Takes what was there when it started"
		return
	case late && !w.verdict.growing.IsZero():
		a.Sentence = "Unread rows are " + Span(a.BacklogSeconds) + " old and getting older: too early to say" +
			" whether that lasts."
		a.Reason = "Unread rows get older"
		return
	case late:
		a.Sentence = "Unread rows are " + Span(a.BacklogSeconds) + " old: too early to say whether that lasts."
		a.Reason = "Unread rows wait"
		return
	case w.unit == noUnit:
		a.Sentence = "Runs. Its sources do not tell how much waits."
	default:
		a.Sentence = "Keeping up."
	}
	w.explainRoom(a)
	if objective := w.config.Objective.Seconds(); objective > 0 && Known(a.DeliveryP95) {
		a.Why = append(a.Why, fmt.Sprintf("Freshness p95 is %s; the objective is %s.",
			Span(a.DeliveryP95), Span(objective)))
	}
}

// explainRoom says how much more a healthy query could take.
func (w *Watch) explainRoom(a *Assessment) {
	switch {
	case a.InBatches < leastShare:
		a.Reason = "Batches run less than " + Percent(leastShare) + " of the time"
		return
	case !Known(a.Headroom):
		return
	}
	a.Reason = "Can take " + times(a.Headroom) + " this rate"
	if w.config.TriggerEvery > 0 {
		a.Why = append(a.Why, fmt.Sprintf("It can take %s this rate: a batch needs %s of the %s between triggers.",
			times(a.Headroom), Span(a.BatchSeconds), Span(w.config.TriggerEvery.Seconds())))
	} else {
		a.Why = append(a.Why, fmt.Sprintf("It can take %s this rate: %s of its time depends on rows.",
			times(a.Headroom), Percent(a.Busy)))
	}
}

func (w *Watch) explainStall(a *Assessment, now time.Time) {
	silent := w.begun
	if w.commitAt.After(silent) {
		silent = w.commitAt
	}
	a.Sentence = "No commit for " + Span(now.Sub(silent).Seconds()) + "; no batch runs though rows wait."
	a.Reason = "No batch starts"
	a.EtaWord = "Not moving"
	f := w.running
	if f == nil {
		return
	}
	id := batchNumber(f.ID)
	a.Sentence = "No commit for " + Span(now.Sub(silent).Seconds()) + "; the running batch does not move."
	a.Reason = "Batch" + nbsp + id + " does not move in " + f.Phase.String()
	a.Why = append(a.Why, fmt.Sprintf("Batch%s%s last moved %s ago, in %s, with %s rows read.",
		nbsp, id, Span(now.Sub(f.MovedAt).Seconds()), f.Phase, Figure(f.ReadRows)))
	if f.WaitsFor != "" {
		a.Reason = "Batch" + nbsp + id + " waits for " + f.WaitsFor
	}
	a.Todo = append(a.Todo, "Stopping is safe: the batch is not committed and will run again.")
}

// explainLag is for the states in which rows are late.
func (w *Watch) explainLag(a *Assessment, now time.Time) {
	late := Span(a.BacklogSeconds)
	since := w.onset(a)
	a.Reason, a.Why, a.Todo = w.findCause(&a.Signals, since)
	switch a.State {
	case Breach:
		a.Sentence = fmt.Sprintf("Unread rows are %s old; the objective is %s.",
			late, Span(w.config.Objective.Seconds()))
		a.EtaWord, a.EtaText = w.eta(a, now)
	case Behind:
		a.Sentence = "Falling behind by " + Span(60*a.Short) + " every minute."
		if !(a.Short > 0) {
			a.Sentence = late + " behind."
		}
		a.EtaWord, a.EtaText = w.eta(a, now)
	case Lagging:
		a.Sentence = "Steady, but always " + late + " late."
		a.EtaWord = "Not shrinking"
	case CatchingUp:
		a.Sentence = "Catching up, " + late + " behind."
		if Known(a.DrainPerSecond) {
			a.Why = append(a.Why, fmt.Sprintf("It drains %s rows/s while %s rows/s arrive.",
				Figure(a.DrainPerSecond), Figure(a.arrivalNow)))
		}
		a.EtaWord, a.EtaText = w.eta(a, now)
	}
	switch {
	case a.Reason != "":
	case a.Short > noticeable && Known(a.ArrivalRowsPerSecond):
		a.Reason = fmt.Sprintf("Works off %s of %s rows/s", Figure((1-a.Short)*a.ArrivalRowsPerSecond),
			Figure(a.ArrivalRowsPerSecond))
	default:
		a.Reason = late + " behind"
	}
	if Known(a.UntilLoss) {
		a.Why = append(a.Why, "The source deletes the first unread rows in about "+Span(a.UntilLoss)+
			" if nothing changes.")
	}
}

// onset is about when the trouble began: before it could be said.
func (w *Watch) onset(a *Assessment) time.Time {
	since := w.verdict.since
	switch {
	case a.State == Behind:
		return since
	case a.State == Breach || w.verdict.state == Healthy:
		since = a.Since
	}
	return since.Add(-min(time.Duration(a.BacklogSeconds*float64(time.Second)), 3*time.Minute))
}

// eta says when it is over.
func (w *Watch) eta(a *Assessment, now time.Time) (word, text string) {
	switch {
	case Known(a.CatchUpLow) && (a.Growth < 0 || a.State == CatchingUp):
		middle := time.Duration(a.CatchUpLow * float64(time.Second))
		if Known(a.CatchUpHigh) && a.CatchUpHigh < math.MaxInt32 {
			middle = time.Duration((a.CatchUpLow + a.CatchUpHigh) / 2 * float64(time.Second))
		}
		return "Over in " + between(a.CatchUpLow, a.CatchUpHigh), "About " + clock(now.Add(middle)) + "."
	case a.Short > noticeable:
		text = "Short by " + Percent(a.Short) + "."
		objective := w.config.Objective.Seconds()
		if left := (objective - a.BacklogSeconds) / a.Short; objective > 0 && left > 0 && left < 7*86400 {
			at := now.Add(time.Duration(left * float64(time.Second)))
			text += " Will miss its objective of " + Span(objective) + " at " + clock(at) + " if nothing changes."
		}
		return "Not catching up", text
	case a.State == CatchingUp:
		return "Catching up", "Too early to say when that is over."
	default:
		return "Steady", "Late by a constant amount."
	}
}
