package health

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A number and its unit stay on one line.
const nbsp = "\u00a0"

// Figure writes a number in at most three digits, as the pages do: 12.1 k.
func Figure(x float64) string {
	if !Known(x) || math.IsInf(x, 0) {
		return "–"
	}
	units := [...]string{"", nbsp + "k", nbsp + "M", nbsp + "G", nbsp + "T"}
	i := 0
	for ; math.Abs(x) >= 999.5 && i < len(units)-1; i++ {
		x /= 1000
	}
	if i == 0 {
		return digits(x)
	}
	places := 0
	if math.Abs(x) < 99.95 {
		places = 1
	}
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', places, 64), ".0") + units[i]
}

// digits writes three significant digits, without zeros behind the point.
func digits(x float64) string {
	places := 0
	switch a := math.Abs(x); {
	case a == 0 || a >= 100:
	case a >= 10:
		places = 1
	default:
		places = 2
	}
	text := strconv.FormatFloat(x, 'f', places, 64)
	if places > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// Span writes a time as sentences do: 3 min 38 s.
func Span(seconds float64) string {
	if !Known(seconds) || math.IsInf(seconds, 0) {
		return "–"
	}
	switch {
	case math.Round(seconds*1000) < 1000:
		return digits(math.Round(seconds*1000)) + nbsp + "ms"
	case seconds < 10:
		return digits(math.Round(seconds*10)/10) + nbsp + "s"
	case seconds < 60:
		return digits(math.Round(seconds)) + nbsp + "s"
	}
	type part struct {
		seconds int64
		word    string
	}
	units := []part{{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}}
	whole := int64(math.Round(seconds))
	for i, u := range units {
		if whole < u.seconds {
			continue
		}
		text := fmt.Sprintf("%d%s%s", whole/u.seconds, nbsp, u.word)
		if i+1 < len(units) {
			if rest := whole % u.seconds / units[i+1].seconds; rest > 0 {
				text += fmt.Sprintf(" %d%s%s", rest, nbsp, units[i+1].word)
			}
		}
		return text
	}
	return "0" + nbsp + "s"
}

// Percent writes a share.
func Percent(share float64) string {
	if !Known(share) {
		return "–"
	}
	return strconv.FormatFloat(math.Round(share*100), 'f', 0, 64) + nbsp + "%"
}

// times writes a factor: 2.6×.
func times(x float64) string {
	if x >= 10 {
		return strconv.FormatFloat(x, 'f', 0, 64) + "×"
	}
	return strconv.FormatFloat(x, 'f', 1, 64) + "×"
}

// between writes a range of times in one unit: 3–5 min.
func between(low, high float64) string {
	if !Known(high) || math.IsInf(high, 0) {
		return "more than" + nbsp + Span(low)
	}
	unit, word := 1.0, "s"
	switch {
	case high >= 2*86400:
		unit, word = 86400, "d"
	case high >= 2*3600:
		unit, word = 3600, "h"
	case high >= 120:
		unit, word = 60, "min"
	}
	a, b := math.Round(low/unit), math.Ceil(high/unit)
	if a >= b || a == 0 {
		return digits(max(b, 1)) + nbsp + word
	}
	return digits(a) + "–" + digits(b) + nbsp + word
}

// clock writes a time of day.
func clock(t time.Time) string { return t.UTC().Format("15:04") + nbsp + "UTC" }

// batchNumber writes a batch's id with a thin space by thousands.
func batchNumber(id int64) string {
	text := strconv.FormatInt(id, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "\u202f" + text[i:]
	}
	return text
}

// Stop ends a text as a sentence ends, once.
func Stop(text string) string {
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".!?") || strings.HasSuffix(text, "…") {
		return text
	}
	return text + "."
}

// Say puts a reason behind a sentence that does not say it already.
func Say(sentence, reason string) string {
	if strings.Contains(strings.ToLower(sentence), strings.ToLower(strings.TrimRight(reason, "."))) {
		return sentence
	}
	return strings.TrimSpace(sentence + " " + Stop(reason))
}

// Plain is a text for where lines are not set: its spaces are ordinary ones.
func Plain(text string) string {
	return strings.NewReplacer(nbsp, " ", "\u202f", " ").Replace(text)
}
