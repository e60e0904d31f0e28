package rowkey

import (
	"bytes"
	"math"
	"slices"
)

// appendText writes bytes so that a prefix comes first: zero bytes become 0 255
// and 0 0 ends the text.
func appendText(dst, b []byte) []byte {
	for {
		i := bytes.IndexByte(b, 0)
		if i < 0 {
			break
		}
		dst = append(append(dst, b[:i]...), 0, 255)
		b = b[i+1:]
	}
	return append(append(dst, b...), 0, 0)
}

func sortBytes(list [][]byte) { slices.SortFunc(list, bytes.Compare) }

// orderedDouble maps doubles to numbers of the same order: NaN greatest, -0.0
// equal to 0.0.
func orderedDouble(x float64) uint64 {
	switch {
	case x != x:
		return math.MaxUint64
	case x == 0:
		return 1 << 63
	}
	b := math.Float64bits(x)
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// orderedFloat is orderedDouble for floats.
func orderedFloat(x float32) uint32 {
	switch {
	case x != x:
		return math.MaxUint32
	case x == 0:
		return 1 << 31
	}
	b := math.Float32bits(x)
	if b>>31 != 0 {
		return ^b
	}
	return b | 1<<31
}
