package sql

import (
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// windowSpec is what stands between OVER and the next thing: a window, or the
// name of one that WINDOW defines.
type windowSpec struct {
	name      string
	partition []plan.Expr
	order     []*plan.SortOrder
	frame     *plan.WindowFrame
}

// over reads OVER window.
func (p *parser) over(start int, f *plan.UnresolvedFunction, ignoreNulls bool) plan.Expr {
	p.skip(1)
	spec := p.i
	w := p.windowSpec()
	call := &plan.WindowCall{Function: f, Spec: p.origin(spec)}
	w.put(call)
	call.Origin = p.origin(start)
	f.Origin = call.Origin
	switch {
	case !ignoreNulls:
	case len(f.Name) == 1 && keepsIgnoreNulls(strings.ToLower(f.Name[0])):
		call.IgnoreNulls = true
	default:
		p.ignoreNulls(start, f)
	}
	if w.name != "" {
		p.windows = append(p.windows, windowUse{call, w.name})
	}
	return call
}

// keepsIgnoreNulls are the functions whose window carries IGNORE NULLS; for
// others it is an argument.
func keepsIgnoreNulls(name string) bool {
	return name == "lag" || name == "lead" || name == "nth_value"
}

// windowUse is a call over a window by name.
type windowUse struct {
	call *plan.WindowCall
	name string
}

func (w *windowSpec) put(call *plan.WindowCall) {
	call.Partition, call.Order, call.Frame = w.partition, w.order, w.frame
}

// windowSpec reads name, (name) or (PARTITION BY … ORDER BY … frame).
func (p *parser) windowSpec() windowSpec {
	var w windowSpec
	if p.cur().isName() {
		w.name = p.strictIdent()
		return w
	}
	p.expect("(")
	if p.cur().isName() && p.peek(1).word == ")" {
		w.name = p.strictIdent()
		p.close()
		return w
	}
	switch {
	case p.ahead("CLUSTER", "BY"), p.ahead("PARTITION", "BY"), p.ahead("DISTRIBUTE", "BY"):
		p.skip(2)
		p.list(func() { w.partition = append(w.partition, p.expr()) })
	}
	if p.ahead("ORDER", "BY") || p.ahead("SORT", "BY") {
		p.skip(2)
		p.list(func() { w.order = append(w.order, p.sortItem()) })
	}
	if p.atAny("ROWS", "RANGE") {
		w.frame = p.windowFrame()
	}
	p.expect(")")
	return w
}

func (p *parser) windowFrame() *plan.WindowFrame {
	f := &plan.WindowFrame{Rows: p.at("ROWS"), To: plan.FrameBound{Kind: plan.CurrentRow}}
	p.skip(1)
	if !p.at("BETWEEN") {
		f.From = p.frameBound()
		return f
	}
	p.skip(1)
	f.From = p.frameBound()
	p.expect("AND")
	f.To = p.frameBound()
	return f
}

func (p *parser) frameBound() plan.FrameBound {
	switch {
	case p.acceptAll("UNBOUNDED", "PRECEDING"):
		return plan.FrameBound{Kind: plan.UnboundedPreceding}
	case p.acceptAll("UNBOUNDED", "FOLLOWING"):
		return plan.FrameBound{Kind: plan.UnboundedFollowing}
	case p.acceptAll("CURRENT", "ROW"):
		return plan.FrameBound{Kind: plan.CurrentRow}
	}
	offset := p.value(0)
	if p.accept("FOLLOWING") {
		return plan.FrameBound{Kind: plan.Following, Offset: offset}
	}
	p.expect("PRECEDING")
	return plan.FrameBound{Kind: plan.Preceding, Offset: offset}
}

// windowClause reads WINDOW name AS window, … and gives the windows to the
// calls that name them.
func (p *parser) windowClause() {
	start, repeated := p.i, ""
	p.skip(1)
	defs, written := map[string]windowSpec{}, map[string]bool{}
	p.list(func() {
		name := p.strictIdent()
		p.expect("AS")
		if written[name] { // in another case it is another window, which then wins
			repeated = name
		}
		written[name] = true
		defs[strings.ToLower(name)] = p.windowSpec()
	})
	if repeated != "" {
		p.mistake(start, "INVALID_SQL_SYNTAX.REPETITIVE_WINDOW_DEFINITION",
			"The window "+repeated+" is defined twice.", "windowName", "`"+repeated+"`")
	}
	rest := p.windows[:0]
	for _, use := range p.windows {
		w, ok := defs[strings.ToLower(use.name)]
		for hops := 0; ok && w.name != "" && hops < len(defs); hops++ {
			w, ok = defs[strings.ToLower(w.name)]
		}
		if !ok {
			rest = append(rest, use)
			continue
		}
		w.put(use.call)
	}
	p.windows = rest
}

// unknownWindows refuses calls over windows that nothing defines.
func (p *parser) unknownWindows() {
	for _, use := range p.windows {
		if p.fault == nil {
			p.fault = plan.AnalysisError("MISSING_WINDOW_SPECIFICATION",
				"No WINDOW clause defines "+use.name+".", "windowName", use.name,
				"docroot", "https://spark.apache.org/docs/latest")
		}
	}
}
