package plan

// Resolved reports whether an expression holds no unresolved part.
func Resolved(e Expr) bool {
	switch e.(type) {
	case *UnresolvedAttribute, *UnresolvedStar, *UnresolvedRegex, *UnresolvedFunction,
		*Parameter, *NamedArg, *ExtractValue, *UpdateFields:
		return false
	}
	for _, c := range e.Children() {
		if !Resolved(c) {
			return false
		}
	}
	return true
}

// Transform rewrites an expression from the leaves up. fn may return its
// argument; then no node is copied above it.
func Transform(e Expr, fn func(Expr) (Expr, error)) (Expr, error) {
	children := e.Children()
	var changed []Expr
	for i, c := range children {
		n, err := Transform(c, fn)
		if err != nil {
			return nil, err
		}
		if n != c && changed == nil {
			changed = append([]Expr(nil), children...)
		}
		if changed != nil {
			changed[i] = n
		}
	}
	if changed != nil {
		e = e.WithChildren(changed)
	}
	return fn(e)
}

// Walk visits an expression and its parts, parents first, until fn says stop.
func Walk(e Expr, fn func(Expr) bool) bool {
	if !fn(e) {
		return false
	}
	for _, c := range e.Children() {
		if !Walk(c, fn) {
			return false
		}
	}
	return true
}

// Contains reports whether some part of an expression satisfies fn.
func Contains(e Expr, fn func(Expr) bool) bool {
	return !Walk(e, func(p Expr) bool { return !fn(p) })
}

// References is the set of columns that an expression reads.
func References(exprs ...Expr) map[ExprID]bool {
	ids := map[ExprID]bool{}
	for _, e := range exprs {
		Walk(e, func(p Expr) bool {
			if a, ok := p.(*Attribute); ok {
				ids[a.ID] = true
			}
			return true
		})
	}
	return ids
}

// TransformNodes rewrites a tree from the leaves up.
func TransformNodes(n Node, fn func(Node) (Node, error)) (Node, error) {
	children := n.Children()
	var changed []Node
	for i, c := range children {
		m, err := TransformNodes(c, fn)
		if err != nil {
			return nil, err
		}
		if m != c && changed == nil {
			changed = append([]Node(nil), children...)
		}
		if changed != nil {
			changed[i] = m
		}
	}
	if changed != nil {
		n = n.WithChildren(changed)
	}
	return fn(n)
}

// WalkNodes visits a tree, parents first, until fn says stop.
func WalkNodes(n Node, fn func(Node) bool) bool {
	if !fn(n) {
		return false
	}
	for _, c := range n.Children() {
		if !WalkNodes(c, fn) {
			return false
		}
	}
	return true
}

// Streaming reports whether a tree reads a stream.
func Streaming(n Node) bool {
	return !WalkNodes(n, func(m Node) bool {
		switch s := m.(type) {
		case *Read:
			return !s.Streaming
		case *NamedTable:
			return !s.Streaming
		case *Scan:
			return !s.Streaming
		default:
			return true
		}
	})
}
