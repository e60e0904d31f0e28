package session

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
	"github.com/weir-dev/weir/internal/vfs"
)

func expression(t *testing.T, text string) plan.Expr {
	t.Helper()
	e, err := sql.ParseExpr(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestReportJN09: a plan says until when each side of a join is held, and where time is.
func TestReportJN09(t *testing.T) {
	const near = "l.value = r.value AND r.timestamp >= l.timestamp AND " +
		"r.timestamp <= l.timestamp + INTERVAL 5 SECONDS"
	for _, c := range []struct{ cond, left, right string }{
		{near, "until the watermark is timestamp#%L + 5001 ms", "until the watermark is timestamp#%R + 1 ms"},
		{"l.timestamp = r.timestamp", "until the watermark is timestamp#%L", "until the watermark is timestamp#%R"},
		{"l.value = r.value", "for ever", "for ever"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := openEngine(t, vfs.NewMemory()).NewSession("u", "s")
			side := func(name string) plan.Node {
				return plan.NewAlias(plan.NewWatermark(rate(), expression(t, "timestamp"), "10 seconds"), name)
			}
			q := start(t, s, &plan.StartStream{Format: "noop", Input: &plan.Join{
				Left: side("l"), Right: side("r"), Kind: plan.InnerJoin, Cond: expression(t, c.cond)}})
			time.Sleep(3500 * time.Millisecond)
			text := q.Explain(false)
			line := text[strings.Index(text, "StreamingSymmetricHashJoin"):]
			line, _, _ = strings.Cut(line, "\n")
			_, sides, _ := strings.Cut(line, ", left rows held ")
			left, right, _ := strings.Cut(sides, ", right rows held ")
			if !sameBound(left, c.left) || !sameBound(right, c.right) {
				t.Errorf("%s: held %q and %q, want %q and %q", c.cond, left, right, c.left, c.right)
			}
			if want := "Watermark of the last batch: 1999-12-31T23:59:5"; !strings.Contains(text, want) {
				t.Errorf("%q lacks %q", text, want)
			}
			if err := q.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// sameBound compares with a bound whose column has any number.
func sameBound(got, want string) bool {
	before, after, marked := strings.Cut(want, "%")
	if !marked {
		return got == want
	}
	rest, ok := strings.CutPrefix(got, before)
	return ok && strings.TrimLeft(rest, "0123456789") == after[1:]
}
