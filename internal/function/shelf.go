package function

import (
	"slices"
	"strings"
	"sync"
)

// families is the shelf: one list of functions for each file that holds some.
func families() [][]*Def {
	return [][]*Def{
		arithmeticDefs(),
		arrayDefs(),
		bitwiseDefs(),
		collectionDefs(),
		dateDefs(),
		dateFieldDefs(),
		formatDefs(),
		hashDefs(),
		intervalDefs(),
		jsonDefs(),
		listDefs(),
		logicDefs(),
		mapDefs(),
		mathDefs(),
		miscDefs(),
		momentDefs(),
		pickDefs(),
		predicateDefs(),
		regexDefs(),
		roundDefs(),
		stringBuildDefs(),
		stringDefs(),
		sumDefs(),
		timeConvDefs(),
		timeMakeDefs(),
	}
}

type shelf struct {
	byName map[string]*Def
	sorted []*Def
}

// theShelf is filled when it is first asked: functions refer to each other by
// name, so it cannot be while the package is set up.
var theShelf struct {
	once sync.Once
	shelf
}

func opened() *shelf {
	theShelf.once.Do(func() { theShelf.fill() })
	return &theShelf.shelf
}

func (s *shelf) fill() {
	s.byName = map[string]*Def{}
	for _, family := range families() {
		for _, d := range family {
			for _, name := range append([]string{d.Name}, d.Aliases...) {
				if s.byName[name] != nil {
					panic("two functions are called " + name)
				}
				s.byName[name] = d
			}
			s.sorted = append(s.sorted, d)
		}
	}
	slices.SortFunc(s.sorted, func(a, b *Def) int { return strings.Compare(a.Name, b.Name) })
}

// Lookup finds a function by name or alias, in any case.
func Lookup(name string) (*Def, bool) {
	d, ok := opened().byName[name]
	if !ok {
		d, ok = opened().byName[strings.ToLower(name)]
	}
	return d, ok
}

// All is every function, sorted by name. Those with Hidden set are not known to
// users by that name.
func All() []*Def { return slices.Clone(opened().sorted) }
