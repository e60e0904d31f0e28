package letters

import "bytes"

// CharBytes is the number of bytes of the character that begins with c, as its
// first byte says.
func CharBytes(c byte) int {
	switch {
	case c < 0xc2 || c > 0xf4:
		return 1
	case c < 0xe0:
		return 2
	case c < 0xf0:
		return 3
	default:
		return 4
	}
}

// Count is the number of characters.
func Count(s []byte) int {
	n := 0
	for i := 0; i < len(s); i += CharBytes(s[i]) {
		n++
	}
	return n
}

// Skip is the byte at which the character n after at begins, at most
// len(s).
func Skip(s []byte, at, n int) int {
	for ; n > 0 && at < len(s); n-- {
		at += CharBytes(s[at])
	}
	return min(at, len(s))
}

// Index is the character at which part first occurs at or after character
// start, -1 when it does not. The empty text occurs at the very front.
func Index(s, part []byte, start int) int {
	if len(part) == 0 {
		return 0
	}
	at := Skip(s, 0, start)
	k := bytes.Index(s[at:], part)
	if k < 0 {
		return -1
	}
	return start + Count(s[at:at+k])
}

// Substring is the bytes of a substring: pos counts from 1, or from the end when
// negative; characters for strings, bytes for binary.
func Substring(s []byte, pos, length int, binary bool) (from, to int) {
	total := len(s)
	if !binary {
		total = Count(s)
	}
	start := 0
	switch {
	case pos > 0:
		start = pos - 1
	case pos < 0:
		start = total + pos
	}
	end := start + length
	if length > 1<<31-1-start {
		end = 1<<31 - 1
	}
	start, end = max(start, 0), min(end, total)
	if start >= end {
		return 0, 0
	}
	if binary {
		return start, end
	}
	from = Skip(s, 0, start)
	return from, Skip(s, from, end-start)
}

// Distance is the number of characters to change, add or drop to make b of a.
func Distance(a, b string) int32 {
	from, to := []rune(a), []rune(b)
	row := make([]int32, len(to)+1)
	for k := range row {
		row[k] = int32(k)
	}
	for x, ra := range from {
		diagonal := row[0]
		row[0] = int32(x + 1)
		for y, rb := range to {
			cost := diagonal
			if ra != rb {
				cost++
			}
			diagonal = row[y+1]
			row[y+1] = min(cost, row[y]+1, diagonal+1)
		}
	}
	return row[len(to)]
}
