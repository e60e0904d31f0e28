package alert

import (
	"math"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/monitor/health"
)

// known are facts with these numbers; everything else is unknown.
func known(state health.State, backlogSeconds, dropped float64) *facts {
	nan := math.NaN()
	f := &facts{}
	f.health.State = state
	f.health.BacklogSeconds, f.health.DroppedRatio = backlogSeconds, dropped
	f.health.Backlog = health.Unmeasured()
	f.health.UntilStateLimit, f.health.StateBytes, f.health.Busy = nan, nan, nan
	f.snapshot.Name = "orders eu"
	return f
}

func TestConditionsAreTrueFalseOrNotKnown(t *testing.T) {
	f := known(health.Behind, 150, 0.02)
	for text, want := range map[string]truth{
		"state = behind":                     yes,
		"state=behind":                       yes,
		"state != behind":                    no,
		"state = 'fail*'":                    no,
		"state = be*d":                       yes,
		"name = 'orders eu'":                 yes,
		"name = orders*":                     yes,
		"name = *eu":                         yes,
		"name = *x*":                         no,
		"backlogMs > 2 min":                  yes,
		"backlogMs>2min":                     yes,
		"backlogMs >= 150 s":                 yes,
		"backlogMs ≥ 150 s":                  yes,
		"backlogMs < 0.04 h":                 no,
		"backlogMs = 150000":                 yes,
		"droppedRatio > 1 %":                 yes,
		"droppedRatio > 1%":                  yes,
		"droppedRatio > 0.03":                no,
		"backlogRows > 10 k":                 unsure,
		"not backlogRows > 10 k":             unsure,
		"backlogRows > 1 and state = behind": unsure,
		"backlogRows > 1 and state = failed": no,
		"backlogRows > 1 or state = behind":  yes,
		"backlogRows > 1 or state = failed":  unsure,
		"backlogMs > freshnessSloMs":         unsure,
		"state = failed or state = behind and backlogMs > 3 min": no,
		"(state = failed or state = behind) and backlogMs > 2 m": yes,
		"NOT (state = failed) AND state = behind":                yes,
		"stateBytes < 1 GiB": unsure,
	} {
		c, err := parseCondition(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := c.holds(f); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

func TestWrongConditionsSayWhereAndWhat(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "column 1: it ends where there should be a signal",
		"backlogSecs > 2":           "column 1: there is no signal backlogSecs; the nearest is backlogMs",
		"state = beind":             "there is no state beind; the nearest is behind",
		"state > behind":            "state is a text: compare it by = or !=",
		"backlogMs > 2 GB":          "backlogMs is a time: its units are ms, s, min, h or d, not GB",
		"stateBytes > 2 min":        "its units are B, kB, MB",
		"backlogMs > stateBytes":    "backlogMs is a time and stateBytes a size",
		"backlogMs > soon":          "the nearest to soon is",
		"backlogMs 5":               `column 11: "5" stands where there should be a comparison`,
		"backlogMs >":               "column 12: it ends where there should be a number",
		"(backlogMs > 5":            "it ends where there should be a closing parenthesis",
		"backlogMs > 5)":            `column 14: ")" stands where there should be and, or, or the end`,
		"backlogMs > 5 and":         "it ends where there should be a signal",
		"name = 'orders":            "column 8: the quotation mark is not closed",
		"name = orders eu":          `"eu" stands where there should be and, or, or the end`,
		"backlogMs > 1.2.3":         `"1.2.3" is no number`,
		"backlogMs & 5":             "means nothing here",
		"\xff":                      "it is not UTF-8",
		strings.Repeat("not ", 100): "nested deeper than 32 levels",
		strings.Repeat("(", 100):    "nested deeper than 32 levels",
		strings.Repeat("x", 3000):   "longer than 2000 bytes",
		"droppedRatio > 1 %%":       "and, or, or the end",
		"backlogMs > -":             `"-" is no number`,
	} {
		c, err := parseCondition(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v (%v), want %q", text, err, c, want)
		}
	}
}

func FuzzConditions(f *testing.F) {
	for _, r := range shippedRules() {
		f.Add(r.when)
	}
	f.Add("not (name = 'a*b' or backlogRows ≤ 3.5 k) and stateRatio >= 90%")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCondition(text)
		if err != nil {
			return
		}
		facts := known(health.Healthy, 1, 0)
		if (notThat{c}).holds(facts).not() != c.holds(facts) {
			t.Errorf("%q says two things", text)
		}
	})
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"*", "", true}, {"", "", true}, {"", "a", false}, {"a*", "abc", true}, {"*c", "abc", true}, {"a*c",
			"abc", true},
		{"a*b*c", "aXbYc", true}, {"a*b*c", "aXcYb", false}, {"ab*bc", "abc", false}, {"**", "x", true},
	} {
		if got := matches(c.pattern, c.text); got != c.want {
			t.Errorf("%q against %q: %t", c.pattern, c.text, got)
		}
	}
}

func TestSignalsHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range signals {
		if seen[s.name] || s.doc == "" || (s.number == nil) == (s.text == nil) {
			t.Errorf("%s: twice, without a sentence, or neither number nor text", s.name)
		}
		seen[s.name] = true
	}
}
