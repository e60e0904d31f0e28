package file

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// partLook reads the values of partition columns out of directory names.
type partLook struct {
	env           *function.Env
	infers        bool // false: every value is a string
	caseSensitive bool
}

func newPartLook(env *connector.Env) *partLook {
	return &partLook{
		env:           env.Eval,
		infers:        connector.ConfBool(env, "spark.sql.sources.partitionColumnTypeInference.enabled", true),
		caseSensitive: connector.ConfBool(env, "spark.sql.caseSensitive", false),
	}
}

func (l *partLook) same(a, b string) bool {
	return a == b || !l.caseSensitive && strings.EqualFold(a, b)
}

// find is the place of a column in a schema, -1 for none.
func (l *partLook) find(schema plan.Type, name string) int {
	for i, f := range schema.Fields {
		if l.same(f.Name, name) {
			return i
		}
	}
	return -1
}

var (
	partDate = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)
	partTime = regexp.MustCompile(`^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(\.\d)?$`)
	bigWhole = regexp.MustCompile(`^[+-]?(\d+)(?:[eE]\+?(\d{1,2}))?$`)
)

// infer is the type that a value suggests; void stands for no value.
func (l *partLook) infer(raw string) plan.Type {
	if raw == noValue {
		return plan.Null
	}
	if !l.infers {
		return plan.String
	}
	if _, err := strconv.ParseInt(raw, 10, 32); err == nil {
		return plan.Int
	}
	if _, err := strconv.ParseInt(raw, 10, 64); err == nil {
		return plan.Long
	}
	if m := bigWhole.FindStringSubmatch(raw); m != nil {
		zeros, _ := strconv.Atoi(m[2])
		if digits := len(strings.TrimLeft(m[1], "0")) + zeros; digits <= plan.MaxPrecision {
			return plan.Decimal(max(1, digits), 0)
		}
	}
	if _, ok := javaDouble(raw); ok {
		return plan.Double
	}
	text := unescapePart(raw)
	if partTime.MatchString(text) && l.fits(text, plan.Timestamp) {
		return plan.Timestamp
	}
	if partDate.MatchString(raw) && l.fits(raw, plan.Date) {
		return plan.Date
	}
	return plan.String
}

// javaDouble is what Java's parseDouble takes, which does not know inf and nan
// in other cases than its own.
func javaDouble(raw string) (float64, bool) {
	f, ok := codec.ParseDouble(raw)
	if ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		word := strings.TrimLeft(strings.TrimSpace(raw), "+-")
		ok = word == "NaN" || word == "Infinity" || strings.ContainsAny(word, "0123456789")
	}
	return f, ok
}

func (l *partLook) fits(text string, t plan.Type) bool {
	v, err := l.cast(text, t, plan.CastTry)
	return err == nil && !v.IsNull(0)
}

// wider is the type of a column whose values suggest both.
func (l *partLook) wider(a, b plan.Type) plan.Type {
	switch {
	case a.Kind == plan.KindDouble && (b.Kind == plan.KindLong || b.Kind == plan.KindDecimal),
		b.Kind == plan.KindDouble && (a.Kind == plan.KindLong || a.Kind == plan.KindDecimal):
		return plan.String
	}
	if t, ok := function.WiderType(a, b, l.env); ok {
		return t
	}
	return plan.String
}

func (l *partLook) cast(text string, t plan.Type, mode plan.CastMode) (*chunk.Vector, error) {
	in := chunk.New(plan.String, 1)
	in.AppendText(text)
	k, err := function.CastKernel(plan.String, t, mode, l.env)
	if err != nil {
		return nil, err
	}
	return k([]*chunk.Vector{in}, nil, 1)
}

// value is a partition value as a column of one row. One that does not fit the
// column's type is an error; an integer that is too large wraps, as in Spark.
func (l *partLook) value(raw string, f plan.Field) (*chunk.Vector, error) {
	if raw == noValue {
		return chunk.NullVector(f.Type, 1), nil
	}
	text := unescapePart(raw)
	if n, err := strconv.ParseInt(text, 10, 32); err == nil && f.Type.IsIntegral() {
		switch f.Type.Kind {
		case plan.KindByte:
			return chunk.Of(f.Type, []int8{int8(n)}), nil
		case plan.KindShort:
			return chunk.Of(f.Type, []int16{int16(n)}), nil
		}
	}
	v, err := l.cast(text, f.Type, plan.CastTry)
	if err == nil && v.IsNull(0) {
		err = plan.NewError(plan.ClassRuntime, "INVALID_PARTITION_VALUE",
			fmt.Sprintf("The directory value %q of partition column %s does not fit its type %s.",
				text, f.Name, f.Type.Simple()),
			"value", "'"+text+"'", "dataType", `"`+f.Type.SQL()+`"`, "columnName", plan.Quote(f.Name))
	}
	return v, err
}
