package ui

import (
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	nbsp       = "\u00a0" // between a figure and its unit
	thousands  = "\u202f"
	unknownFig = "–"
)

// kind is what a number counts, which decides its units.
type kind uint8

const (
	inRows kind = iota
	inBytes
	inMs
)

// at is the instant in Unix milliseconds, unknown for the zero time.
func (t instant) at() number {
	if time.Time(t).IsZero() {
		return unknown()
	}
	return number(time.Time(t).UnixMilli())
}

func (t instant) text(layout string) string { return time.Time(t).UTC().Format(layout) }

// since is how long ago an instant was, in milliseconds.
func (t instant) since(now instant) number { return now.at() - t.at() }

func half(x float64) float64 { return math.Floor(x + 0.5) }

// fixed writes a number with so many digits behind the point, as words.js does.
func fixed(x float64, digits int) string {
	pow := math.Pow10(digits)
	return strconv.FormatFloat(half(float64(x*pow))/pow, 'f', digits, 64)
}

// parts is a number in figures of at most three digits, and its unit.
func parts(n number, k kind) (figure, unit string) {
	x := float64(n)
	if math.IsNaN(x) {
		return unknownFig, ""
	}
	if k == inMs {
		return spell(math.Max(0, x))
	}
	names := []string{"", "k", "M", "G", "T"}
	if k == inBytes {
		names = []string{"B", "kB", "MB", "GB", "TB"}
	}
	i := 0
	for ; math.Abs(x) >= 999.5 && i < len(names)-1; i++ {
		x /= 1000
	}
	switch a := math.Abs(x); {
	case a == 0:
	case a < 0.095 && k != inBytes:
		return fixed(x, 2), names[i]
	case i > 0 && a < 99.95, i == 0 && a < 9.95 && k != inBytes:
		return brief(x), names[i]
	}
	return fixed(x, 0), names[i]
}

// spell is a time in its largest fitting unit.
func spell(x float64) (figure, unit string) {
	s := x / 1000
	switch {
	case x == 0:
		return "0", "s"
	case x < 0.095:
		return fixed(x, 2), "ms"
	case x < 9.95:
		return brief(x), "ms"
	case x < 999.5:
		return fixed(x, 0), "ms"
	case s < 9.95:
		return brief(s), "s"
	case s < 59.5:
		return fixed(s, 0), "s"
	case s < 597:
		return brief(s / 60), "min"
	case s < 3570:
		return fixed(s/60, 0), "min"
	case s < 35820:
		return brief(s / 3600), "h"
	case s < 172800:
		return fixed(s/3600, 0), "h"
	default:
		return fixed(s/86400, 0), "d"
	}
}

// brief has one digit behind the point, if that is not 0.
func brief(x float64) string { return strings.TrimSuffix(fixed(x, 1), ".0") }

func join(figure, unit string) string {
	if unit == "" {
		return figure
	}
	return figure + nbsp + unit
}

func shortSpan(n number) string  { return join(parts(n, inMs)) }
func sizeFigure(n number) string { return join(parts(n, inBytes)) }
func rowFigure(n number) string  { return join(parts(n, inRows)) }

// whole writes an integer with a thin space by thousands.
func whole(n number) string {
	x := float64(n)
	if math.IsNaN(x) {
		return unknownFig
	}
	text := fixed(x, 0)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + thousands + text[i:]
	}
	return text
}

// span writes a time as sentences do: 6 min 12 s.
func span(n number) string {
	x := float64(n)
	if math.IsNaN(x) {
		return unknownFig
	}
	s := int64(half(math.Max(0, x) / 1000))
	switch {
	case s < 60:
		return shortSpan(n)
	case s < 3600:
		return two(s/60, "min", s%60, "s")
	case s < 86400:
		return two(s/3600, "h", s/60%60, "min")
	default:
		return two(s/86400, "d", s/3600%24, "h")
	}
}

func two(a int64, unitA string, b int64, unitB string) string {
	text := join(strconv.FormatInt(a, 10), unitA)
	if b > 0 {
		text += " " + join(strconv.FormatInt(b, 10), unitB)
	}
	return text
}

func percent(n number) string {
	x := float64(n)
	if math.IsNaN(x) {
		return unknownFig
	}
	return join(fixed(x*100, 0), "%")
}

func times(n number) string {
	x := float64(n)
	switch {
	case math.IsNaN(x):
		return unknownFig
	case x >= 10:
		return fixed(x, 0) + "×"
	default:
		return fixed(x, 1) + "×"
	}
}

// between writes a range of times: 3–5 min.
func between(low, high number) string {
	if !isKnown(high) {
		return "over " + shortSpan(low)
	}
	a, unitA := wholeMinutes(parts(low, inMs))
	b, unitB := wholeMinutes(parts(high, inMs))
	switch {
	case unitA != unitB:
		return join(a, unitA) + " – " + join(b, unitB)
	case a == b:
		return join(a, unitA)
	default:
		return a + "–" + join(b, unitB)
	}
}

func wholeMinutes(figure, unit string) (string, string) {
	if x, err := strconv.ParseFloat(figure, 64); err == nil && unit == "min" {
		figure = fixed(x, 0)
	}
	return figure, unit
}

// perSecond is a rate in figures with its unit.
func perSecond(n number) (figure, unit string) {
	figure, unit = parts(n, inRows)
	switch {
	case figure == unknownFig:
		return figure, ""
	case unit == "":
		return figure, "rows/s"
	default:
		return figure, unit + " rows/s"
	}
}
