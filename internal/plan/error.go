package plan

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Java classes of errors, as the client maps them to Python exceptions.
const (
	ClassAnalysis         = "org.apache.spark.sql.AnalysisException"
	ClassExtendedAnalysis = "org.apache.spark.sql.catalyst.ExtendedAnalysisException"
	ClassParse            = "org.apache.spark.sql.catalyst.parser.ParseException"
	ClassArithmetic       = "org.apache.spark.SparkArithmeticException"
	ClassNumberFormat     = "org.apache.spark.SparkNumberFormatException"
	ClassDateTime         = "org.apache.spark.SparkDateTimeException"
	ClassArrayIndex       = "org.apache.spark.SparkArrayIndexOutOfBoundsException"
	ClassRuntime          = "org.apache.spark.SparkRuntimeException"
	ClassSpark            = "org.apache.spark.SparkException"
	ClassIllegal          = "org.apache.spark.SparkIllegalArgumentException"
	ClassUnsupported      = "org.apache.spark.SparkUnsupportedOperationException"
	ClassNoSuchElement    = "org.apache.spark.SparkNoSuchElementException"
	ClassUpgrade          = "org.apache.spark.SparkUpgradeException"
	ClassClassNotFound    = "org.apache.spark.SparkClassNotFoundException"
	ClassInvalidPlan      = "org.apache.spark.sql.connect.common.InvalidPlanInput"
	ClassInvalidCommand   = "org.apache.spark.sql.connect.common.InvalidCommandInput"
	ClassStreamingQuery   = "org.apache.spark.sql.streaming.StreamingQueryException"
	ClassSparkSQL         = "org.apache.spark.SparkSQLException"
	ClassPython           = "org.apache.spark.api.python.PythonException"
	ClassJavaIllegal      = "java.lang.IllegalArgumentException"
	ClassJavaState        = "java.lang.IllegalStateException"
	ClassJavaUnsupported  = "java.lang.UnsupportedOperationException"
)

// Error is a mistake of the user's: Spark's class, condition and parameters,
// which programs match on, and a sentence of our own, which people read.
type Error struct {
	Class     string // Java class, see the constants
	Condition string // such as DIVIDE_BY_ZERO or A.B; "" for plain Java exceptions
	State     string // SQLSTATE; filled from the condition
	Args      map[string]string
	Msg       string // one sentence, no condition, no SQLSTATE
	Hint      string // the way out, may be empty
	Origin    *Origin
	Cause     error
}

// Origin is where in the user's program an expression stands.
type Origin struct {
	// Of SQL text: the whole text and the fragment [Start, Stop), in bytes,
	// with the line (from 1) and column (from 0) of its start.
	SQL         string
	Start, Stop int
	Line, Pos   int

	// Of DataFrame code: the method's name and the user's file:line.
	Fragment, CallSite string
}

// Text is the fragment of SQL text, or the DataFrame method.
func (o *Origin) Text() string {
	if o.SQL == "" {
		return o.Fragment
	}
	return o.SQL[o.Start:o.Stop]
}

// Error is the text that users see: [CONDITION] sentence SQLSTATE: xxxxx.
// As in Spark, _LEGACY_ conditions and those of its Kafka connector are not
// shown.
func (e *Error) Error() string {
	var b strings.Builder
	quiet := strings.HasPrefix(e.Condition, "_LEGACY_") || strings.HasPrefix(e.Class, kafkaClasses)
	if e.Condition != "" && !quiet {
		b.WriteString("[" + e.Condition + "] ")
	}
	b.WriteString(e.Msg)
	if e.Hint != "" {
		b.WriteString(" " + e.Hint)
	}
	if e.State != "" && !quiet {
		b.WriteString(" SQLSTATE: " + e.State)
	}
	if e.Class == ClassParse && e.Origin != nil {
		b.WriteString(e.Origin.Excerpt())
	}
	return b.String()
}

// kafkaClasses begins the names of what Spark's Kafka connector throws.
const kafkaClasses = "org.apache.spark.sql.kafka010."

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Cause }

// At is the error with its place in the user's program, unless it has one.
func (e *Error) At(o *Origin) *Error {
	if e.Origin == nil {
		e.Origin = o
	}
	return e
}

// NewError makes an error of a condition. args alternate key and value.
func NewError(class, condition, msg string, args ...string) *Error {
	e := &Error{Class: class, Condition: condition, State: SQLState(condition), Msg: msg}
	if condition != "" {
		e.Args = map[string]string{}
	}
	for i := 0; i+1 < len(args); i += 2 {
		e.Args[args[i]] = args[i+1]
	}
	return e
}

// AnalysisError is a mistake found before anything ran.
func AnalysisError(condition, msg string, args ...string) *Error {
	return NewError(ClassAnalysis, condition, msg, args...)
}

// IllegalArgument is a plain Java exception without a condition.
func IllegalArgument(format string, args ...any) *Error {
	return &Error{Class: ClassJavaIllegal, Msg: fmt.Sprintf(format, args...)}
}

// Unsupported refuses something that Spark has and weir has not, by name.
func Unsupported(what string) *Error {
	return &Error{
		Class: ClassJavaUnsupported,
		Msg:   what + " is not supported by weir.",
		Hint:  "The same program runs on Apache Spark by changing the URL.",
	}
}

//go:embed spark_errors.tsv
var conditionTable string

var conditions = sync.OnceValue(func() map[string]string {
	table := map[string]string{}
	for line := range strings.Lines(conditionTable) {
		cells := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(cells) >= 2 && !strings.HasPrefix(line, "#") {
			table[cells[0]] = cells[1]
		}
	}
	return table
})

// SQLState is the SQLSTATE of a condition, "" when it has none. A subclass
// without its own has that of its class.
func SQLState(condition string) string {
	table := conditions()
	for condition != "" {
		if s := table[condition]; s != "" {
			return s
		}
		dot := strings.LastIndexByte(condition, '.')
		if dot < 0 {
			return ""
		}
		condition = condition[:dot]
	}
	return ""
}

// Conditions lists every condition of Spark 4.3, sorted.
func Conditions() []string { return slices.Sorted(maps.Keys(conditions())) }
