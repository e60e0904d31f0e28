package exec

import (
	"fmt"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/plan"
)

// groupSets makes the combinations of an aggregation.
func (b *groupBuilder) groupSets(n *plan.Aggregate) (err error) {
	if b.g.sets, err = groupSetsOf(n, b.keys); len(n.Group) == 0 {
		// GROUPING SETS (()) is the global aggregation.
		b.g.sets = nil
	}
	return err
}

// groupSetsOf are the combinations of an aggregation whose grouping expressions are
// numbered by their canonical texts; none for a plain GROUP BY.
func groupSetsOf(n *plan.Aggregate, numbers map[string]int) ([]groupSet, error) {
	var sets []groupSet
	keys := len(n.Group)
	add := func(has func(key int) bool) {
		s := groupSet{has: make([]bool, keys)}
		for i := range s.has {
			s.has[i] = has(i)
		}
		sets = append(sets, s)
	}
	switch n.Kind {
	case plan.GroupBy:
	case plan.GroupRollup:
		for k := keys; k >= 0; k-- {
			add(func(i int) bool { return i < k })
		}
	case plan.GroupCube:
		if keys > maxCube {
			return nil, plan.Unsupported(fmt.Sprintf("CUBE over more than %d expressions", maxCube))
		}
		for mask := 1<<keys - 1; mask >= 0; mask-- {
			add(func(i int) bool { return mask>>(keys-1-i)&1 != 0 })
		}
	case plan.GroupSets:
		for _, exprs := range n.Sets {
			in := map[int]bool{}
			for _, e := range exprs {
				i, ok := numbers[eval.Canonical(e)]
				if !ok {
					panic("a grouping set names no grouping expression")
				}
				in[i] = true
			}
			add(func(i int) bool { return in[i] })
		}
	default:
		return nil, plan.Unsupported("this kind of grouping")
	}
	return sets, nil
}

// maxCube bounds the combinations of CUBE, which are 2 to that power.
const maxCube = 16

func isMark(name string) bool { return name == "grouping" || name == "grouping_id" }

// mark registers a call of grouping(key) or grouping_id(keys…): a bit for each
// key, the last one lowest, set when the row's combination leaves the key out.
func (b *groupBuilder) mark(name string, args []plan.Expr, of plan.Type) (plan.Expr, error) {
	keys := markedKeys(name, args, b.keys, b.g.keys)
	text := fmt.Sprint(keys, of.SQL())
	if i, ok := b.marks[text]; ok {
		return b.attrs[markColumn][i], nil
	}
	b.marks[text] = len(b.g.marks)
	b.g.marks = append(b.g.marks, mark{of: of, values: markBits(b.g.sets, keys)})
	return b.column(markColumn, of), nil
}

// markedKeys are the keys that a mark tells of; without arguments all of so many.
func markedKeys(name string, args []plan.Expr, numbers map[string]int, count int) []int {
	keys := make([]int, 0, count)
	for _, e := range args {
		i, ok := numbers[eval.Canonical(e)]
		if !ok {
			panic(name + " of something that is no grouping expression")
		}
		keys = append(keys, i)
	}
	if len(args) == 0 {
		for i := range count {
			keys = append(keys, i)
		}
	}
	return keys
}

// markBits is the value of a mark for each combination.
func markBits(sets []groupSet, keys []int) []int64 {
	values := make([]int64, len(sets))
	for i, s := range sets {
		for _, k := range keys {
			values[i] <<= 1
			if !s.has[k] {
				values[i] |= 1
			}
		}
	}
	return values
}

// column is the values of a mark for groups of the given sets.
func (m *mark) column(sets []int32) *chunk.Vector {
	out := chunk.New(m.of, len(sets))
	for _, s := range sets {
		out.AppendValue(m.values[s])
	}
	return out
}
