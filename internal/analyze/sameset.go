package analyze

import (
	"fmt"
	"hash/maphash"

	"github.com/weir-dev/weir/internal/plan"
)

// sameSet finds expressions by sameExpr, and compares with few of many: a query may
// have thousands of aggregates. The zero value is ready.
type sameSet struct {
	seed  maphash.Seed
	lists map[uint64][]plan.Expr
}

// add adds an expression, which may have a name.
func (s *sameSet) add(e plan.Expr) {
	if s.lists == nil {
		s.seed, s.lists = maphash.MakeSeed(), map[uint64][]plan.Expr{}
	}
	h := s.hash(e)
	s.lists[h] = append(s.lists[h], e)
}

// find is the expression that was added first of those that are the same as another; nil
// when there is none.
func (s *sameSet) find(e plan.Expr) plan.Expr {
	if s.lists == nil {
		return nil
	}
	for _, have := range s.lists[s.hash(e)] {
		if sameExpr(unnamed(have), e) {
			return have
		}
	}
	return nil
}

func (s *sameSet) hash(e plan.Expr) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	writeShape(&h, e)
	return h.Sum64()
}

// writeShape writes what is equal whenever sameExpr says so.
func writeShape(h *maphash.Hash, e plan.Expr) {
	e = unnamed(e)
	switch n := e.(type) {
	case *plan.Literal:
		switch n.Value.(type) {
		case bool, int8, int16, int32, int64, string:
			fmt.Fprintf(h, "'%v'", n.Value)
		}
		return
	case *plan.Attribute:
		fmt.Fprintf(h, "#%d", n.ID)
		return
	case *plan.Call:
		_, _ = h.WriteString(n.Name)
	case *plan.AggregateCall:
		_, _ = h.WriteString(n.Name)
	}
	_ = h.WriteByte('(')
	for _, k := range e.Children() {
		writeShape(h, k)
		_ = h.WriteByte(',')
	}
	_ = h.WriteByte(')')
}
