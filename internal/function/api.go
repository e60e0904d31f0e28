package function

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/cast"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/function/text"
	"github.com/weir-dev/weir/internal/function/windows"
	"github.com/weir-dev/weir/internal/plan"
)

// The vocabulary of the shelf, as other rooms name it.
type (
	Env              = fn.Env
	Kernel           = fn.Kernel
	HigherKernel     = fn.HigherKernel
	Apply            = fn.Apply
	Def              = fn.Def
	Binding          = fn.Binding
	Accumulator      = fn.Accumulator
	WholeAccumulator = fn.WholeAccumulator
	Example          = fn.Example
	Comparator       = fn.Comparator
)

// Settings of the session that functions ask Env.Conf for.
const (
	SearchPath   = fn.SearchPath
	ConfCatalog  = fn.ConfCatalog
	ConfSchema   = fn.ConfSchema
	ConfUser     = fn.ConfUser
	ConfRevision = fn.ConfRevision
)

// Compare is the order of a type; see fn.Compare.
func Compare(t plan.Type) Comparator { return fn.Compare(t) }

// CommonType is the type that two branches of CASE or sides of a UNION are cast
// to; see fn.CommonType.
func CommonType(a, b plan.Type, env *Env) (plan.Type, bool) { return fn.CommonType(a, b, env) }

// TightestType is the type two types share without losing anything; see fn.TightestType.
func TightestType(a, b plan.Type, env *Env) (plan.Type, bool) { return fn.TightestType(a, b, env) }

// WiderType is the type two types share with some loss of precision allowed;
// see fn.WiderType.
func WiderType(a, b plan.Type, env *Env) (plan.Type, bool) { return fn.WiderType(a, b, env) }

// CanCast reports whether Spark knows a cast between two types in a mode.
func CanCast(from, to plan.Type, mode plan.CastMode) bool { return cast.Can(from, to, mode) }

// CheckCast is the error of a cast that Spark refuses, nil when it is allowed.
func CheckCast(c *plan.Cast, env *Env) error { return cast.Check(c, env) }

// CastKernel is the evaluator of a cast that CanCast allows. Its errors have no
// origin; see CastKernelOf.
func CastKernel(from, to plan.Type, mode plan.CastMode, env *Env) (Kernel, error) {
	return cast.Kernel(from, to, mode, env)
}

// CastKernelOf is the evaluator of a cast expression.
func CastKernelOf(e *plan.Cast, env *Env) (Kernel, error) { return cast.KernelOf(e, env) }

// FitText brings the texts of a column to the lengths of its CHAR and VARCHAR
// parts; see text.Fit.
func FitText(v *chunk.Vector, t plan.Type, tooLong func(text string, limit int) error,
) (*chunk.Vector, error) {
	return text.Fit(v, t, tooLong)
}

// TooLong is Spark's error for a text that is longer than its column allows.
func TooLong(s string, limit int) error { return text.TooLong(s, limit) }

// PadText pads the CHAR parts of a column with blanks; see text.Pad.
func PadText(v *chunk.Vector, t plan.Type) *chunk.Vector { return text.Pad(v, t) }

// WindowOffset is how many rows further a bound lag or lead looks.
func WindowOffset(c *plan.Call) int64 { return windows.Offset(c) }

// IgnoresNulls says that a bound lag, lead or nth_value passes over NULLs.
func IgnoresNulls(c *plan.Call) bool { return windows.Ignores(c) }
