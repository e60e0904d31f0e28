package connector

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// common are options that every reader or writer may be given besides those of its
// format.
var common = []string{"path", "paths", "checkpointLocation", "queryName", "outputMode"}

// likely is how many letters a misspelt option may differ in.
const likely = 3

// UnknownOptions says of each option that a format does not know that it has no effect:
// such options are accepted, as Spark does. Those of weir's own are refused.
func (f *Format) UnknownOptions(o plan.Options) ([]string, error) {
	names := slices.Clone(common)
	for _, known := range f.Options {
		names = append(names, known.Name)
	}
	var notes []string
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if f.knows(names, key) {
			continue
		}
		near := plan.Nearest(key, names)
		if !strings.HasPrefix(strings.ToLower(key), "weir.") {
			text := fmt.Sprintf("the option %s has no effect: %s does not know it", key, f.Name)
			if plan.EditDistance(strings.ToLower(near), strings.ToLower(key)) <= likely {
				text += "; the nearest is " + near
			}
			notes = append(notes, text)
			continue
		}
		own := slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, "weir.") })
		if len(own) == 0 {
			return nil, plan.IllegalArgument("%s is no option of %s, which has none of weir's own.", key, f.Name)
		}
		return nil, plan.IllegalArgument("%s is no option of %s; the nearest is %s.", key, f.Name,
			plan.Nearest(key, own))
	}
	return notes, nil
}

// knows tells whether an option is one of names, in any case, or begins like a group of
// them; table properties are options of Delta tables, too.
func (f *Format) knows(names []string, key string) bool {
	lower := strings.ToLower(key)
	if f.Name == "delta" && strings.HasPrefix(lower, "delta.") {
		return true
	}
	return slices.ContainsFunc(names, func(n string) bool {
		n = strings.ToLower(n)
		group, ok := strings.CutSuffix(n, "*")
		return n == lower || ok && strings.HasPrefix(lower, group)
	})
}
