package function

import (
	"sync"

	"github.com/weir-dev/weir/internal/function/agg"
	"github.com/weir-dev/weir/internal/function/collections"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/function/numbers"
	"github.com/weir-dev/weir/internal/function/operators"
	"github.com/weir-dev/weir/internal/function/text"
	"github.com/weir-dev/weir/internal/function/times"
	"github.com/weir-dev/weir/internal/function/variants"
	"github.com/weir-dev/weir/internal/function/windows"
	"github.com/weir-dev/weir/internal/plan"
)

// families is the shelf: one list of functions for each package that holds some,
// and for those of this one.
func families() [][]*fn.Def {
	return [][]*fn.Def{
		agg.Defs(),
		collections.Defs(),
		hashDefs(),
		miscDefs(),
		numbers.Defs(),
		operators.Defs(),
		text.Defs(),
		times.Defs(),
		variants.Defs(),
		windows.Defs(),
	}
}

// opened is the shelf, made when it is first asked for.
var opened = sync.OnceValue(func() *fn.Shelf { return fn.NewShelf(families()...) })

// BindCall binds a call by name: to a scalar function, an aggregate, or what it
// is short for. A name that is not on the shelf is UNRESOLVED_ROUTINE.
func BindCall(b *fn.Binding) (plan.Expr, error) { return opened().Bind(b) }

// Lookup finds a function by name or alias, in any case.
func Lookup(name string) (*fn.Def, bool) { return opened().Lookup(name) }

// All is every function, sorted by name. Those with Hidden set are not known to
// users by that name.
func All() []*fn.Def { return opened().All() }
