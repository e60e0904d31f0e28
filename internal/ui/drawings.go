package ui

import (
	"slices"
	"strconv"
	"strings"
)

// The drawings are those of words.js, point for point.

// barWidth is a share from 0 to 1 as the width of a bar of 100.
func barWidth(share number) string {
	x := float64(share)
	if !(x > 0) {
		x = 0
	}
	return fixed(100*min(1, x), 0)
}

// box is the size of a small chart.
type box struct{ w, h float64 }

var (
	sparkBox = box{56, 18}
	pairBox  = box{72, 18}
)

// pathOf is a line through the values, or the area below it; unknown ones are gaps.
func pathOf(values []number, top float64, size box, area bool) string {
	var d strings.Builder
	dx := size.w / float64(len(values)-1)
	start, x, open := "", "", false
	for i := range len(values) + 1 {
		if i == len(values) || !isKnown(values[i]) {
			if open && area {
				h := strconv.FormatFloat(size.h, 'f', -1, 64)
				d.WriteString("L" + x + " " + h + "L" + start + " " + h + "Z")
			}
			open = false
			continue
		}
		x = strings.TrimSuffix(fixed(float64(i)*dx, 1), ".0")
		letter := "L"
		if !open {
			letter, start, open = "M", x, true
		}
		y := size.h - 1 - float64(min(1, float64(values[i])/top)*(size.h-2)) // not fused, as in words.js
		d.WriteString(letter + x + " " + fixed(y, 1))
	}
	return d.String()
}

// sorted are the known values in their order.
func sorted(values ...number) []float64 {
	var out []float64
	for _, v := range values {
		if isKnown(v) {
			out = append(out, float64(v))
		}
	}
	slices.Sort(out)
	return out
}

// topOf is the end of a scale: above nearly all values, so that one spike does not
// flatten the rest.
func topOf(values []float64) float64 {
	if len(values) == 0 {
		return 1
	}
	top := min(values[len(values)-1], 1.5*values[int(float64(len(values))*0.97)]) * 1.08
	if top == 0 {
		return 1
	}
	return top
}

// leastPoints is how many points a small chart has at least: fewer show nothing.
const leastPoints = 10

// pair is what arrives as an area and what is processed as a line, in one scale.
type pair struct{ area, line string }

func newPair(arriving, processed []number) *pair {
	all := sorted(slices.Concat(arriving, processed)...)
	if len(sorted(arriving...)) < leastPoints && len(sorted(processed...)) < leastPoints {
		return nil
	}
	top := topOf(all) * 1.12
	return &pair{pathOf(arriving, top, pairBox, true), pathOf(processed, top, pairBox, false)}
}

// spark is a line, with its limit where that is near.
type spark struct{ line, limit string }

func newSpark(values []number, limit number) *spark {
	known := sorted(values...)
	if len(known) < leastPoints {
		return nil
	}
	s := &spark{}
	top := max(topOf(known), known[len(known)/2]*1.7)
	if l := float64(limit); l > 0 && l < top*2.5 {
		top = max(top, l*1.15)
		s.limit = fixed(17-float64(l/top*16), 1)
	}
	s.line = pathOf(values, top, sparkBox, false)
	return s
}

// tonePath is the part of a strip in one tone.
type tonePath struct{ tone, path string }

// stripOf is the worst state of each half hour of a day.
func stripOf(text string) []tonePath {
	tall := map[string]string{"bad": "0", "warn": "0", "info": "3", "good": "6", "calm": "6"}
	paths := map[string]string{}
	for i, letter := range text {
		if tone := looks[stateOf(letter)].tone; tone != "" {
			paths[tone] += "M" + strconv.Itoa(2*i) + " " + tall[tone] + "h1.5V14h-1.5Z"
		}
	}
	var out []tonePath
	for _, tone := range [...]string{"bad", "warn", "info", "good", "calm"} {
		if paths[tone] != "" {
			out = append(out, tonePath{tone, paths[tone]})
		}
	}
	return out
}

// stripText is the strip in words.
func stripText(text string) string {
	var out []string
	for _, s := range stateOrder {
		if n := strings.Count(text, string(letters[s])); n > 0 {
			out = append(out, looks[s].word+" "+strconv.FormatFloat(float64(n)/2, 'f', -1, 64)+" h")
		}
	}
	return strings.Join(out, ", ")
}

// middle is the upper median of the known values, unknown for none.
func middle(values []number) number {
	known := sorted(values...)
	if len(known) == 0 {
		return unknown()
	}
	return number(known[len(known)/2])
}
