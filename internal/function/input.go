package function

import (
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// input is what a parameter takes: a type, or a family of types.
type input struct {
	text    string // in error texts, quoted as Spark quotes it
	accepts func(t plan.Type) bool
	// concrete is what a value of another family is cast to.
	concrete plan.Type
	family   family
	options  []input // when any of several will do
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
	familyOther
	familyOneOf
)

func quoted(s string) string { return `"` + s + `"` }

// sqlType is a type as error parameters write it.
func sqlType(t plan.Type) string { return quoted(t.SQL()) }

// exactly takes one type.
func exactly(t plan.Type) input {
	return input{text: sqlType(t), accepts: t.EqualIgnoringNull, concrete: t}
}

func anything() input {
	return input{text: quoted("ANY"), accepts: func(plan.Type) bool { return true }, family: familyAny}
}

func numeric() input {
	return input{text: quoted("NUMERIC"), accepts: plan.Type.IsNumeric, concrete: plan.Double,
		family: familyNumeric}
}

func integral() input {
	return input{text: quoted("INTEGRAL"), accepts: plan.Type.IsIntegral, concrete: plan.Int,
		family: familyIntegral}
}

func decimals() input {
	return input{text: quoted("DECIMAL"), accepts: ofKind(plan.KindDecimal), concrete: plan.Decimal(38, 18),
		family: familyDecimal}
}

func str() input {
	return input{text: quoted("STRING"), accepts: plan.Type.IsString, concrete: plan.String, family: familyText}
}

func ofKind(k plan.Kind) func(plan.Type) bool { return func(t plan.Type) bool { return t.Kind == k } }

func timestamps() input {
	return input{text: quoted("(TIMESTAMP OR TIMESTAMP WITHOUT TIME ZONE)"), concrete: plan.Timestamp,
		accepts: isTimestamp, family: familyTimestamps}
}

func isTimestamp(t plan.Type) bool {
	return t.Kind == plan.KindTimestamp || t.Kind == plan.KindTimestampNTZ
}

// nanoTimestamps is a type family of Spark that weir has no values of; it only
// stands in error texts.
func nanoTimestamps() input {
	return input{text: quoted("(TIMESTAMP_LTZ(P) OR TIMESTAMP_NTZ(P) WITH P IN [7, 9])"), family: familyOther,
		accepts: func(plan.Type) bool { return false }}
}

func anyArray() input {
	return input{text: quoted("ARRAY"), accepts: ofKind(plan.KindArray), family: familyOther,
		concrete: plan.Array(plan.Null, true)}
}

func anyMap() input {
	return input{text: quoted("MAP"), accepts: ofKind(plan.KindMap), family: familyOther,
		concrete: plan.Map(plan.Null, plan.Null, true)}
}

// arrayOf takes arrays whose elements elem takes.
func arrayOf(elem input) input {
	t := strings.Trim(elem.text, `"`)
	return input{
		text:     quoted("ARRAY<" + t + ">"),
		accepts:  func(t plan.Type) bool { return t.Kind == plan.KindArray && elem.accepts(*t.Elem) },
		concrete: plan.Array(elem.concrete, true),
		family:   familyArray,
		options:  []input{elem},
	}
}

// interval is a family of ANSI intervals, whatever their fields.
func interval(k plan.Kind) input {
	switch k {
	case plan.KindDayTime:
		return input{text: quoted("INTERVAL DAY TO SECOND"), accepts: ofKind(k), concrete: plan.DayTime,
			family: familyOther}
	case plan.KindYearMonth:
		return input{text: quoted("INTERVAL YEAR TO MONTH"), accepts: ofKind(k), concrete: plan.YearMonth,
			family: familyOther}
	default:
		return exactly(plan.Calendar)
	}
}

func ansiIntervals() input {
	return input{text: quoted("ANSI INTERVAL"), family: familyOther, concrete: plan.DayTime,
		accepts: isANSIInterval}
}

func isANSIInterval(t plan.Type) bool {
	return t.Kind == plan.KindDayTime || t.Kind == plan.KindYearMonth
}

// oneOf takes what any of the options takes; casts try them in order.
func oneOf(options ...input) input {
	texts := make([]string, len(options))
	for i, o := range options {
		texts[i] = o.text
	}
	return input{
		text: "(" + strings.Join(texts, " or ") + ")",
		accepts: func(t plan.Type) bool {
			for _, o := range options {
				if o.accepts(t) {
					return true
				}
			}
			return false
		},
		concrete: options[0].concrete,
		family:   familyOneOf,
		options:  options,
	}
}

// numericOrInterval is what + and abs take.
func numericOrInterval() input {
	return oneOf(numeric(), interval(plan.KindDayTime), interval(plan.KindYearMonth),
		interval(plan.KindCalendar))
}
