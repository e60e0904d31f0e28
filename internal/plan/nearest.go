package plan

import "strings"

// Nearest is the name most like one that does not exist, whatever its case; "" among
// none.
func Nearest(name string, among []string) string {
	best, least := "", -1
	for _, a := range among {
		if d := EditDistance(strings.ToLower(a), strings.ToLower(name)); least < 0 || d < least {
			best, least = a, d
		}
	}
	return best
}

// maxCompared bounds what EditDistance looks at: what takes time in proportion to the
// product of both lengths must not take what users write without end.
const maxCompared = 1000

// EditDistance is the number of characters to add, drop or change between two texts, of
// each its first 1,000.
func EditDistance(a, b string) int {
	x, y := firstRunes(a), firstRunes(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			cost := diagonal
			if x[i] != y[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(y)]
}

func firstRunes(s string) []rune {
	runes := []rune(s)
	return runes[:min(len(runes), maxCompared)]
}
