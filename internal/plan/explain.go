package plan

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ExplainText is the text of EXPLAIN: the sections that Spark shows in a mode, with
// weir's trees in them. There is one tree after analysis, so it stands in every
// logical section but the first; physical is the tree of the last one.
func ExplainText(parsed, resolved Node, mode ExplainMode, physical string) string {
	tree := NodeText(resolved)
	physical = "== Physical Plan ==\n" + physical
	switch mode {
	case ExplainExtended:
		return "== Parsed Logical Plan ==\n" + NodeText(parsed) +
			"\n== Analyzed Logical Plan ==\n" + outputText(resolved) + tree +
			"\n== Optimized Logical Plan ==\n" + tree + "\n" + physical
	case ExplainCost:
		return "== Optimized Logical Plan ==\n" + tree + "\n" + physical
	case ExplainCodegen:
		return "Found 0 WholeStageCodegen subtrees.\n"
	default:
		return physical
	}
}

// outputText is the line of columns above an analyzed plan.
func outputText(n Node) string {
	parts := make([]string, 0, 8)
	for _, a := range n.Output() {
		parts = append(parts, a.Name+": "+a.Of.Simple())
	}
	return strings.Join(parts, ", ") + "\n"
}

// NodeText draws a tree of nodes, resolved or not, one a line.
func NodeText(n Node) string {
	var b strings.Builder
	writeNode(&b, n, "", "")
	return b.String()
}

func writeNode(b *strings.Builder, n Node, first, rest string) {
	b.WriteString(first + NodeLine(n) + "\n")
	children := n.Children()
	for i, c := range children {
		if i == len(children)-1 {
			writeNode(b, c, rest+"+- ", rest+"   ")
		} else {
			writeNode(b, c, rest+":- ", rest+":  ")
		}
	}
}

// TreeText is an expression as it stands in a tree: columns with their ids.
func TreeText(e Expr) string {
	w := sqlWriter{zone: time.UTC, tree: true}
	w.expr(e)
	return w.b.String()
}

// treeNames are calls that Catalyst writes by names of its own.
var treeNames = map[string]string{
	"isnull": "isnull", "isnotnull": "isnotnull", "startswith": "StartsWith", "endswith": "EndsWith",
	"contains": "Contains",
}

// treeCall writes the calls that trees show otherwise than column names do.
func (w *sqlWriter) treeCall(name string, args []Expr) bool {
	switch {
	case treeNames[name] != "":
		w.b.WriteString(treeNames[name] + "(")
		w.list(args)
		w.b.WriteByte(')')
	case name == "not" && len(args) == 1:
		w.b.WriteString("NOT ")
		w.expr(args[0])
	case name == "in" && len(args) > 1:
		w.expr(args[0])
		w.b.WriteString(" IN (")
		for i, a := range args[1:] {
			if i > 0 {
				w.b.WriteByte(',')
			}
			w.expr(a)
		}
		w.b.WriteByte(')')
	default:
		return false
	}
	return true
}

// TreeList is expressions as they stand in a tree, in brackets.
func TreeList[E Expr](list []E) string {
	parts := make([]string, len(list))
	for i, e := range list {
		parts[i] = TreeText(e)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// NodeLine is a node without its children, as Spark prints it.
func NodeLine(n Node) string {
	switch n := n.(type) {
	case *Project:
		return mark(n.Exprs...) + "Project " + TreeList(n.Exprs)
	case *Filter:
		return mark(n.Cond) + "Filter " + TreeText(n.Cond)
	case *Having:
		return "'UnresolvedHaving " + TreeText(n.Cond)
	case *Aggregate:
		return mark(append(append([]Expr{}, n.Group...), n.Exprs...)...) +
			"Aggregate " + TreeList(n.Group) + ", " + TreeList(n.Exprs)
	case *Join:
		return joinLine(n)
	case *SetOp:
		return setLine(n)
	case *Sort:
		return "Sort " + TreeList(n.Orders) + ", " + strconv.FormatBool(n.Global)
	case *Limit:
		return limitLine(n)
	case *Dedup:
		return dedupLine(n)
	case *Generate:
		return fmt.Sprintf("Generate %s, %t, %s", TreeText(n.Generator), n.Outer, TreeList(n.Attrs))
	case *Watermark:
		return "EventTimeWatermark " + TreeText(n.Column) + ", " + n.Delay
	case *TimeWindow:
		return timeWindowLine(n)
	case *Window:
		return "Window " + TreeList(n.Exprs) + ", " + TreeList(n.Partition) + ", " + TreeList(n.Order)
	case *Observe:
		return "CollectMetrics " + n.Name + ", " + TreeList(n.Metrics)
	case *TablePython:
		return fmt.Sprintf("Generate %s, %t, %s", TreeText(n.Func), n.Outer, TreeList(n.Attrs))
	case *MapPython:
		return "MapInPython " + TreeText(n.Func) + ", " + TreeList(n.Attrs)
	case *GroupPython:
		return "FlatMapGroupsInPython " + TreeList(n.Keys) + ", " + TreeText(n.Func) + ", " + TreeList(n.Attrs)
	case *StatePython:
		return "FlatMapGroupsInPandasWithState " + TreeText(n.Func) + ", " + TreeList(n.Keys) + ", " +
			TreeList(n.Attrs) + ", " + n.State.Simple() + ", " + n.Mode.String() + ", " + n.Timeout.String()
	case *TransformPython:
		return "TransformWithStateInPySpark " + TreeText(n.Func) + ", " + TreeList(n.Keys) + ", " +
			TreeList(n.Attrs) + ", " + n.Mode.String() + ", " + n.Time.String()
	case *Repartition:
		return fmt.Sprintf("RepartitionByExpression %s, %d", TreeList(n.Exprs), n.Count)
	default:
		return leafLine(n)
	}
}

// mark is the quote that Spark puts before unresolved nodes.
func mark(list ...Expr) string {
	for _, e := range list {
		if !Resolved(e) {
			return "'"
		}
	}
	return ""
}

func joinLine(n *Join) string {
	line := "Join " + n.Kind.String()
	switch {
	case n.Natural:
		line = "'Join Natural" + n.Kind.String()
	case len(n.Using) > 0:
		line = "'Join Using" + n.Kind.String() + " [" + strings.Join(n.Using, ", ") + "]"
	case n.Cond != nil:
		line = mark(n.Cond) + line + ", " + TreeText(n.Cond)
	}
	return line
}

func setLine(n *SetOp) string {
	switch n.Kind {
	case Union:
		if !n.All {
			return "Distinct Union"
		}
		return "Union"
	case Intersect:
		return fmt.Sprintf("Intersect All %t", n.All)
	default:
		return fmt.Sprintf("Except All %t", n.All)
	}
}

func limitLine(n *Limit) string {
	var parts []string
	if n.Count != nil {
		name := "GlobalLimit "
		if n.Tail {
			name = "Tail "
		}
		parts = append(parts, name+TreeText(n.Count))
	}
	if n.Skip != nil {
		parts = append(parts, "Offset "+TreeText(n.Skip))
	}
	return strings.Join(parts, ", ")
}

func dedupLine(n *Dedup) string {
	name := "Deduplicate "
	if n.WithinWatermark {
		name = "DeduplicateWithinWatermark "
	}
	if n.Keys == nil {
		return "'" + name + "[" + strings.Join(n.Columns, ", ") + "]"
	}
	return name + TreeList(n.Keys)
}

func leafLine(n Node) string {
	switch n := n.(type) {
	case *Scan:
		return ScanLine(n)
	case *LocalData:
		return "LocalRelation " + TreeList(n.Attrs)
	case *Range:
		return fmt.Sprintf("Range (%d, %d, step=%d)", n.Start, n.End, n.Step)
	case *OneRow:
		return "OneRowRelation"
	case *NamedTable:
		return fmt.Sprintf("'UnresolvedRelation [%s], [], %t", strings.Join(n.Name, ", "), n.Streaming)
	case *Read:
		return "'UnresolvedDataSource format: " + n.Format
	case *SubqueryAlias:
		return "'SubqueryAlias " + strings.Join(n.Name, ".")
	case *TableFunction:
		return "'UnresolvedTableValuedFunction [" + strings.Join(n.Name, ", ") + "], " + TreeList(n.Args)
	case *InlineTable:
		return fmt.Sprintf("'UnresolvedInlineTable [%s], %d rows", strings.Join(n.Names, ", "), len(n.Rows))
	default:
		name := strings.TrimPrefix(fmt.Sprintf("%T", n), "*")
		return "'" + name[strings.LastIndexByte(name, '.')+1:]
	}
}

// ScanLine is what a scan reads, as a node of a tree.
func ScanLine(n *Scan) string {
	var b strings.Builder
	if n.Streaming {
		b.WriteString("StreamingRelation ")
	} else {
		b.WriteString("Scan ")
	}
	b.WriteString(n.Relation.Format)
	if n.Relation.Table != nil {
		b.WriteString(" " + n.Relation.Table.String())
	}
	for _, p := range n.Relation.Paths {
		b.WriteString(" " + p)
	}
	b.WriteString(" " + TreeList(n.Attrs))
	return b.String()
}

// treeAttribute is a column as it stands in a tree.
func (w *sqlWriter) treeAttribute(name string, id ExprID) {
	w.b.WriteString(name + "#" + strconv.FormatInt(int64(id), 10))
}

func timeWindowLine(n *TimeWindow) string {
	if n.End != nil {
		return fmt.Sprintf("SessionWindow %s, %s, %s", TreeText(n.Time), TreeText(n.End), TreeText(n.Attr))
	}
	return fmt.Sprintf("TimeWindow %s, %d, %d, %d, %s",
		TreeText(n.Time), n.Size, n.Slide, n.Start, TreeText(n.Attr))
}
