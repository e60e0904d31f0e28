package health

import (
	"fmt"
	"slices"
	"time"
)

// A Cause says why a query does as it does. Its texts are sentences for people.
type Cause struct {
	Sentence string   // the verdict
	Reason   string   // in a few words, for a table; "" when there is nothing to say
	Why      []string // what makes it so
	Todo     []string // what would help
	EtaWord  string   // when it is over, "" when nothing has to end
	EtaText  string
}

// A rule recognises one cause; "" is none.
type rule func(*Watch, *Signals, time.Time) (reason, why, todo string)

// rules are asked in this order; the first that answers is the cause.
var rules = [...]rule{overdueRule, cappedRule, slowerRule, surgeRule, skewRule, mostRule}

// findCause asks the rules.
func (w *Watch) findCause(s *Signals, since time.Time) (reason string, why, todo []string) {
	for _, r := range rules {
		reason, because, help := r(w, s, since)
		if reason == "" {
			continue
		}
		if help != "" {
			todo = append(todo, help)
		}
		return reason, []string{because}, todo
	}
	return "", nil, nil
}

// overdueRule: the running batch, which is not over yet.
func overdueRule(w *Watch, s *Signals, _ time.Time) (reason, why, todo string) {
	if !w.overdue(s, s.At) || len(w.batches) < provenBatches { // of a few nothing is usual
		return "", "", ""
	}
	f, took := w.running, Span(s.At.Sub(w.running.Start).Seconds())
	id, usual := nbsp+batchNumber(f.ID), Span(s.BatchSeconds)
	reason = fmt.Sprintf("Batch%s runs for %s, usually %s", id, took, usual)
	why = fmt.Sprintf("Batch%s has run for %s and is in %s with %s rows read; others took %s, at most %s.",
		id, took, f.Phase, Figure(f.ReadRows), usual, Span(s.BatchAtWorst))
	return reason, why, ""
}

// idleShare is the share of its time below which the engine is not what limits.
const idleShare = 0.7

// cappedRule: the limit of a batch and not the engine.
func cappedRule(w *Watch, s *Signals, _ time.Time) (reason, why, todo string) {
	busy := s.engineBusy
	if !Known(busy) {
		busy = s.InBatches
	}
	if !s.Capped || !(busy < idleShare || w.config.TriggerEvery == 0 && s.Growth > noticeable) {
		return "", "", ""
	}
	name := w.config.CapName
	if name == "" {
		name = "the read limit"
	}
	why = fmt.Sprintf("Every recent batch took exactly its cap of %s rows, which is %s rows/s,"+
		" while %s rows/s arrive.", Figure(s.CapRows), Figure(s.DrainPerSecond), Figure(s.ArrivalRowsPerSecond))
	todo = fmt.Sprintf("Raise %s and restart.", name)
	if busy < idleShare {
		why = fmt.Sprintf("%s The engine is not the limit: batches run %s of the time.", why, Percent(busy))
		most := s.CapRows / max(busy, 0.01)
		todo = fmt.Sprintf("Raise %s and restart: a batch takes %s rows now, and %s would still fit.",
			name, Figure(s.CapRows), Figure(most*0.9))
	}
	return "Read cap is the limit, not the engine", why, todo
}

// phaseWords are what a slow phase is called and what may be looked at.
var phaseWords = [PhaseCount]struct{ name, todo string }{
	LatestOffset:  {"Asking the source", "Look at the source: it answers slower than usual."},
	QueryPlanning: {"Planning", ""},
	Read:          {"Reading a row", "Look at the source and the way to it."},
	Compute:       {"Compute time per row", ""},
	StateCommit:   {"State commit", "Look at the disk below the checkpoint."},
	SinkWrite:     {"Writing to the sink", "Look at the sink and the way to it."},
	LogCommit:     {"Writing the checkpoint's logs", "Look at the disk below the checkpoint."},
}

// slowerRule: a phase takes longer than it would at the usual cost.
func slowerRule(w *Watch, _ *Signals, since time.Time) (reason, why, todo string) {
	now, usual, ok := w.compare(since)
	if !ok {
		return "", "", ""
	}
	wanted := expected(&now, &usual)
	top, excess := Phase(0), 0.0
	for p := range now.phases {
		if more := now.phases[p] - wanted[p]; more > excess {
			top, excess = Phase(p), more
		}
	}
	if excess < 0.2*now.seconds || now.phases[top] < 1.3*wanted[top] {
		return "", "", ""
	}
	words := phaseWords[top]
	before, after := wanted[top]/now.batches, now.phases[top]/now.batches
	reason = fmt.Sprintf("%s %s → %s since %s", words.name, Span(before), Span(after), clock(since))
	why = fmt.Sprintf("%s takes %s a batch instead of %s since about %s;"+
		" that is %s of what batches take longer.",
		words.name, Span(after), Span(before), clock(since), Percent(w.shareOfExcess(&now, wanted, excess)))
	if top == Compute {
		ratio := now.phases[top] / max(wanted[top], 1e-9)
		reason = fmt.Sprintf("%s rose %s at %s", words.name, times(ratio), clock(since))
		why = fmt.Sprintf("%s is %s what it was before %s.", words.name, times(ratio), clock(since))
		if name, share := slowestOperator(&now, &usual); name != "" {
			why += fmt.Sprintf(" The operator %s accounts for %s of the increase.", name, Percent(share))
		}
	}
	return reason, why, words.todo
}

func (w *Watch) shareOfExcess(now *minute, wanted [PhaseCount]float64, excess float64) float64 {
	sum := 0.0
	for p := range now.phases {
		sum += max(0, now.phases[p]-wanted[p])
	}
	return excess / sum
}

// slowestOperator is the one that took most of the time beyond the usual.
func slowestOperator(now, usual *minute) (name string, share float64) {
	byRows := now.rows / max(usual.rows, 1)
	names := make([]string, 0, len(now.operators))
	for n := range now.operators {
		names = append(names, n)
	}
	slices.Sort(names)
	most, sum := 0.0, 0.0
	for _, n := range names {
		more := max(0, now.operators[n]-usual.operators[n]*byRows)
		sum += more
		if more > most {
			name, most = n, more
		}
	}
	return name, most / sum
}

// surgeRule: more arrives and a row costs what it did.
func surgeRule(w *Watch, s *Signals, since time.Time) (reason, why, todo string) {
	_, usual, ok := w.compare(since)
	if !ok || !(s.ArrivalPerSecond > 1.2*usual.arrived) {
		return "", "", ""
	}
	rise := Percent(s.ArrivalPerSecond/usual.arrived - 1)
	return "Arrivals rose " + rise,
		fmt.Sprintf("%s rows/s arrive instead of %s; a row costs what it did.",
			Figure(s.ArrivalRowsPerSecond), Figure(usual.arrived*w.rowsPerUnit())), ""
}

// mostShare is the share of a batch from which on a part of it is what limits.
const mostShare = 0.5

// operatorWords say what may be done about an operator that takes most of the time.
var operatorWords = map[string]string{
	"Python function": "Do less for each row: a pandas_udf works on whole columns at once," +
		" and a filter before it spares it rows.",
	"Stateful processor": "Do less for each group, and keep less in its state.",
	"Sink":               "Look at the sink and the way to it, and at what a foreachBatch does.",
	"Source":             "Look at the source and the way to it.",
}

// mostRule: a part of the batch that takes most of its time, of a query that never was
// faster.
func mostRule(w *Watch, s *Signals, _ time.Time) (reason, why, todo string) {
	if !(s.InBatches > fullShare) { // there is time left: it is not what limits
		return "", "", ""
	}
	rates := ""
	if s.short() {
		rates = fmt.Sprintf("%s of %s rows/s", Figure(s.PacePerSecond), Figure(s.ArrivalRowsPerSecond))
	}
	name, share := w.most()
	if !(share >= mostShare) {
		if rates == "" {
			return "", "", ""
		}
		return "Too slow: " + rates, "It works off " + rates + " that arrive.", ""
	}
	reason = name + " takes " + Percent(share) + " of the batch"
	why = fmt.Sprintf("%s took %s of the time of the last batch.", name, Percent(share))
	if rates != "" {
		reason += ": " + rates
		why += " So the query works off " + rates + " that arrive."
	}
	return reason, why, operatorWords[name]
}

// most is the operator that took most of the last batch, and the share that it took.
func (w *Watch) most() (name string, share float64) {
	recent := w.recent(1)
	if len(recent) == 0 {
		return "", unknown()
	}
	seconds := 0.0
	for _, o := range recent[0].Operators {
		if o.Seconds > seconds {
			name, seconds = o.Name, o.Seconds
		}
	}
	return name, min(1, seconds/positive(recent[0].seconds()))
}

// skewed is the factor of the slowest partition over the median that is skew.
const skewed = 3

// skewRule: one partition holds the others up.
func skewRule(w *Watch, _ *Signals, _ time.Time) (reason, why, todo string) {
	recent := w.recent(1)
	if len(recent) == 0 {
		return "", "", ""
	}
	for _, o := range recent[0].Operators {
		ratio, worst := Skew(o.Partitions)
		if ratio > skewed && o.Seconds > 0.2*recent[0].seconds() {
			return fmt.Sprintf("Skew %s in %s", times(ratio), o.Name),
				fmt.Sprintf("Partition %d of %s takes %s what the median does.", worst, o.Name, times(ratio)), ""
		}
	}
	return "", "", ""
}

// Skew is how much longer the slowest partition takes than the median, and which
// it is; unknown for less than two.
func Skew(partitions []float64) (ratio float64, worst int) {
	if len(partitions) < 2 {
		return unknown(), -1
	}
	for i, seconds := range partitions {
		if seconds > partitions[max(worst, 0)] {
			worst = i
		}
	}
	return partitions[worst] / positive(median(slices.Clone(partitions))), worst
}
