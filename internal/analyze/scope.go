package analyze

import (
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// indexFrom is the number of columns from which a scope keeps an index.
const indexFrom = 16

// scope is a list of columns that names are looked up in.
type scope struct {
	attrs         []*plan.Attribute
	caseSensitive bool
	index         map[string][]*plan.Attribute
}

func newScope(attrs []*plan.Attribute, caseSensitive bool) *scope {
	return &scope{attrs: attrs, caseSensitive: caseSensitive}
}

func (s *scope) same(a, b string) bool {
	return a == b || !s.caseSensitive && strings.EqualFold(a, b)
}

// named are the columns of a name, whatever their qualifier.
func (s *scope) named(name string) []*plan.Attribute {
	if len(s.attrs) < indexFrom {
		var found []*plan.Attribute
		for _, a := range s.attrs {
			if s.same(a.Name, name) {
				found = append(found, a)
			}
		}
		return found
	}
	if s.index == nil {
		s.index = make(map[string][]*plan.Attribute, len(s.attrs))
		for _, a := range s.attrs {
			key := s.fold(a.Name)
			s.index[key] = append(s.index[key], a)
		}
	}
	return s.index[s.fold(name)]
}

func (s *scope) fold(name string) string {
	if s.caseSensitive {
		return name
	}
	return strings.ToLower(name)
}

// find looks a dotted name up. The longest qualifier that fits wins:
// catalog.schema.table.column, schema.table.column, table.column, column; what
// follows the column are fields of it.
func (s *scope) find(parts []string) (found []*plan.Attribute, fields []string) {
	for q := min(3, len(parts)-1); q >= 0; q-- {
		for _, a := range s.named(parts[q]) {
			if s.qualifies(a, parts[:q]) && !contains(found, a) {
				found = append(found, a)
			}
		}
		if len(found) > 0 {
			return found, parts[q+1:]
		}
	}
	return nil, nil
}

func (s *scope) qualifies(a *plan.Attribute, qualifier []string) bool {
	rest := len(a.Qualifier) - len(qualifier)
	if rest < 0 {
		return false
	}
	for i, q := range qualifier {
		if !s.same(a.Qualifier[rest+i], q) {
			return false
		}
	}
	return true
}

// of are the columns of a qualifier, for t.*.
func (s *scope) of(qualifier []string) []*plan.Attribute {
	var out []*plan.Attribute
	for _, a := range s.attrs {
		if s.qualifies(a, qualifier) {
			out = append(out, a)
		}
	}
	return out
}

func contains(list []*plan.Attribute, a *plan.Attribute) bool {
	for _, b := range list {
		if a.ID == b.ID {
			return true
		}
	}
	return false
}

// renamed is a column under the name that the user wrote.
func renamed(a *plan.Attribute, name string) *plan.Attribute {
	if a.Name == name {
		return a
	}
	b := *a
	b.Name = name
	return &b
}
