package hashes

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// Seed is the seed of Spark's hash functions and of its partitioning.
const Seed = 42

var (
	murmur = hasher[int32]{small: MurmurInt, large: murmurLong, many: murmurLongs, bytes: MurmurBytes}
	xx     = hasher[int64]{small: xxInt, large: xxLong, many: xxLongs, bytes: xxBytes}
)

// Murmur writes Spark's hash of the given rows of some columns, which its hash
// partitioning goes by: Murmur3.
func Murmur(cols []*chunk.Vector, rows []uint16, out []int32) { murmur.rows(cols, rows, out) }

// XX writes Spark's xxhash64 of the given rows of some columns.
func XX(cols []*chunk.Vector, rows []uint16, out []int64) { xx.rows(cols, rows, out) }

// XXOf is Spark's xxhash64 of row i of a column.
func XXOf(v *chunk.Vector, i int) int64 { return xx.add(v, i, Seed) }

// hasher is one of the two hash functions: of 4 bytes, of 8, of 8 in many rows, and
// of many bytes.
type hasher[H int32 | int64] struct {
	small func(x int32, seed H) H
	large func(x int64, seed H) H
	many  func(x []int64, rows []uint16, seeds []H)
	bytes func(b []byte, seed H) H
}

func (h *hasher[H]) rows(cols []*chunk.Vector, rows []uint16, out []H) {
	for _, i := range rows {
		out[i] = Seed
	}
	for _, c := range cols {
		h.column(c, rows, out)
	}
}

// column hashes rows of a vector into their seeds.
func (h *hasher[H]) column(v *chunk.Vector, rows []uint16, seeds []H) {
	switch {
	case len(rows) == 0:
	case v.Valid == nil && v.Type.Kind == plan.KindStruct:
		for _, kid := range v.Kids {
			h.column(kid, rows, seeds)
		}
	case v.Valid == nil && chunk.Width(v.Type) == 8 && v.Type.Kind != plan.KindDouble:
		h.many(chunk.Values[int64](v), rows, seeds)
	default:
		for _, i := range rows {
			seeds[i] = h.add(v, int(i), seeds[i])
		}
	}
}

// add hashes row i of a vector into a seed; NULL leaves it as it is.
func (h *hasher[H]) add(v *chunk.Vector, i int, seed H) H {
	if v.IsNull(i) {
		return seed
	}
	switch v.Type.Kind {
	case plan.KindBoolean:
		return h.small(int32(chunk.Values[uint8](v)[i]), seed)
	case plan.KindByte, plan.KindShort, plan.KindInt, plan.KindDate, plan.KindYearMonth:
		return h.small(int32(fn.IntegerAt(v, i)), seed)
	case plan.KindFloat:
		x := chunk.Values[float32](v)[i] + 0
		if x != x {
			return h.small(javaNaN32, seed)
		}
		return h.small(int32(math.Float32bits(x)), seed)
	case plan.KindDouble:
		x := chunk.Values[float64](v)[i] + 0
		if x != x {
			return h.large(javaNaN64, seed)
		}
		return h.large(int64(math.Float64bits(x)), seed)
	case plan.KindDecimal:
		d := chunk.Values[chunk.Dec](v)[i]
		if v.Type.Precision <= maxLongDigits {
			return h.large(int64(d.LowBits()), seed)
		}
		return h.bytes(twosComplement(d), seed)
	case plan.KindCalendar:
		x := chunk.Values[plan.Interval](v)[i]
		return h.small(x.Months, h.small(x.Days, h.large(x.Micros, seed)))
	case plan.KindStruct:
		for _, kid := range v.Kids {
			seed = h.add(kid, i, seed)
		}
		return seed
	case plan.KindArray, plan.KindMap:
		from, to := v.Span(i)
		for e := from; e < to; e++ {
			for _, kid := range v.Kids {
				seed = h.add(kid, e, seed)
			}
		}
		return seed
	}
	if chunk.IsBytes(v.Type) {
		return h.bytes(v.Bytes(i), seed)
	}
	return h.large(fn.IntegerAt(v, i), seed)
}

// The bits that Java gives every NaN.
const (
	javaNaN32 = 0x7fc00000
	javaNaN64 = 0x7ff8 << 48
)

// maxLongDigits is the most digits of a decimal that Spark keeps in a long.
const maxLongDigits = 18

// twosComplement is a decimal's integer as Java's BigInteger writes it: the
// most significant byte first, no more bytes than needed.
func twosComplement(d chunk.Dec) []byte {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(d.HighBits()))
	binary.BigEndian.PutUint64(b[8:], d.LowBits())
	at := 0
	for at < 15 && (b[at] == 0 && b[at+1] < 0x80 || b[at] == 0xff && b[at+1] >= 0x80) {
		at++
	}
	return b[at:]
}

// Murmur3 for 32 bits, as Spark has it: bytes behind the last whole word are
// mixed one by one, signed.

func murmurMix(h, k uint32) uint32 {
	k = bits.RotateLeft32(k*0xcc9e2d51, 15) * 0x1b873593
	return bits.RotateLeft32(h^k, 13)*5 + 0xe6546b64
}

func murmurEnd(h, length uint32) int32 {
	h ^= length
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return int32(h ^ h>>16)
}

// MurmurInt is the Murmur3 of 4 bytes.
func MurmurInt(x int32, seed int32) int32 {
	return murmurEnd(murmurMix(uint32(seed), uint32(x)), 4)
}

func murmurLong(x int64, seed int32) int32 {
	return murmurEnd(murmurMix(murmurMix(uint32(seed), uint32(x)), uint32(x>>32)), 8)
}

func murmurLongs(x []int64, rows []uint16, seeds []int32) {
	for _, i := range rows {
		seeds[i] = murmurLong(x[i], seeds[i])
	}
}

// MurmurBytes is the Murmur3 of bytes.
func MurmurBytes(b []byte, seed int32) int32 {
	h, n := uint32(seed), uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		h = murmurMix(h, binary.LittleEndian.Uint32(b))
	}
	for _, c := range b {
		h = murmurMix(h, uint32(int8(c)))
	}
	return murmurEnd(h, n)
}

// XXH64, with the short forms for 4 and 8 bytes.
const (
	xxPrime1 = 0x9e3779b185ebca87
	xxPrime2 = 0xc2b2ae3d27d4eb4f
	xxPrime3 = 0x165667b19e3779f9
	xxPrime4 = 0x85ebca77c2b2ae63
	xxPrime5 = 0x27d4eb2f165667c5
)

func xxEnd(h uint64) int64 {
	h = (h ^ h>>33) * xxPrime2
	h = (h ^ h>>29) * xxPrime3
	return int64(h ^ h>>32)
}

func xxInt(x int32, seed int64) int64 {
	h := uint64(seed) + xxPrime5 + 4
	h ^= uint64(uint32(x)) * xxPrime1
	return xxEnd(bits.RotateLeft64(h, 23)*xxPrime2 + xxPrime3)
}

func xxRound(k uint64) uint64 { return bits.RotateLeft64(k*xxPrime2, 31) * xxPrime1 }

func xxLong(x int64, seed int64) int64 {
	h := uint64(seed) + xxPrime5 + 8
	h ^= xxRound(uint64(x))
	return xxEnd(bits.RotateLeft64(h, 27)*xxPrime1 + xxPrime4)
}

func xxLongs(x []int64, rows []uint16, seeds []int64) {
	for _, i := range rows {
		seeds[i] = xxLong(x[i], seeds[i])
	}
}

func xxBytes(b []byte, seed int64) int64 {
	n := uint64(len(b))
	h := uint64(seed) + xxPrime5
	if len(b) >= 32 {
		lanes := [4]uint64{uint64(seed), uint64(seed), uint64(seed), uint64(seed)}
		lanes[0] += xxPrime1
		lanes[0] += xxPrime2
		lanes[1] += xxPrime2
		lanes[3] -= xxPrime1
		for ; len(b) >= 32; b = b[32:] {
			for k := range lanes {
				v := lanes[k] + binary.LittleEndian.Uint64(b[8*k:])*xxPrime2
				lanes[k] = bits.RotateLeft64(v, 31) * xxPrime1
			}
		}
		h = bits.RotateLeft64(lanes[0], 1) + bits.RotateLeft64(lanes[1], 7) + bits.RotateLeft64(lanes[2], 12) +
			bits.RotateLeft64(lanes[3], 18)
		for _, v := range lanes {
			h = (h^xxRound(v))*xxPrime1 + xxPrime4
		}
	}
	h += n
	for ; len(b) >= 8; b = b[8:] {
		h = bits.RotateLeft64(h^xxRound(binary.LittleEndian.Uint64(b)), 27)*xxPrime1 + xxPrime4
	}
	if len(b) >= 4 {
		h = bits.RotateLeft64(h^uint64(binary.LittleEndian.Uint32(b))*xxPrime1, 23)*xxPrime2 + xxPrime3
		b = b[4:]
	}
	for _, c := range b {
		h = bits.RotateLeft64(h^uint64(c)*xxPrime5, 11) * xxPrime1
	}
	return xxEnd(h)
}

// Partition is where a row goes whose keys have this hash: the partition number
// that Spark gives it.
func Partition(hash int32, parts int) int {
	p := hash % int32(parts)
	if p < 0 {
		p += int32(parts)
	}
	return int(p)
}
