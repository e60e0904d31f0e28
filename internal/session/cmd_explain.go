package session

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/weir-dev/weir/internal/analyze"
	"github.com/weir-dev/weir/internal/plan"
)

func explainSchema(*plan.Explain) plan.Type { return plan.Struct(text("plan")) }

// explain is EXPLAIN. As in Spark, a query that does not resolve or cannot run as a
// batch is shown with its error, a row for each line, and is none.
func explain(ctx context.Context, s *Session, c *plan.Explain) (*Result, error) {
	shown, err := s.explainBatch(ctx, c)
	if err == nil {
		return answer(explainSchema(c), []plan.Value{shown}), nil
	}
	var rows [][]plan.Value
	for line := range strings.Lines("Error occurred during query planning: \n" + err.Error()) {
		rows = append(rows, []plan.Value{strings.TrimSuffix(line, "\n")})
	}
	return answer(explainSchema(c), rows...), nil
}

func (s *Session) explainBatch(ctx context.Context, c *plan.Explain) (string, error) {
	resolved, err := s.Analyze(ctx, c.Query)
	if err != nil {
		return "", err
	}
	if c.Mode != plan.ExplainExtended && c.Mode != plan.ExplainCost {
		if err := analyze.CheckBatch(resolved); err != nil {
			return "", fmt.Errorf("%w\n%s", err, scansText(resolved))
		}
	}
	return explained(c.Query, resolved, c.Mode), nil
}

// scansText are the streams that a plan reads, a line each.
func scansText(n plan.Node) string {
	var lines []string
	plan.WalkNodes(n, func(m plan.Node) bool {
		if s, ok := m.(*plan.Scan); ok && s.Streaming {
			lines = append(lines, scanText(s))
		}
		return true
	})
	return strings.Join(lines, "\n")
}

// Explain prints a plan under the headings of Spark's modes.
func (s *Session) Explain(ctx context.Context, n plan.Node, mode plan.ExplainMode) (string, error) {
	resolved, err := s.Analyze(ctx, n)
	if err != nil {
		return "", err
	}
	return explained(n, resolved, mode), nil
}

func explained(n, resolved plan.Node, mode plan.ExplainMode) string {
	return explainedAs(n, resolved, mode, treeText(resolved))
}

func explainedAs(n, resolved plan.Node, mode plan.ExplainMode, physical string) string {
	tree := treeText(resolved)
	physical = "== Physical Plan ==\n" + physical
	switch mode {
	case plan.ExplainExtended:
		return "== Parsed Logical Plan ==\n" + treeText(n) + "\n== Analyzed Logical Plan ==\n" +
			columnText(resolved) + "\n" + tree + "\n== Optimized Logical Plan ==\n" + tree + "\n" + physical
	case plan.ExplainCost:
		return "== Optimized Logical Plan ==\n" + tree + "\n" + physical
	case plan.ExplainCodegen:
		return "Found 0 WholeStageCodegen subtrees.\n"
	default:
		return physical
	}
}

// columnText lists columns as Spark does above an analysed plan.
func columnText(n plan.Node) string {
	var parts []string
	for _, a := range n.Output() {
		parts = append(parts, a.Name+": "+a.Of.Simple())
	}
	return strings.Join(parts, ", ")
}

// treeText prints a plan, one node a line, inputs indented below it.
func treeText(n plan.Node) string {
	var b strings.Builder
	writeTree(&b, n, "", "")
	return b.String()
}

func writeTree(b *strings.Builder, n plan.Node, lead, below string) {
	b.WriteString(lead + nodeText(n) + "\n")
	children := n.Children()
	for i, c := range children {
		if i < len(children)-1 {
			writeTree(b, c, below+":- ", below+":  ")
		} else {
			writeTree(b, c, below+"+- ", below+"   ")
		}
	}
}

// nodeText is one line about a node.
func nodeText(n plan.Node) string {
	name := reflect.TypeOf(n).Elem().Name()
	switch n := n.(type) {
	case *plan.Scan:
		return scanText(n)
	case *plan.Project:
		return name + " [" + exprTexts(n.Exprs) + "]"
	case *plan.Filter:
		return name + " " + plan.SQLText(n.Cond)
	case *plan.Aggregate:
		return name + " [" + exprTexts(n.Group) + "], [" + exprTexts(n.Exprs) + "]"
	case *plan.Join:
		if n.Cond == nil {
			return name + " " + n.Kind.String()
		}
		return name + " " + n.Kind.String() + ", " + plan.SQLText(n.Cond)
	case *plan.Range:
		return fmt.Sprintf("%s (%d, %d, step=%d)", name, n.Start, n.End, n.Step)
	case *plan.Watermark:
		return name + " " + plan.SQLText(n.Column) + ", " + n.Delay
	case *plan.TimeWindow:
		return name + " " + plan.SQLText(n.Time)
	case *plan.SubqueryAlias:
		return name + " " + strings.Join(n.Name, ".")
	case *plan.NamedTable:
		return "'" + name + " [" + strings.Join(n.Name, ", ") + "]"
	case *plan.Read:
		return "'" + name + " " + n.Format
	default:
		return name
	}
}

func scanText(n *plan.Scan) string {
	kind := "Scan "
	if n.Streaming {
		kind = "StreamingScan "
	}
	what := n.Relation.Format
	if n.Relation.Table != nil {
		what += " " + n.Relation.Table.String()
	} else if len(n.Relation.Paths) > 0 {
		what += " " + strings.Join(n.Relation.Paths, ", ")
	}
	var columns []string
	for _, a := range n.Attrs {
		columns = append(columns, a.Name)
	}
	return kind + what + " [" + strings.Join(columns, ", ") + "]"
}

func exprTexts(list []plan.Expr) string {
	parts := make([]string, len(list))
	for i, e := range list {
		parts[i] = plan.SQLText(e)
	}
	return strings.Join(parts, ", ")
}
