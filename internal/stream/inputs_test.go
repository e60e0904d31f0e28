package stream

import (
	"fmt"
	"testing"

	"github.com/weir-dev/weir/internal/plan"
)

func TestLogsCountTheUsesOfANamedQueryAsOne(t *testing.T) {
	scan := func(name string, source, place int) *plan.Scan {
		return &plan.Scan{SourceName: name, Streaming: true, Source: source, Place: place}
	}
	for _, c := range []struct {
		scans []plan.Node // in the order of the plan
		want  string
	}{
		{[]plan.Node{scan("a", 0, 0), scan("b", 0, 0)}, "[a b] of 2"},
		{[]plan.Node{scan("a", 1, 1), scan("a", 1, 2)}, "[a a] of 1"},
		{[]plan.Node{scan("a", 1, 1), scan("a", 1, 1)}, "[a] of 1"},
		{[]plan.Node{scan("b", 2, 2), scan("a", 1, 1), scan("a", 1, 1)}, "[a b] of 2"},
		{[]plan.Node{scan("a", 1, 1), scan("b", 2, 2), scan("a", 1, 1), scan("a", 1, 3)}, "[a b a] of 2"},
		{[]plan.Node{scan("a", 1, 1), &plan.Scan{}}, "[a] of 1"},
	} {
		in := findInputs(&plan.SetOp{Inputs: c.scans})
		if got := fmt.Sprint(in.names(), " of ", len(in.list)); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
