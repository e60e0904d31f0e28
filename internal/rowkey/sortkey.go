package rowkey

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// SortKeys is the keys of rows, written as bytes that compare as the rows do.
// The place of NULL in the first key and the first eight bytes after it are
// kept as numbers; what goes beyond them lies in tails.
type SortKeys struct {
	list  []sortKey
	tails []byte
	ends  []int // of the tail of each row; nil while no row has one
	spare []sortKey
}

type sortKey struct {
	prefix uint64
	row    int32
	rank   uint8 // of the first key: NULL first, a value, NULL last
}

// Ranks of a key.
const (
	nullFirst = iota
	notNull
	nullLast
)

// Bytes is the memory of the keys.
func (s *SortKeys) Bytes() int64 {
	return int64(16*cap(s.list) + cap(s.tails) + 8*cap(s.ends))
}

// Len is the number of keys.
func (s *SortKeys) Len() int { return len(s.list) }

// Add writes the keys of more rows.
func (s *SortKeys) Add(cols []*chunk.Vector, orders []*plan.SortOrder) {
	n := cols[0].Len
	base := len(s.list)
	s.list = slices.Grow(s.list, n)[:base+n]
	fresh := s.list[base:]
	for i := range fresh {
		fresh[i] = sortKey{row: int32(base + i), rank: rank(cols[0], i, orders[0])}
	}
	if len(cols) == 1 && prefixes(fresh, cols[0]) {
		if orders[0].Descending {
			for i := range fresh {
				fresh[i].prefix = ^fresh[i].prefix
			}
		}
		return
	}
	for len(s.ends) < base {
		s.ends = append(s.ends, 0)
	}
	for i := range fresh {
		fresh[i].prefix = s.write(cols, i, orders)
		s.ends = append(s.ends, len(s.tails))
	}
}

func rank(v *chunk.Vector, i int, o *plan.SortOrder) uint8 {
	switch {
	case !v.IsNull(i):
		return notNull
	case o.NullsFirst:
		return nullFirst
	default:
		return nullLast
	}
}

// prefixes writes the values of a column of at most eight bytes, as numbers of
// the same order. It reports false for other columns.
func prefixes(keys []sortKey, v *chunk.Vector) bool {
	switch w := chunk.Width(v.Type); {
	case v.Type.Kind == plan.KindDouble:
		for i, x := range chunk.Values[float64](v) {
			keys[i].prefix = orderedDouble(x)
		}
	case v.Type.Kind == plan.KindFloat:
		for i, x := range chunk.Values[float32](v) {
			keys[i].prefix = uint64(orderedFloat(x))
		}
	case v.Type.Kind == plan.KindBoolean:
		for i, x := range chunk.Values[uint8](v) {
			keys[i].prefix = uint64(x & 1)
		}
	case w == 8:
		for i, x := range chunk.Values[int64](v) {
			keys[i].prefix = uint64(x) ^ 1<<63
		}
	case w == 4:
		for i, x := range chunk.Values[int32](v) {
			keys[i].prefix = uint64(int64(x)) ^ 1<<63
		}
	default:
		return false
	}
	if v.Valid != nil {
		for i := range keys {
			if keys[i].rank != notNull {
				keys[i].prefix = 0
			}
		}
	}
	return true
}

// write appends the tail of row i and returns its prefix.
func (s *SortKeys) write(cols []*chunk.Vector, i int, orders []*plan.SortOrder) uint64 {
	from := len(s.tails)
	for k, v := range cols {
		r := rank(v, i, orders[k])
		if k > 0 {
			s.tails = append(s.tails, r)
		}
		if r != notNull {
			continue
		}
		at := len(s.tails)
		s.tails = appendOrdered(s.tails, v, i)
		if orders[k].Descending {
			for b := at; b < len(s.tails); b++ {
				s.tails[b] = ^s.tails[b]
			}
		}
	}
	var head [8]byte
	taken := copy(head[:], s.tails[from:])
	s.tails = append(s.tails[:from], s.tails[from+taken:]...)
	return binary.BigEndian.Uint64(head[:])
}

func (s *SortKeys) tail(row int32) []byte {
	if s.ends == nil {
		return nil
	}
	from := 0
	if row > 0 {
		from = s.ends[row-1]
	}
	return s.tails[from:s.ends[row]]
}

// fewKeys is the number of keys below which comparing beats counting.
const fewKeys = 512

// Sort orders the keys; equal ones keep the order they came in.
func (s *SortKeys) Sort() {
	if len(s.list) < fewKeys {
		slices.SortFunc(s.list, s.compare)
		return
	}
	s.radix()
	if s.ends == nil {
		return
	}
	for from := 0; from < len(s.list); {
		to := from + 1
		for to < len(s.list) && s.list[to].prefix == s.list[from].prefix && s.list[to].rank == s.list[from].rank {
			to++
		}
		if to-from > 1 {
			slices.SortFunc(s.list[from:to], s.compare)
		}
		from = to
	}
}

func (s *SortKeys) compare(a, b sortKey) int {
	if c := cmp.Compare(a.rank, b.rank); c != 0 {
		return c
	}
	if c := cmp.Compare(a.prefix, b.prefix); c != 0 {
		return c
	}
	if c := bytes.Compare(s.tail(a.row), s.tail(b.row)); c != 0 {
		return c
	}
	return cmp.Compare(a.row, b.row)
}

// radix orders by rank and prefix, byte by byte from the last one on; bytes
// that are the same everywhere cost nothing.
func (s *SortKeys) radix() {
	if cap(s.spare) < len(s.list) {
		s.spare = make([]sortKey, len(s.list))
	}
	var counts [9][256]int
	for _, k := range s.list {
		for b := range 8 {
			counts[b][uint8(k.prefix>>(8*b))]++
		}
		counts[8][k.rank]++
	}
	from, to := s.list, s.spare[:len(s.list)]
	for b := range 9 {
		if slices.Max(counts[b][:]) == len(from) {
			continue
		}
		at := 0
		for v, n := range counts[b] {
			counts[b][v] = at
			at += n
		}
		scatterKeys(from, to, b, &counts[b])
		from, to = to, from
	}
	s.list, s.spare = from, to
}

func scatterKeys(from, to []sortKey, b int, starts *[256]int) {
	for _, k := range from {
		v := k.rank
		if b < 8 {
			v = uint8(k.prefix >> (8 * b))
		}
		to[starts[v]] = k
		starts[v]++
	}
}

// Rows appends the numbers of the rows in places [from, to).
func (s *SortKeys) Rows(from, to int, out []int32) []int32 {
	for _, k := range s.list[from:min(to, len(s.list))] {
		out = append(out, k.row)
	}
	return out
}

// Same tells whether the keys in two places are equal.
func (s *SortKeys) Same(i, j int) bool {
	a, b := s.list[i], s.list[j]
	return a.rank == b.rank && a.prefix == b.prefix && bytes.Equal(s.tail(a.row), s.tail(b.row))
}

// Cut keeps the first keys, those of the given rows, which are numbered anew.
func (s *SortKeys) Cut(rows []int32) {
	var tails []byte
	var ends []int
	for i, row := range rows {
		s.list[i].row = int32(i)
		if s.ends != nil {
			tails = append(tails, s.tail(row)...)
			ends = append(ends, len(tails))
		}
	}
	s.list, s.tails, s.ends = s.list[:len(rows)], tails, ends
}

// Compare compares key i of one set, not sorted yet, with key j of another
// over the same orders.
func Compare(a *SortKeys, i int32, b *SortKeys, j int32) int {
	x, y := &a.list[i], &b.list[j]
	if c := cmp.Compare(x.rank, y.rank); c != 0 {
		return c
	}
	if c := cmp.Compare(x.prefix, y.prefix); c != 0 {
		return c
	}
	return bytes.Compare(a.tail(i), b.tail(j))
}
