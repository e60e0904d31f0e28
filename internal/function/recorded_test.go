package function_test

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
)

// recorded is an expression and what Spark 4.3.0 gives for it.
type recorded struct {
	ID, Family, Expr, Tail, TZ string
	Name                       string // of the column
	Conf                       map[string]string
	Approx                     bool
	Type                       string
	Nullable                   bool
	Value                      json.RawMessage
	Values                     []json.RawMessage
	Show                       string
	Shows                      []string
	NoValue                    bool `json:"novalue"`
	Error                      *recordedError
}

type recordedError struct {
	Class, Condition, SQLState string
	Args                       map[string]string `json:"messageParameters"`
	Context                    [][]any
}

func recordings(t testing.TB) []recorded {
	f, err := os.Open("testdata/expressions.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []recorded
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		var r recorded
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		out = append(out, r)
	}
	return out
}

var showFailures = flag.String("failures", "", "family whose failures are printed, or all")

// TestExpressionsGiveWhatSparkGives evaluates Spark's recordings. Those listed
// in testdata/ratchet.tsv fail so far, each with the reason; the list may only
// shrink.
func TestExpressionsGiveWhatSparkGives(t *testing.T) {
	known := ratchet(t)
	passed, total := map[string]int{}, map[string]int{}
	var failing []string
	for _, r := range recordings(t) {
		total[r.Family]++
		err := check(&r)
		if err == nil {
			passed[r.Family]++
			if reason, listed := known[r.ID]; listed {
				t.Errorf("%s (%s) passes: drop it from the ratchet (%s)", r.ID, r.Expr, reason)
			}
			continue
		}
		failing = append(failing, r.ID+"\t"+r.Family+"\t"+oneLine(r.Expr)+"\t"+oneLine(err.Error()))
		if *showFailures == "all" || *showFailures == r.Family {
			t.Logf("%s %s: %s\n\t%v", r.Family, r.ID, r.Expr, err)
		}
		if _, listed := known[r.ID]; !listed {
			t.Errorf("%s %s: %s\n\t%v", r.Family, r.ID, r.Expr, err)
		}
	}
	for _, family := range slices.Sorted(maps.Keys(total)) {
		t.Logf("%-12s %4d of %4d", family, passed[family], total[family])
	}
	if path := os.Getenv("WEIR_FAILING"); path != "" {
		slices.Sort(failing)
		if err := os.WriteFile(path, []byte(strings.Join(failing, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func oneLine(s string) string { return strings.NewReplacer("\n", " ", "\t", " ").Replace(s) }

// ratchet is the ids that may fail, with the reasons.
func ratchet(t *testing.T) map[string]string {
	text, err := os.ReadFile("testdata/ratchet.tsv")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(cells) >= 2 && !strings.HasPrefix(line, "#") {
			known[cells[0]] = cells[1]
		}
	}
	return known
}

// check evaluates a recording and compares all that was recorded.
func check(r *recorded) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	env := environment(r)
	e, vec, err := run(r, env)
	if r.Error != nil {
		return sameError(r, err)
	}
	if err != nil {
		return err
	}
	t := e.Type()
	if got := t.Simple(); got != r.Type {
		return fmt.Errorf("type %s, not %s", got, r.Type)
	}
	if e.Nullable() != r.Nullable {
		return fmt.Errorf("nullable %v, not %v", e.Nullable(), r.Nullable)
	}
	if got := plan.SQLTextIn(e, env.Zone); r.Name != "" && got != r.Name {
		return fmt.Errorf("named %q, not %q", got, r.Name)
	}
	return sameRows(r, vec, env)
}

const recordedNow = 1_700_000_000_000_000

func environment(r *recorded) *function.Env {
	zone, err := codec.Zone(cmp.Or(r.TZ, "UTC"))
	if err != nil {
		panic(err)
	}
	return &function.Env{ANSI: r.Conf["spark.sql.ansi.enabled"] != "false", Zone: zone, Now: recordedNow,
		Schema: sql.ParseSchema,
		Conf: func(key string) string {
			return cmp.Or(r.Conf[key], map[string]string{function.ConfSchema: "default"}[key])
		}}
}

// run resolves and evaluates.
func run(r *recorded, env *function.Env) (plan.Expr, *chunk.Vector, error) {
	e, err := parse(r.Expr)
	if err != nil {
		return nil, nil, err
	}
	table, err := tableOf(r.Tail)
	if err != nil {
		return nil, nil, err
	}
	res := &resolver{env: env, cols: table.cols}
	if e, err = res.resolve(e); err != nil {
		return nil, nil, err
	}
	ev := &evaluator{env: env, cols: table.vectors(), aggregates: map[*plan.AggregateCall]*chunk.Vector{}}
	n := table.rows
	if isAggregate := plan.Contains(e, func(p plan.Expr) bool {
		_, ok := p.(*plan.AggregateCall)
		return ok
	}); isAggregate {
		if err := ev.aggregateAll(e, table.groups, table.count); err != nil {
			return e, nil, err
		}
		n = table.count
	}
	vec, err := ev.eval(e, nil, n)
	return e, vec, err
}

// table is the rows that a recording reads.
type table struct {
	cols   []*plan.Attribute
	data   *chunk.Chunk
	rows   int
	groups []int32
	count  int
}

func (t *table) vectors() map[plan.ExprID]*chunk.Vector {
	cols := map[plan.ExprID]*chunk.Vector{}
	for i, a := range t.cols {
		cols[a.ID] = t.data.Cols[i]
	}
	return cols
}

const fiveRows = "FROM VALUES (1, 'a', 10, 1.5D, 2.50), (2, 'a', NULL, -0.5D, 1.25), " +
	"(3, 'b', 30, NULL, NULL), (4, 'b', 20, 4.0D, 10.00), (5, NULL, 20, 2.25D, 0.01) AS t(id, k, i, d, m)"

func tableOf(tail string) (*table, error) {
	col := func(name string, t plan.Type, null bool) plan.Field {
		return plan.Field{Name: name, Type: t, Nullable: null}
	}
	five := plan.Struct(col("id", plan.Int, false), col("k", plan.String, true), col("i", plan.Int, true),
		col("d", plan.Double, true), col("m", plan.Decimal(4, 2), true))
	dec := func(n uint64) chunk.Dec { return chunk.Dec(decimalFromUint(n)) }
	rows := [][]plan.Value{{int64(1), "a", int64(10), 1.5, dec(250)}, {int64(2), "a", nil, -0.5, dec(125)},
		{int64(3), "b", int64(30), nil, nil}, {int64(4), "b", int64(20), 4.0, dec(1000)},
		{int64(5), nil, int64(20), 2.25, dec(1)}}
	switch tail {
	case "":
		return newTable(plan.Struct(), nil, make([]int32, 1), 1), nil
	case fiveRows, fiveRows + " ORDER BY id":
		return newTable(five, rows, make([]int32, 5), 1), nil
	case fiveRows + " GROUP BY k ORDER BY k":
		return newTable(five, rows, []int32{1, 1, 2, 2, 0}, 3), nil
	case "FROM VALUES (1, 'a', 10, 1.5D, 2.50) AS t(id, k, i, d, m) WHERE id > 5":
		for i := range five.Fields {
			five.Fields[i].Nullable = false
		}
		return newTable(five, nil, nil, 1), nil
	case "FROM VALUES (CAST(NULL AS INT)), (NULL) AS t(i)":
		return newTable(plan.Struct(plan.Col("i", plan.Int)), [][]plan.Value{{nil}, {nil}},
			make([]int32, 2), 1), nil
	default:
		return nil, fmt.Errorf("the test has no rows for %s", tail)
	}
}

func newTable(schema plan.Type, rows [][]plan.Value, groups []int32, count int) *table {
	t := &table{data: chunk.FromRows(schema, rows...), rows: len(groups), groups: groups, count: count}
	for i, f := range schema.Fields {
		t.cols = append(t.cols, &plan.Attribute{Name: f.Name, Of: f.Type, Null: f.Nullable, ID: plan.ExprID(i + 1)})
	}
	return t
}

// prose are the parameters that hold sentences, which are our own.
var prose = map[string]bool{"message": true, "msg": true, "hint": true, "error": true, "reason": true}

func sameError(r *recorded, err error) error {
	want := r.Error
	var got *plan.Error
	if err == nil || !errors.As(err, &got) {
		return fmt.Errorf("no error but %v, not %s", err, want.Condition)
	}
	if got.Condition != want.Condition || got.State != want.SQLState && want.SQLState != "" {
		return fmt.Errorf("%s (%s) instead of %s (%s): %v", got.Condition, got.State, want.Condition,
			want.SQLState, got)
	}
	for k, v := range want.Args {
		if got.Args[k] != v && !prose[k] {
			return fmt.Errorf("%s: parameter %s is %q, not %q", got.Condition, k, got.Args[k], v)
		}
	}
	if len(got.Args) != len(want.Args) {
		return fmt.Errorf("%s: parameters %v, not %v", got.Condition, got.Args, want.Args)
	}
	return samePlace(got, want)
}

// queryOffset is where the expression began in the recorded query, SELECT ….
const queryOffset = len("SELECT ")

func samePlace(got *plan.Error, want *recordedError) error {
	if got.Class == plan.ClassParse {
		return nil // the room sql answers for those
	}
	if len(want.Context) == 0 {
		if got.Origin != nil {
			return fmt.Errorf("%s stands at %q, but at no place", got.Condition, got.Origin.Text())
		}
		return nil
	}
	start, stop := int(want.Context[0][0].(float64)), int(want.Context[0][1].(float64))
	if start < 0 {
		return nil
	}
	if got.Origin == nil {
		return fmt.Errorf("%s stands at no place, but at %v", got.Condition, want.Context)
	}
	text := []rune(got.Origin.SQL[:got.Origin.Start])
	end := []rune(got.Origin.SQL[:got.Origin.Stop])
	if len(text)+queryOffset != start || len(end)+queryOffset-1 != stop {
		return fmt.Errorf("%s stands at %q, not at %v", got.Condition, got.Origin.Text(), want.Context)
	}
	return nil
}

func sameRows(r *recorded, vec *chunk.Vector, env *function.Env) error {
	values, shows := r.Values, r.Shows
	if values == nil {
		values, shows = []json.RawMessage{r.Value}, []string{r.Show}
	}
	if vec.Len != len(values) {
		return fmt.Errorf("%d rows, not %d", vec.Len, len(values))
	}
	style := codec.TextStyle{Zone: codec.NewOffsets(env.Zone), Pretty: true}
	for i := range values {
		if !r.NoValue {
			var want any
			d := json.NewDecoder(strings.NewReader(string(values[i])))
			d.UseNumber()
			if err := d.Decode(&want); err != nil {
				return err
			}
			if err := sameValue(vec, i, want, r.Approx); err != nil {
				return err
			}
		}
		got := strings.TrimRight(escapeShown(string(style.AppendValue(nil, vec, i))), " ")
		if i < len(shows) && got != shows[i] && !r.Approx && !strings.Contains(shows[i], "\ufffd") {
			return fmt.Errorf("shows %q, not %q", got, shows[i])
		}
	}
	return nil
}

// escapeShown is what show does to a cell.
func escapeShown(s string) string {
	return strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`, "\f", `\f`, "\b", `\b`, "\v", `\v`, "\a",
		`\a`).Replace(s)
}

func sameValue(v *chunk.Vector, i int, want any, approx bool) error {
	if v.IsNull(i) || want == nil {
		if v.IsNull(i) != (want == nil) {
			return fmt.Errorf("value is %v, not %v", v.Value(i), want)
		}
		return nil
	}
	switch v.Type.Kind {
	case plan.KindFloat, plan.KindDouble:
		return sameFloat(v, i, want.(string), approx)
	case plan.KindArray:
		from, to := v.Span(i)
		list := want.([]any)
		if len(list) != to-from {
			return fmt.Errorf("value is %v, not %v", v.Value(i), want)
		}
		for k, w := range list {
			if err := sameValue(v.Kids[0], from+k, w, approx); err != nil {
				return err
			}
		}
		return nil
	case plan.KindMap, plan.KindStruct, plan.KindVariant, plan.KindDate, plan.KindTimestamp,
		plan.KindTimestampNTZ,
		plan.KindTime, plan.KindYearMonth:
		return nil // what show prints tells enough
	case plan.KindDayTime:
		return sameText(strconv.FormatInt(chunk.Values[int64](v)[i], 10), want.(map[string]any)["micros"])
	case plan.KindCalendar:
		x, m := chunk.Values[plan.Interval](v)[i], want.(map[string]any)
		return errors.Join(sameText(fmt.Sprint(x.Months), m["months"]), sameText(fmt.Sprint(x.Days), m["days"]),
			sameText(fmt.Sprint(x.Micros), m["micros"]))
	case plan.KindBinary:
		return sameText(hex.EncodeToString(v.Bytes(i)), want)
	case plan.KindString:
		if !strings.Contains(fmt.Sprint(want), `\x`) && !strings.Contains(fmt.Sprint(want), "\ufffd") {
			return sameText(v.Text(i), want)
		}
		return nil
	case plan.KindDecimal:
		return sameText(string(codec.AppendDecimal(nil, chunk.Values[chunk.Dec](v)[i], v.Type.Scale)), want)
	default:
		return sameText(fmt.Sprint(v.Value(i)), want)
	}
}

func sameText(got string, want any) error {
	if got != fmt.Sprint(want) {
		return fmt.Errorf("value is %q, not %q", got, want)
	}
	return nil
}

func sameFloat(v *chunk.Vector, i int, want string, approx bool) error {
	bits := 64
	x := 0.0
	if v.Type.Kind == plan.KindFloat {
		bits, x = 32, float64(chunk.Values[float32](v)[i])
	} else {
		x = chunk.Values[float64](v)[i]
	}
	w, err := strconv.ParseFloat(want, bits)
	if err != nil {
		return err
	}
	same := x == w && math.Signbit(x) == math.Signbit(w) || x != x && w != w
	if !same && !(approx && math.Abs(x-w) <= 1e-12*math.Abs(w)) {
		return fmt.Errorf("value is %v, not %v", x, w)
	}
	return nil
}
