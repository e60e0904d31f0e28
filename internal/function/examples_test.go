package function_test

import (
	"os"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
)

// TestExamplesGiveWhatTheySay executes the examples of every function; those of
// aggregates over the five rows of the recordings.
func TestExamplesGiveWhatTheySay(t *testing.T) {
	for _, d := range function.All() {
		if len(d.Examples) == 0 && !d.Hidden && !noExample(d) {
			t.Errorf("%s has no example", d.Name)
		}
		for _, x := range d.Examples {
			r := &recorded{Expr: x.SQL()}
			if d.BindAggregate != nil {
				r.Tail = fiveRows
			}
			env := environment(r)
			_, v, err := run(r, env)
			if err != nil {
				t.Errorf("%s: %v", x.SQL(), err)
				continue
			}
			style := codec.TextStyle{Zone: codec.NewOffsets(env.Zone), Pretty: true}
			if got := string(style.AppendValue(nil, v, 0)); got != x.Want() {
				t.Errorf("%s gives %q, not %q", x.SQL(), got, x.Want())
			}
		}
	}
}

// noExample are functions that give no value here: generators and what depends
// on the partition are computed by exec, raise_error gives nothing.
func noExample(d *function.Def) bool {
	return d.Generator || d.Window != nil || d.Name == "raise_error" || d.Kernel == nil && d.Volatile
}

func TestEveryNameIsFoundWhateverItsCase(t *testing.T) {
	last := ""
	for _, d := range function.All() {
		if d.Name < last {
			t.Errorf("%s stands behind %s", d.Name, last)
		}
		last = d.Name
		for _, name := range append([]string{d.Name}, d.Aliases...) {
			if found, ok := function.Lookup(strings.ToUpper(name)); !ok || found != d {
				t.Errorf("%s is not found", name)
			}
		}
		bound := d.Bind != nil || d.Rewrite != nil || d.BindAggregate != nil
		evaluated := d.Kernel != nil || d.Higher != nil || d.Lazy || d.Rewrite != nil || d.Accumulate != nil ||
			d.Generator || d.Window != nil || d.Volatile
		if !bound || !evaluated {
			t.Errorf("%s cannot be bound (%v) or evaluated (%v)", d.Name, bound, evaluated)
		}
	}
}

// TestCastsAreAllowedAsInSpark goes through Spark's own table of casts.
func TestCastsAreAllowedAsInSpark(t *testing.T) {
	text, err := os.ReadFile("testdata/casts.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), "\t")
		if strings.HasPrefix(line, "#") {
			continue
		}
		from, err1 := sql.ParseType(cells[0])
		to, err2 := sql.ParseType(cells[1])
		if err1 != nil || err2 != nil {
			t.Errorf("%s: %v, %v", line, err1, err2)
			continue
		}
		for i, got := range []bool{
			function.CanCast(from, to, plan.CastLegacy), function.CanCast(from, to, plan.CastANSI),
			function.CanCast(from, to, plan.CastTry), plan.CanUpCast(from, to), plan.ForceNullable(from, to),
		} {
			if want := cells[2+i] == "+"; got != want {
				t.Errorf("%s to %s, column %d: %v, not %v", cells[0], cells[1], 2+i, got, want)
			}
		}
	}
}
