package text

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// Fit brings the texts of a column to the lengths of its CHAR and VARCHAR
// parts, as Spark does with what goes into a table: CHAR is padded with blanks,
// trailing blanks that are too many are cut, a longer text is refused. The result
// has type t.Unbounded(); it is v itself when nothing is bounded. A text that is
// too long ends it with the error that tooLong makes.
func Fit(v *chunk.Vector, t plan.Type, tooLong func(text string, limit int) error,
) (*chunk.Vector, error) {
	return mapText(v, t, func(s string, t plan.Type) (string, error) {
		n := utf8.RuneCountInString(s)
		if n <= t.Length {
			return padText(s, t), nil
		}
		blanks := len(s) - len(strings.TrimRight(s, " "))
		if n-blanks > t.Length {
			return "", tooLong(s, t.Length)
		}
		return s[:len(s)-(n-t.Length)], nil
	})
}

// TooLong is Spark's error for a text that is longer than its column allows.
func TooLong(_ string, limit int) error {
	return plan.NewError(plan.ClassRuntime, "EXCEED_LIMIT_LENGTH",
		fmt.Sprintf("a text is longer than the %d characters of its column.", limit),
		"limit", strconv.Itoa(limit))
}

// Pad pads the CHAR parts of a column with blanks, as Spark does with what
// comes out of a table; other writers may have left shorter texts there.
func Pad(v *chunk.Vector, t plan.Type) *chunk.Vector {
	out, err := mapText(v, t, func(s string, t plan.Type) (string, error) { return padText(s, t), nil })
	if err != nil {
		panic(err) // padding cannot fail
	}
	return out
}

// mapText copies a column with the bounded texts in it changed.
func mapText(v *chunk.Vector, t plan.Type, change func(string, plan.Type) (string, error),
) (*chunk.Vector, error) {
	if !t.Bounded() {
		return v, nil
	}
	if !t.IsAtomic() {
		m := *v
		m.Type, m.Kids = t.Unbounded(), make([]*chunk.Vector, len(v.Kids))
		for i, kid := range v.Kids {
			if t.Kind == plan.KindStruct && v.Valid != nil {
				// What a field holds in a NULL struct is no text of the table's.
				k := *kid
				k.Valid = kid.Valid.And(v.Valid, v.Len)
				kid = &k
			}
			var err error
			if m.Kids[i], err = mapText(kid, partType(t, i), change); err != nil {
				return nil, err
			}
		}
		return &m, nil
	}
	out := chunk.New(plan.String, v.Len)
	for i := range v.Len {
		if v.IsNull(i) {
			out.AppendNull()
			continue
		}
		s, err := change(v.Text(i), t)
		if err != nil {
			return nil, err
		}
		out.AppendText(s)
	}
	return out, nil
}

// partType is the type of a nested vector's kid.
func partType(t plan.Type, kid int) plan.Type {
	switch {
	case t.Kind == plan.KindStruct:
		return t.Fields[kid].Type
	case t.Kind == plan.KindMap && kid == 0:
		return *t.Key
	default:
		return *t.Elem
	}
}

func padText(s string, t plan.Type) string {
	if missing := t.Length - utf8.RuneCountInString(s); t.Kind == plan.KindChar && missing > 0 {
		return s + strings.Repeat(" ", missing)
	}
	return s
}
