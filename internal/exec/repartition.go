package exec

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/function/hashes"
	"github.com/weir-dev/weir/internal/plan"
)

// repartitionOp spreads rows over partitions: by Spark's hash of expressions,
// else in turn.
type repartitionOp struct {
	in    operator
	count int
	hash  *eval.Set // nil: in turn
	fixed bool      // small partitions are not joined
	attrs []*plan.Attribute
}

// maxPartitions is how many partitions a frame may be spread over. Each is
// looked at for every chunk.
const maxPartitions = 1 << 20

func (p *planner) buildRepartition(n *plan.Repartition, want need) (input, error) {
	if n.Count > maxPartitions {
		return input{}, plan.Unsupported(fmt.Sprintf("repartitioning into more than %d partitions", maxPartitions))
	}
	in, err := p.build(n.Input, want.with(n.Exprs...))
	if err != nil {
		return input{}, err
	}
	if n.Coalesce {
		return input{op: &coalesceOp{in: in.op, count: n.Count, attrs: in.attrs}, attrs: in.attrs}, nil
	}
	o := &repartitionOp{in: in.op, count: n.Count, fixed: p.fixed, attrs: in.attrs}
	if len(n.Exprs) > 0 {
		// The hash of a partitioning is the function hash().
		hash := &plan.Call{Name: "hash", Args: n.Exprs, Of: plan.Int}
		if o.hash, err = p.compileSet([]plan.Expr{hash}, in.attrs); err != nil {
			return input{}, err
		}
	}
	return input{op: o, attrs: in.attrs}, nil
}

// parts is the number asked for. Where none is, the shuffle partitions are
// joined into one as long as they are small, as adaptive execution does it.
func (o *repartitionOp) parts(r *running) int {
	if o.count == 0 && o.fixed {
		return r.partitions()
	}
	return max(1, o.count)
}

// smallShuffle is spark.sql.adaptive.advisoryPartitionSizeInBytes: shuffled
// rows of that size are one partition.
const smallShuffle = 64 << 20

func (o *repartitionOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		count := o.count
		if count == 0 {
			count = r.partitions()
		}
		if count == 1 {
			gatherInto(r, o.in, yield)
			return
		}
		held := r.lease("repartition")
		defer held.End()
		s := &shuffle{op: o, held: held, count: count, stores: map[[2]int]*rowStore{}}
		if err := s.read(r); err != nil {
			yield(nil, err)
			return
		}
		s.emit(r, yield)
	}
}

// gatherInto lets all rows through into partition 0.
func gatherInto(r *running, in operator, yield receiver) {
	for c, err := range in.rows(r) {
		if err != nil {
			yield(nil, err)
			return
		}
		out := *c
		out.Part = 0
		if !yield(&out, nil) {
			return
		}
	}
}

func emitAll(r *running, s *rowStore, part int, yield receiver) bool {
	for from := 0; from < s.rows; from += chunk.MaxRows {
		to := min(from+chunk.MaxRows, s.rows)
		c := &chunk.Chunk{Rows: to - from, Part: part}
		for _, v := range s.cols {
			c.Cols = append(c.Cols, v.Slice(from, to))
		}
		if err := r.stopped(); err != nil {
			yield(nil, err)
			return false
		}
		if !yield(c, nil) {
			return false
		}
	}
	return true
}

// shuffle is a repartition in progress.
type shuffle struct {
	op     *repartitionOp
	held   *chunk.Lease
	count  int
	stores map[[2]int]*rowStore // by partition of the input and of the output
	sels   []chunk.Sel
	turns  map[int]int
}

// read takes all rows into their stores.
func (s *shuffle) read(r *running) error {
	var ev *eval.Evaluator
	if s.op.hash != nil {
		ev = s.op.hash.Take(r.evaluation())
		defer ev.Release()
	}
	s.turns, s.sels = map[int]int{}, make([]chunk.Sel, s.count)
	for c, err := range s.op.in.rows(r) {
		if err == nil {
			err = s.assign(ev, c)
		}
		if err != nil {
			return err
		}
		for to, sel := range s.sels {
			if len(sel) == 0 {
				continue
			}
			key := [2]int{c.Part, to}
			if s.stores[key] == nil {
				s.stores[key] = newRowStore(s.op.attrs, s.held)
			}
			if err := s.stores[key].add(c.Take(sel)); err != nil {
				return err
			}
			s.sels[to] = sel[:0]
		}
	}
	return nil
}

// assign sorts the rows of a chunk by their new partition.
func (s *shuffle) assign(ev *eval.Evaluator, c *chunk.Chunk) error {
	if ev == nil {
		turn, ok := s.turns[c.Part]
		if !ok {
			turn = firstTurn(c.Part, s.count)
		}
		for i := range c.Rows {
			turn++
			s.sels[turn%s.count] = append(s.sels[turn%s.count], uint16(i))
		}
		s.turns[c.Part] = turn
		return nil
	}
	v, err := ev.Eval(c, nil)
	if err != nil {
		return err
	}
	for i, h := range chunk.Values[int32](v) {
		part := hashes.Partition(h, s.count)
		s.sels[part] = append(s.sels[part], uint16(i))
	}
	return nil
}

// emit yields the rows of each new partition, in the order of the old ones. A
// joined partition is read input by input instead, as Spark fetches it.
func (s *shuffle) emit(r *running, yield receiver) {
	joined := s.op.count == 0 && !s.op.fixed && s.held.Held() < smallShuffle
	keys := slices.SortedFunc(maps.Keys(s.stores), func(a, b [2]int) int {
		if joined {
			return slices.Compare(a[:], b[:])
		}
		return cmp.Or(cmp.Compare(a[1], b[1]), cmp.Compare(a[0], b[0]))
	})
	for _, key := range keys {
		part := key[1]
		if joined {
			part = 0
		}
		if !emitAll(r, s.stores[key], part, yield) {
			return
		}
	}
}

// firstTurn is where Spark starts to deal out the rows of a partition: the
// first number of its generator with the partition as seed.
func firstTurn(part, count int) int {
	return xorShift(uint64(part)).below(count)
}

// xorShift is the state of Spark's XORShiftRandom of a seed: two murmur3
// hashes of the seed's bytes.
func xorShift(seed uint64) *xorShiftState {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], seed)
	low := murmurBytes(b[:], arraySeed)
	high := murmurBytes(b[:], low)
	return &xorShiftState{uint64(high)<<32 | uint64(low)}
}

// arraySeed is scala.util.hashing.MurmurHash3.arraySeed.
const arraySeed = 0x3c074a61

type xorShiftState struct{ seed uint64 }

func (s *xorShiftState) next(n uint) int32 {
	x := s.seed ^ s.seed<<21
	x ^= x >> 35
	x ^= x << 4
	s.seed = x
	return int32(x & (1<<n - 1))
}

// below is java.util.Random.nextInt(bound).
func (s *xorShiftState) below(bound int) int {
	n := int32(bound)
	r := s.next(31)
	if n&(n-1) == 0 {
		return int(int64(n) * int64(r) >> 31)
	}
	for u := r; ; u = s.next(31) {
		if r = u % n; u-r+(n-1) >= 0 {
			return int(r)
		}
	}
}

// murmurBytes is MurmurHash3.bytesHash of a multiple of four bytes.
func murmurBytes(b []byte, seed uint32) uint32 {
	h := seed
	for i := 0; i+4 <= len(b); i += 4 {
		k := binary.LittleEndian.Uint32(b[i:]) * 0xcc9e2d51
		h ^= bits.RotateLeft32(k, 15) * 0x1b873593
		h = bits.RotateLeft32(h, 13)*5 + 0xe6546b64
	}
	h ^= uint32(len(b))
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}
