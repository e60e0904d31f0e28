package session

import (
	"fmt"
	"strings"

	"github.com/weir-dev/weir/internal/exec"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// explainRunning prints the plan of a running query. What keeps state is shown as the
// operators that Spark runs for it, by the names that progress reports have.
func explainRunning(n plan.Node, extended bool, p physicalStream) string {
	mode := plan.ExplainSimple
	if extended {
		mode = plan.ExplainExtended
	}
	var b strings.Builder
	p.write(&b, n, "", "")
	return plan.ExplainText(n, n, mode, b.String())
}

// physicalStream draws streams as Spark's physical plans.
type physicalStream struct {
	mode  plan.OutputMode
	parts int
	env   *function.Env
}

// write draws a node and what is below it.
func (p physicalStream) write(b *strings.Builder, n plan.Node, lead, below string) {
	lines := []string{plan.NodeLine(n)}
	if plan.Streaming(n) {
		lines = p.operators(n)
	}
	for _, line := range lines {
		b.WriteString(lead + line + "\n")
		lead, below = below+"+- ", below+"   "
	}
	children := n.Children()
	below = strings.TrimSuffix(below, "   ")
	for i, c := range children {
		if i < len(children)-1 {
			p.write(b, c, below+":- ", below+":  ")
		} else {
			p.write(b, c, below+"+- ", below+"   ")
		}
	}
}

// operators are the operators of a node, the uppermost first.
func (p physicalStream) operators(n plan.Node) []string {
	switch n := n.(type) {
	case *plan.Aggregate:
		keys := plan.TreeList(n.Group)
		hash := fmt.Sprintf("HashAggregate(keys=%s, functions=%s)", keys, plan.TreeList(n.Exprs))
		return []string{
			hash, fmt.Sprintf("StateStoreSave %s, %s", keys, p.mode), hash, "StateStoreRestore " + keys, hash,
			p.exchange(keys), hash,
		}
	case *plan.Dedup:
		name, keys := "StreamingDeduplicate", plan.TreeList(n.Keys)
		if n.WithinWatermark {
			name = "StreamingDeduplicateWithinWatermark"
		}
		return []string{name + " " + keys, p.exchange(keys)}
	case *plan.Join:
		if plan.Streaming(n.Left) && plan.Streaming(n.Right) {
			line := "StreamingSymmetricHashJoin " + strings.TrimPrefix(plan.NodeLine(n), "Join ")
			left, right := exec.JoinBounds(n, p.env)
			return []string{line + ", left rows" + held(left) + ", right rows" + held(right)}
		}
	case *plan.Limit:
		return []string{"StreamingGlobalLimit", "Exchange SinglePartition"}
	case *plan.Scan:
		return []string{physicalScan(n)}
	}
	return []string{plan.NodeLine(n)}
}

// held says until when rows are held that wait for partners.
func held(until string) string {
	if until == "" {
		return " held for ever"
	}
	return " held until the watermark is " + until
}

func (p physicalStream) exchange(keys string) string {
	if keys == "[]" {
		return "Exchange SinglePartition"
	}
	return fmt.Sprintf("Exchange hashpartitioning(%s, %d)", keys[1:len(keys)-1], p.parts)
}

// physicalScan is a scan as Spark calls it.
func physicalScan(n *plan.Scan) string {
	text := strings.TrimPrefix(plan.ScanLine(n), "StreamingRelation ")
	if n.Relation.Table == nil && len(n.Relation.Paths) > 0 {
		return "FileScan " + text
	}
	return "MicroBatchScan " + text
}
