package chunk

import (
	"errors"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/plan"
)

func TestABudgetCountsForAllAboveIt(t *testing.T) {
	server := NewBudget(nil, 100, "weir.server.maxMemory")
	query := NewBudget(server, 60, "weir.query.maxMemory")
	run, other := query.Part(), NewBudget(server, 60, "weir.query.maxMemory")
	for _, c := range []struct {
		who    *Budget
		n      int64
		refuse string
	}{
		{run, 50, ""}, {run, 11, "weir.query.maxMemory"}, {run, 10, ""}, {other, 41, "weir.server.maxMemory"},
		{other, 40, ""},
	} {
		err := c.who.Take("sort", c.n)
		var e *plan.Error
		if c.refuse == "" && err != nil || c.refuse != "" && (!errors.As(err, &e) ||
			e.Condition != "UNABLE_TO_ACQUIRE_MEMORY" || !strings.Contains(e.Error(), c.refuse)) {
			t.Errorf("take %d: got %v, want %q", c.n, err, c.refuse)
		}
	}
	if server.Used() != 100 || query.Used() != 60 {
		t.Errorf("the server holds %d, the query %d", server.Used(), query.Used())
	}
	other.Give(40)
	run.Close()
	if server.Used() != 0 || query.Used() != 0 {
		t.Errorf("after the end the server holds %d, the query %d", server.Used(), query.Used())
	}
}

func TestNoBudgetAllowsEverything(t *testing.T) {
	var none *Budget
	if err := none.Take("sort", 1<<60); err != nil {
		t.Error(err)
	}
	none.Give(1)
	none.Close()
}
