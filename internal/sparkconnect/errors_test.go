package sparkconnect

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	"github.com/weir-dev/weir/internal/plan"
)

// recordedChains are class chains as Spark 4.3.0 sent them.
var recordedChains = []string{
	"org.apache.spark.SparkArithmeticException java.lang.ArithmeticException java.lang.RuntimeException " +
		"java.lang.Exception java.lang.Throwable java.lang.Object",
	"org.apache.spark.SparkNumberFormatException java.lang.NumberFormatException " +
		"java.lang.IllegalArgumentException java.lang.RuntimeException java.lang.Exception " +
		"java.lang.Throwable java.lang.Object",
	"org.apache.spark.SparkArrayIndexOutOfBoundsException java.lang.ArrayIndexOutOfBoundsException " +
		"java.lang.IndexOutOfBoundsException java.lang.RuntimeException java.lang.Exception " +
		"java.lang.Throwable java.lang.Object",
	"org.apache.spark.SparkClassNotFoundException java.lang.ClassNotFoundException " +
		"java.lang.ReflectiveOperationException java.lang.Exception java.lang.Throwable java.lang.Object",
	"org.apache.spark.SparkSQLException java.sql.SQLException java.lang.Exception java.lang.Throwable " +
		"java.lang.Object",
	"org.apache.spark.sql.catalyst.parser.ParseException org.apache.spark.sql.AnalysisException " +
		"java.lang.Exception java.lang.Throwable java.lang.Object",
	"org.apache.spark.sql.catalyst.analysis.DatabaseAlreadyExistsException " +
		"org.apache.spark.sql.catalyst.analysis.NamespaceAlreadyExistsException " +
		"org.apache.spark.sql.AnalysisException java.lang.Exception java.lang.Throwable java.lang.Object",
	"org.apache.spark.sql.connector.catalog.CatalogNotFoundException org.apache.spark.SparkException " +
		"java.lang.Exception java.lang.Throwable java.lang.Object",
	"org.apache.spark.sql.streaming.StreamingQueryException java.lang.Exception java.lang.Throwable " +
		"java.lang.Object",
}

func TestClassChainsAreSparks(t *testing.T) {
	for _, want := range recordedChains {
		class, _, _ := strings.Cut(want, " ")
		if diff := cmp.Diff(strings.Fields(want), hierarchy(class)); diff != "" {
			t.Error(diff)
		}
	}
	for class := range parents {
		if chain := hierarchy(class); chain[len(chain)-1] != "java.lang.Object" || len(chain) > 9 {
			t.Errorf("%s: %v", class, chain)
		}
	}
}

func infoOf(t *testing.T, err error) (*status.Status, *errdetails.ErrorInfo) {
	t.Helper()
	s, ok := status.FromError(err)
	if !ok || len(s.Details()) != 1 {
		t.Fatalf("no status with one detail: %v", err)
	}
	return s, s.Details()[0].(*errdetails.ErrorInfo)
}

func TestStatusCarriesConditionStateAndParameters(t *testing.T) {
	var log errorLog
	e := plan.NewError(plan.ClassArithmetic, "DIVIDE_BY_ZERO", "Division by zero.", "config", "\"a\"")
	s, info := infoOf(t, statusOf(fmt.Errorf("batch 3: %w", e), &log))
	if want := "[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012"; s.Message() != want {
		t.Errorf("message %q, want %q", s.Message(), want)
	}
	got := map[string]string{}
	for k, v := range info.Metadata {
		got[k] = v
	}
	if log.get(got["errorId"]) != e {
		t.Error("the error is not kept under its id")
	}
	delete(got, "errorId")
	chain, err := json.Marshal(hierarchy(plan.ClassArithmetic))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"classes": string(chain), "errorClass": "DIVIDE_BY_ZERO", "sqlState": "22012",
		"messageParameters": `{"config":"\"a\""}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLargeErrorsStaySmallOnTheWire(t *testing.T) {
	long := strings.Repeat("ü", 5000) + " last line"
	e := plan.NewError(plan.ClassPython, "PYTHON_EXCEPTION", long, "traceback", long)
	s, info := infoOf(t, statusOf(e, nil))
	if len(s.Message()) > maxMessage || !strings.HasSuffix(s.Message(), "last line SQLSTATE: 38000") {
		t.Errorf("%d bytes, ending in %q", len(s.Message()), s.Message()[len(s.Message())-30:])
	}
	if info.Metadata["errorClass"] != "" || info.Metadata["messageParameters"] != "" {
		t.Error("large parameters travel in the trailers")
	}
	got := details(e).Errors[0]
	if got.Message != e.Error() || got.SparkThrowable.MessageParameters["traceback"] != long {
		t.Error("the details are not whole")
	}
}

func TestDetailsFollowCausesAndStop(t *testing.T) {
	var e *plan.Error
	for i := range 10 {
		next := plan.NewError(plan.ClassSpark, "", fmt.Sprint("level ", i))
		if e != nil {
			next.Cause = e
		}
		e = next
	}
	d := details(e)
	if len(d.Errors) != maxCauses || d.GetRootErrorIdx() != 0 || d.Errors[maxCauses-1].CauseIdx != nil {
		t.Errorf("%d errors", len(d.Errors))
	}
	d = details(&plan.Error{Class: plan.ClassStreamingQuery, Msg: "m", Cause: errors.New("disk full")})
	if len(d.Errors) != 2 || d.Errors[1].Message != "disk full" || *d.Errors[0].CauseIdx != 1 {
		t.Errorf("an error of the world as cause: %v", d.Errors)
	}
}

func TestQueryContextsCountCharacters(t *testing.T) {
	e := plan.NewError(plan.ClassArithmetic, "DIVIDE_BY_ZERO", "m")
	e.Origin = &plan.Origin{SQL: "SELECT 'ü', 1 / 0", Start: 13, Stop: 18, Line: 1, Pos: 12}
	c := details(e).Errors[0].SparkThrowable.QueryContexts[0]
	if c.StartIndex != 12 || c.StopIndex != 16 || c.Fragment != "1 / 0" {
		t.Errorf("%d to %d: %q", c.StartIndex, c.StopIndex, c.Fragment)
	}
}

func TestErrorLogForgetsTheOldest(t *testing.T) {
	var log errorLog
	first := log.add(&plan.Error{Msg: "first"})
	for range maxErrors - 1 {
		log.add(&plan.Error{})
	}
	if log.get(first) == nil {
		t.Error("forgotten too early")
	}
	log.add(&plan.Error{})
	if log.get(first) != nil || len(log.errors) != maxErrors {
		t.Error("kept too long")
	}
}
