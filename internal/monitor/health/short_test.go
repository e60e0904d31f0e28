package health

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// agrees holds the figures of one assessment against each other.
func agrees(t *testing.T, what string, a *Assessment) {
	t.Helper()
	if Known(a.Headroom) && math.Abs(a.Busy*a.Headroom-1) > 1e-6 {
		t.Errorf("%s: busy %v of what it can take, headroom %v", what, a.Busy, a.Headroom)
	}
	if Known(a.Short) && Known(a.Headroom) && math.Abs(a.Short-(1-a.Headroom)) > 1e-6 {
		t.Errorf("%s: short by %v, headroom %v", what, a.Short, a.Headroom)
	}
	said := "Short by " + Percent(a.Short) + "."
	if strings.HasPrefix(a.EtaText, "Short by") && !strings.HasPrefix(a.EtaText, said) {
		t.Errorf("%s: %q, short by %v", what, a.EtaText, a.Short)
	}
	if strings.HasPrefix(a.Sentence, "Falling") && !strings.Contains(a.Sentence, Span(60*a.Short)) {
		t.Errorf("%s: %q, short by %v", what, a.Sentence, a.Short)
	}
	if m := ofRows.FindStringSubmatch(strings.ReplaceAll(a.Reason, nbsp, "")); m != nil && Known(a.Short) {
		took, came := figureOf(m[1]), figureOf(m[2])
		if math.Abs(1-took/came-a.Short) > 0.02 {
			t.Errorf("%s: %q, short by %v", what, a.Reason, a.Short)
		}
	}
}

var ofRows = regexp.MustCompile(`([\d.]+k?) of ([\d.]+k?) rows/s`)

func figureOf(text string) float64 {
	digits, kilo := strings.CutSuffix(text, "k")
	x, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		panic(err)
	}
	if kilo {
		x *= 1000
	}
	return x
}

// What is said of a query that is too slow is the same everywhere: rates, headroom, busy,
// and by how much it is short.
func TestFiguresOfAnAssessmentAgree(t *testing.T) {
	for name, s := range map[string]simulation{
		"half as fast as rows come, endless": {load: 2.09, sigma: 0.02, objective: 5 * time.Second},
		"the same, read ahead":               {load: 2.09, sigma: 0.02, objective: 5 * time.Second, ahead: true},
		"the same, without an objective":     {load: 2.09, sigma: 0.02},
		"by an interval":                     {load: 1.6, sigma: 0.1, trigger: 10 * time.Second},
		"by a cap":                           {load: 0.4, sigma: 0.1, trigger: 10 * time.Second, cap: 7000},
		"a little too slow, capped":          {load: 1.2, sigma: 0.05, cap: 5000},
	} {
		t.Run(name, func(t *testing.T) {
			late := 0
			s.play(1, func(second float64, a *Assessment) {
				if t.Failed() || a.State != Behind && a.State != Breach {
					return
				}
				late++
				agrees(t, fmt.Sprintf("after %v s, %s", second, a.State), a)
				if second > 600 && math.Abs(a.Short-s.short()) > 0.05 {
					t.Errorf("after %v s short by %v, truly by %v", second, a.Short, s.short())
				}
			})
			if late < 600 {
				t.Errorf("it was late for %d s", late)
			}
		})
	}
}

// short is the share of what arrives that the simulation does not work off.
func (s simulation) short() float64 {
	if t := s.trigger.Seconds(); t > 0 && s.cap > 0 {
		return 1 - s.cap/(simRate*t)
	}
	if s.cap > 0 {
		return 1 - s.cap/((simFixed+s.load/simRate*s.cap)*simRate)
	}
	return 1 - 1/s.load
}

// A backlog that stands, because a cap lets exactly what arrives through, is late and not
// well, however much of its time the engine has left.
func TestAStandingBacklogIsNotHealthy(t *testing.T) {
	for _, mode := range []simMode{withTimes, withoutTimes} {
		s := simulation{trigger: time.Second, load: 0.35, sigma: 0.1, cap: simRate, waiting: 44 * simRate,
			mode: mode}
		changes := s.play(1, func(second float64, a *Assessment) {
			if a.State == Healthy {
				t.Fatalf("after %v s %v s late and %s: %s %s", second, a.BacklogSeconds, a.State, a.Sentence, a.Reason)
			}
			if second < 420 {
				return
			}
			if a.State != Lagging || a.Reason != "Read cap is the limit, not the engine" || len(a.Todo) == 0 {
				t.Fatalf("after %v s %s, %q, %q", second, a.State, a.Reason, a.Todo)
			}
			if !(a.Headroom < 1.1) || !(a.Busy > 0.9) {
				t.Fatalf("after %v s it can take %v of what arrives", second, a.Headroom)
			}
		})
		if last := changes[len(changes)-1]; last.state != Lagging || last.second > 420 {
			t.Errorf("%v", changes)
		}
	}
}

// The same where the backlog comes in the middle of a healthy life, in less time than it
// takes to be sure that it grows; with an objective that allows it, it is well.
func TestABacklogThatStaysIsNoticed(t *testing.T) {
	for objective, want := range map[time.Duration]State{0: Lagging, time.Minute: Healthy} {
		s := simulation{trigger: time.Second, load: 0.35, sigma: 0.1, cap: simRate, factor: burst(600, 20, 3),
			objective: objective}
		changes := s.play(1, func(second float64, a *Assessment) {
			if a.State == Healthy && a.BacklogSeconds > 30 && objective == 0 &&
				strings.HasPrefix(a.Sentence, "Keeping up") {
				t.Fatalf("after %v s %v s late: %s %s", second, a.BacklogSeconds, a.Sentence, a.Reason)
			}
		})
		if last := changes[len(changes)-1]; last.state != want || last.second > 600+360 {
			t.Errorf("objective %v: %v", objective, changes)
		}
	}
}
