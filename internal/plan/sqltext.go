package plan

import (
	"strconv"
	"strings"
	"time"
)

// SQLText is an expression as Spark writes it in generated column names and,
// between double quotes, in the parameters of errors: casts that coercion put
// in do not show, and text constants stand without their quotes. Timestamps
// are written in UTC; where a session's zone is known use SQLTextIn.
func SQLText(e Expr) string { return SQLTextIn(e, time.UTC) }

// SQLTextIn is SQLText with timestamps in a zone.
func SQLTextIn(e Expr, zone *time.Location) string {
	if zone == nil {
		zone = time.UTC
	}
	w := sqlWriter{zone: zone}
	w.expr(e)
	return w.b.String()
}

// infix are the calls that are written between their two arguments.
var infix = map[string]string{
	"+": "+", "-": "-", "*": "*", "/": "/", "%": "%", "div": "div",
	"&": "&", "|": "|", "^": "^", "<<": "<<", ">>": ">>", ">>>": ">>>",
	"=": "=", "==": "=", "<=>": "<=>", "<": "<", "<=": "<=", ">": ">", ">=": ">=",
	"and": "AND", "or": "OR",
}

// templates are the calls with a form of their own; see expand.
var templates = map[string]string{
	"not": "(NOT $1)", "!": "(NOT $1)",
	"!=": "(NOT ($1 = $2))", "<>": "(NOT ($1 = $2))",
	"isnull": "($1 IS NULL)", "isnotnull": "($1 IS NOT NULL)",
	"~":  "~$1",
	"in": "($1 IN ($2*))", "if": "(IF($1, $2, $3))",
	"getitem": "$1[$2]", "rlike": "RLIKE($1, $2)",
	"||": "concat($*)", "between": "between($*)",
}

type sqlWriter struct {
	b         strings.Builder
	zone      *time.Location
	qualified bool // columns with their qualifiers, constants as SQL
	tree      bool // columns with their ids, every cast
}

func (w *sqlWriter) expr(e Expr) {
	switch n := e.(type) {
	case *Literal:
		w.literal(n)
	case *Attribute:
		w.attribute(n)
	case *Alias:
		w.alias(n)
	case *Cast:
		w.cast(n)
	case *Call:
		w.call(n.Name, n.Text, n.Args)
	case *AggregateCall:
		w.aggregate(n)
	case *GetField:
		w.expr(n.Child)
		w.b.WriteString("." + n.Name)
	case *SortOrder:
		w.sortOrder(n)
	case *PythonUDF:
		w.function(n.Name, n.shown(), false)
	case *Subquery:
		w.subquery(n)
	case *Windowed:
		w.windowed(n)
	case *LambdaFunction:
		w.lambda(n)
	case *LambdaVariable:
		w.b.WriteString(variableText)
	default:
		w.unresolved(e)
	}
}

// unresolved writes what only occurs before analysis, for errors raised early.
func (w *sqlWriter) unresolved(e Expr) {
	switch n := e.(type) {
	case *UnresolvedAttribute:
		if w.tree {
			w.b.WriteByte('\'')
		}
		w.b.WriteString(attributeText(n.Parts))
	case *UnresolvedFunction:
		w.unresolvedCall(n)
	case *UnresolvedStar:
		w.b.WriteString("unresolvedstar()")
	case *ExtractValue:
		w.expr(n.Child)
		w.b.WriteByte('[')
		w.expr(n.Key)
		w.b.WriteByte(']')
	case *NamedArg:
		w.b.WriteString(n.Key + " => ")
		w.expr(n.Child)
	case *UpdateFields:
		w.function("update_fields", n.Children(), false)
	case *Parameter:
		if n.Name != "" {
			w.b.WriteString("namedparameter(" + n.Name + ")")
			return
		}
		w.b.WriteString("posparameter(" + strconv.Itoa(n.Index) + ")")
	case *UnresolvedRegex:
		w.b.WriteString(n.Pattern)
	case *TypedLiteral:
		w.b.WriteString(n.Of.SQL() + " '" + n.Text + "'")
	case *Lambda:
		w.b.WriteString("lambdafunction(")
		w.expr(n.Body)
		w.b.WriteString(", " + strings.Join(n.Params, ", ") + ")")
	case *WindowCall:
		w.expr(n.Function)
		w.b.WriteString(" OVER (...)")
	default:
		w.b.WriteString("expression()")
	}
}

func (w *sqlWriter) unresolvedCall(n *UnresolvedFunction) {
	if len(n.Name) == 1 && n.Filter == nil && !n.Distinct {
		w.call(strings.ToLower(n.Name[0]), "", n.Args)
		return
	}
	w.function(attributeText(n.Name), n.Args, n.Distinct)
	w.filter(n.Filter)
}

// attributeText joins the parts of a name; only a part with a dot is quoted.
func attributeText(parts []string) string {
	quoted := make([]string, len(parts))
	for i, p := range parts {
		if strings.Contains(p, ".") {
			p = Quote(p)
		}
		quoted[i] = p
	}
	return strings.Join(quoted, ".")
}

func (w *sqlWriter) alias(n *Alias) {
	w.expr(n.Child)
	if n.Generated && !w.qualified && !w.tree {
		return
	}
	w.b.WriteString(" AS ")
	if w.tree && len(n.Names) == 1 {
		w.treeAttribute(n.Names[0], n.ID)
		return
	}
	if len(n.Names) == 1 {
		w.b.WriteString(QuoteIfNeeded(n.Names[0]))
		return
	}
	quoted := make([]string, len(n.Names))
	for i, name := range n.Names {
		quoted[i] = QuoteIfNeeded(name)
	}
	w.b.WriteString("(" + strings.Join(quoted, ", ") + ")")
}

func (w *sqlWriter) cast(n *Cast) {
	if w.tree {
		w.b.WriteString("cast(")
		w.expr(n.Child)
		w.b.WriteString(" as " + n.To.Simple() + ")")
		return
	}
	if n.Implicit && !w.qualified || n.To.Kind == KindArray || n.To.Kind == KindMap || n.To.Kind == KindStruct {
		w.expr(n.Child)
		return
	}
	if n.Mode == CastTry {
		w.b.WriteString("TRY_")
	}
	w.b.WriteString("CAST(")
	w.expr(n.Child)
	w.b.WriteString(" AS " + n.To.SQL() + ")")
}

func (w *sqlWriter) call(name, text string, args []Expr) {
	if w.tree && w.treeCall(name, args) {
		return
	}
	if text == "" {
		text = templates[name]
	}
	op, isInfix := infix[name]
	switch {
	case text != "" && !(w.tree && isInfix):
		w.expand(text, args)
	case isInfix && len(args) == 2:
		w.b.WriteByte('(')
		w.expr(args[0])
		w.b.WriteString(" " + op + " ")
		w.expr(args[1])
		w.b.WriteByte(')')
	case isInfix && len(args) == 1:
		w.b.WriteString("(" + op + " ")
		w.expr(args[0])
		w.b.WriteByte(')')
	case name == "when" || name == "case":
		w.caseWhen(args)
	case name == "like" || name == "ilike":
		w.like(strings.ToUpper(name), args)
	default:
		w.function(name, args, false)
	}
}

// expand writes a template: $1 to $9 stand for arguments, $n* for the n-th and
// all that follow with commas between, $* for all of them, $$ for a dollar.
func (w *sqlWriter) expand(template string, args []Expr) {
	for i := 0; i < len(template); i++ {
		c := template[i]
		if c != '$' || i+1 == len(template) {
			w.b.WriteByte(c)
			continue
		}
		i++
		d := template[i]
		switch {
		case d == '*':
			w.list(args)
		case d >= '1' && d <= '9' && i+1 < len(template) && template[i+1] == '*':
			i++
			w.list(args[min(int(d-'1'), len(args)):])
		case d >= '1' && d <= '9':
			if k := int(d - '1'); k < len(args) {
				w.expr(args[k])
			}
		default:
			w.b.WriteByte(d)
		}
	}
}

// caseWhen writes pairs of condition and value, then perhaps the value of ELSE.
func (w *sqlWriter) caseWhen(args []Expr) {
	w.b.WriteString("CASE")
	for len(args) >= 2 {
		w.b.WriteString(" WHEN ")
		w.expr(args[0])
		w.b.WriteString(" THEN ")
		w.expr(args[1])
		args = args[2:]
	}
	if len(args) == 1 {
		w.b.WriteString(" ELSE ")
		w.expr(args[0])
	}
	w.b.WriteString(" END")
}

func (w *sqlWriter) like(word string, args []Expr) {
	if len(args) < 2 {
		w.function(strings.ToLower(word), args, false)
		return
	}
	if word == "ILIKE" {
		w.b.WriteString("ilike(")
		w.list(args[:2])
		w.b.WriteByte(')')
		return
	}
	w.expr(args[0])
	w.b.WriteString(" " + word + " ")
	w.expr(args[1])
	if len(args) == 3 {
		if l, ok := args[2].(*Literal); !ok || l.Value != `\` {
			w.b.WriteString(" ESCAPE '")
			w.expr(args[2])
			w.b.WriteByte('\'')
		}
	}
}

func (w *sqlWriter) aggregate(n *AggregateCall) {
	switch {
	case n.Text == "":
		w.function(n.Name, n.Args, n.Distinct)
	case n.Distinct && strings.Contains(n.Text, "($"):
		w.expand(strings.Replace(n.Text, "($", "(DISTINCT $", 1), n.Args)
	default:
		w.expand(n.Text, n.Args)
	}
	w.filter(n.Filter)
}

func (w *sqlWriter) filter(cond Expr) {
	if cond != nil {
		w.b.WriteString(" FILTER (WHERE ")
		w.expr(cond)
		w.b.WriteByte(')')
	}
}

func (w *sqlWriter) function(name string, args []Expr, distinct bool) {
	w.b.WriteString(name)
	w.b.WriteByte('(')
	if distinct {
		w.b.WriteString("DISTINCT ")
	}
	w.list(args)
	w.b.WriteByte(')')
}

func (w *sqlWriter) list(args []Expr) {
	for i, a := range args {
		if i > 0 {
			w.b.WriteString(", ")
		}
		w.expr(a)
	}
}

func (w *sqlWriter) sortOrder(n *SortOrder) {
	w.expr(n.Child)
	direction, nulls := " ASC", " NULLS LAST"
	if n.Descending {
		direction = " DESC"
	}
	if n.NullsFirst {
		nulls = " NULLS FIRST"
	}
	w.b.WriteString(direction + nulls)
}

func (w *sqlWriter) subquery(n *Subquery) {
	switch n.Kind {
	case ScalarSubquery:
		w.b.WriteString("scalarsubquery(")
		w.list(n.Outer)
		w.b.WriteByte(')')
	case ExistsSubquery:
		w.b.WriteString("exists(")
		w.list(n.Outer)
		w.b.WriteByte(')')
	default:
		w.b.WriteByte('(')
		if len(n.Values) == 1 {
			w.expr(n.Values[0])
		} else {
			w.namedStruct(n.Values)
		}
		w.b.WriteString(" IN (listquery(")
		w.list(n.Outer)
		w.b.WriteString(")))")
	}
}

// namedStruct writes the values of a multi-column IN.
func (w *sqlWriter) namedStruct(values []Expr) {
	w.b.WriteString("named_struct(")
	for i, v := range values {
		if i > 0 {
			w.b.WriteString(", ")
		}
		name := "col" + strconv.Itoa(i+1)
		if a, ok := v.(*Attribute); ok {
			name = a.Name
		}
		w.b.WriteString("'" + name + "', ")
		w.expr(v)
	}
	w.b.WriteByte(')')
}

// QualifiedText is an expression as Expression.sql writes it in a few errors:
// columns with their qualifiers and constants as SQL literals.
func QualifiedText(e Expr, zone *time.Location) string {
	if zone == nil {
		zone = time.UTC
	}
	w := sqlWriter{zone: zone, qualified: true}
	w.expr(e)
	return w.b.String()
}

func (w *sqlWriter) attribute(a *Attribute) {
	if w.tree {
		w.treeAttribute(a.Name, a.ID)
		return
	}
	if !w.qualified {
		w.b.WriteString(a.Name)
		return
	}
	for _, q := range a.Qualifier {
		w.b.WriteString(QuoteIfNeeded(q) + ".")
	}
	w.b.WriteString(QuoteIfNeeded(a.Name))
}
