package fn

import (
	"slices"
	"strings"
)

// Shelf is a set of functions that refer to each other by name. It does not
// change.
type Shelf struct {
	byName map[string]*Def
	sorted []*Def
}

// NewShelf is the shelf of some families. No two functions may share a name.
func NewShelf(families ...[]*Def) *Shelf {
	s := &Shelf{byName: map[string]*Def{}, sorted: slices.Concat(families...)}
	for _, d := range s.sorted {
		for _, name := range append([]string{d.Name}, d.Aliases...) {
			if s.byName[name] != nil {
				panic("two functions are called " + name)
			}
			s.byName[name] = d
		}
	}
	slices.SortFunc(s.sorted, func(a, b *Def) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// Lookup finds a function by name or alias, in any case.
func (s *Shelf) Lookup(name string) (*Def, bool) {
	d, ok := s.byName[name]
	if !ok {
		d, ok = s.byName[strings.ToLower(name)]
	}
	return d, ok
}

// All is every function, sorted by name, hidden ones too.
func (s *Shelf) All() []*Def { return slices.Clone(s.sorted) }
