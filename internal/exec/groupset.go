package exec

import (
	"fmt"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/plan"
)

// groupSets makes the combinations of an aggregation.
func (b *groupBuilder) groupSets(n *plan.Aggregate) error {
	keys := len(n.Group)
	switch n.Kind {
	case plan.GroupBy:
	case plan.GroupRollup:
		for k := keys; k >= 0; k-- {
			b.set(func(i int) bool { return i < k })
		}
	case plan.GroupCube:
		if keys > maxCube {
			return plan.Unsupported(fmt.Sprintf("CUBE over more than %d expressions", maxCube))
		}
		for mask := 1<<keys - 1; mask >= 0; mask-- {
			b.set(func(i int) bool { return mask>>(keys-1-i)&1 != 0 })
		}
	case plan.GroupSets:
		for _, exprs := range n.Sets {
			in := map[int]bool{}
			for _, e := range exprs {
				i, ok := b.keys[eval.Canonical(e)]
				if !ok {
					panic("a grouping set names no grouping expression")
				}
				in[i] = true
			}
			b.set(func(i int) bool { return in[i] })
		}
	default:
		return plan.Unsupported("this kind of grouping")
	}
	if keys == 0 {
		// GROUPING SETS (()) is the global aggregation.
		b.g.sets = nil
	}
	return nil
}

// maxCube bounds the combinations of CUBE, which are 2 to that power.
const maxCube = 16

func (b *groupBuilder) set(has func(key int) bool) {
	s := groupSet{has: make([]bool, b.g.keys)}
	for i := range s.has {
		s.has[i] = has(i)
	}
	b.g.sets = append(b.g.sets, s)
}

func isMark(name string) bool { return name == "grouping" || name == "grouping_id" }

// mark registers a call of grouping(key) or grouping_id(keys…): a bit for each
// key, the last one lowest, set when the row's combination leaves the key out.
func (b *groupBuilder) mark(name string, args []plan.Expr, of plan.Type) (plan.Expr, error) {
	keys := make([]int, 0, b.g.keys)
	for _, e := range args {
		i, ok := b.keys[eval.Canonical(e)]
		if !ok {
			panic(name + " of something that is no grouping expression")
		}
		keys = append(keys, i)
	}
	if len(args) == 0 {
		for i := range b.g.keys {
			keys = append(keys, i)
		}
	}
	text := fmt.Sprint(keys, of.SQL())
	if i, ok := b.marks[text]; ok {
		return b.attrs[markColumn][i], nil
	}
	m := mark{of: of}
	for _, s := range b.g.sets {
		bits := int64(0)
		for _, k := range keys {
			bits <<= 1
			if !s.has[k] {
				bits |= 1
			}
		}
		m.values = append(m.values, bits)
	}
	b.marks[text] = len(b.g.marks)
	b.g.marks = append(b.g.marks, m)
	return b.column(markColumn, of), nil
}

// column is the values of a mark for groups of the given sets.
func (m *mark) column(sets []int32) *chunk.Vector {
	out := chunk.New(m.of, len(sets))
	for _, s := range sets {
		out.AppendValue(m.values[s])
	}
	return out
}
