package fn

import (
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/function/letters"
	"github.com/weir-dev/weir/internal/plan"
)

// Input is what a parameter takes: a type, or a family of types.
type Input struct {
	Text    string // in error texts, quoted as Spark quotes it
	Accepts func(t plan.Type) bool
	// concrete is what a value of another family is cast to.
	Concrete plan.Type
	Family   family
	options  []Input // when any of several will do
}

// family tells apart the inputs that coercion treats specially.
type family uint8

const (
	familyType family = iota
	familyAny
	familyNumeric
	familyIntegral
	familyDecimal
	familyText
	familyTimestamps
	familyArray
	FamilyOther
	familyOneOf
)

func Quoted(s string) string { return `"` + s + `"` }

// SqlType is a type as error parameters write it.
func SqlType(t plan.Type) string { return Quoted(t.SQL()) }

// Exactly takes one type.
func Exactly(t plan.Type) Input {
	return Input{Text: SqlType(t), Accepts: t.EqualIgnoringNull, Concrete: t}
}

func Anything() Input {
	return Input{Text: Quoted("ANY"), Accepts: func(plan.Type) bool { return true }, Family: familyAny}
}

func Numeric() Input {
	return Input{Text: Quoted("NUMERIC"), Accepts: plan.Type.IsNumeric, Concrete: plan.Double,
		Family: familyNumeric}
}

func Integral() Input {
	return Input{Text: Quoted("INTEGRAL"), Accepts: plan.Type.IsIntegral, Concrete: plan.Int,
		Family: familyIntegral}
}

func Decimals() Input {
	return Input{Text: Quoted("DECIMAL"), Accepts: OfKind(plan.KindDecimal), Concrete: plan.Decimal(38, 18),
		Family: familyDecimal}
}

func Str() Input {
	return Input{Text: Quoted("STRING"), Accepts: plan.Type.IsString, Concrete: plan.String, Family: familyText}
}

func OfKind(k plan.Kind) func(plan.Type) bool { return func(t plan.Type) bool { return t.Kind == k } }

// Times takes times of day.
func Times() Input {
	return Input{Text: Quoted("TIME"), Family: FamilyOther, Accepts: OfKind(plan.KindTime)}
}

func Timestamps() Input {
	return Input{Text: Quoted("(TIMESTAMP OR TIMESTAMP WITHOUT TIME ZONE)"), Concrete: plan.Timestamp,
		Accepts: IsTimestamp, Family: familyTimestamps}
}

func IsTimestamp(t plan.Type) bool {
	return t.Kind == plan.KindTimestamp || t.Kind == plan.KindTimestampNTZ
}

// NanoTimestamps is a type family of Spark that weir has no values of; it only
// stands in error texts.
func NanoTimestamps() Input {
	return Input{Text: Quoted("(TIMESTAMP_LTZ(P) OR TIMESTAMP_NTZ(P) WITH P IN [7, 9])"), Family: FamilyOther,
		Accepts: func(plan.Type) bool { return false }}
}

func AnyArray() Input {
	return Input{Text: Quoted("ARRAY"), Accepts: OfKind(plan.KindArray), Family: FamilyOther,
		Concrete: plan.Array(plan.Null, true)}
}

func AnyMap() Input {
	return Input{Text: Quoted("MAP"), Accepts: OfKind(plan.KindMap), Family: FamilyOther,
		Concrete: plan.Map(plan.Null, plan.Null, true)}
}

// ArrayOf takes arrays whose elements elem takes.
func ArrayOf(elem Input) Input {
	t := strings.Trim(elem.Text, `"`)
	return Input{
		Text:     Quoted("ARRAY<" + t + ">"),
		Accepts:  func(t plan.Type) bool { return t.Kind == plan.KindArray && elem.Accepts(*t.Elem) },
		Concrete: plan.Array(elem.Concrete, true),
		Family:   familyArray,
		options:  []Input{elem},
	}
}

// Interval is a family of ANSI intervals, whatever their fields.
func Interval(k plan.Kind) Input {
	switch k {
	case plan.KindDayTime:
		return Input{Text: Quoted("INTERVAL DAY TO SECOND"), Accepts: OfKind(k), Concrete: plan.DayTime,
			Family: FamilyOther}
	case plan.KindYearMonth:
		return Input{Text: Quoted("INTERVAL YEAR TO MONTH"), Accepts: OfKind(k), Concrete: plan.YearMonth,
			Family: FamilyOther}
	default:
		return Exactly(plan.Calendar)
	}
}

func AnsiIntervals() Input {
	return Input{Text: Quoted("ANSI INTERVAL"), Family: FamilyOther, Concrete: plan.DayTime,
		Accepts: IsANSIInterval}
}

func IsANSIInterval(t plan.Type) bool {
	return t.Kind == plan.KindDayTime || t.Kind == plan.KindYearMonth
}

// OneOf takes what any of the options takes; casts try them in order.
func OneOf(options ...Input) Input {
	texts := make([]string, len(options))
	for i, o := range options {
		texts[i] = o.Text
	}
	return Input{
		Text: "(" + strings.Join(texts, " or ") + ")",
		Accepts: func(t plan.Type) bool {
			for _, o := range options {
				if o.Accepts(t) {
					return true
				}
			}
			return false
		},
		Concrete: options[0].Concrete,
		Family:   familyOneOf,
		options:  options,
	}
}

// NumericOrInterval is what + and abs take.
func NumericOrInterval() Input {
	return OneOf(Numeric(), Interval(plan.KindDayTime), Interval(plan.KindYearMonth),
		Interval(plan.KindCalendar))
}

func IsFloat(t plan.Type) bool { return t.Kind == plan.KindFloat || t.Kind == plan.KindDouble }

func TrimBlanks(s string) string {
	for s != "" && s[0] == ' ' {
		s = s[1:]
	}
	for s != "" && s[len(s)-1] == ' ' {
		s = s[:len(s)-1]
	}
	return s
}

// HasMap reports whether a type is a map or has one within it.
func HasMap(t plan.Type) bool { return within(t, plan.KindMap) }

// HasVariant reports whether a type is a variant or has one within it, keys and values of maps apart.
func HasVariant(t plan.Type) bool { return within(t, plan.KindVariant) }

func within(t plan.Type, k plan.Kind) bool {
	return t.Kind == k || t.Kind == plan.KindArray && within(*t.Elem, k) ||
		slices.ContainsFunc(t.Fields, func(f plan.Field) bool { return within(f.Type, k) })
}

func UpperWord(s string) string { return string(letters.AppendUpper(nil, []byte(s))) }
