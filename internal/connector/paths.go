package connector

import (
	"fmt"
	"slices"

	"github.com/weir-dev/weir/internal/plan"
)

// ReadPaths are the paths of a reader, that of its option path among them.
func ReadPaths(r *plan.Read) []string {
	paths := slices.Clone(r.Paths)
	if p, ok := r.Options.Get("path"); ok && !slices.Contains(paths, p) {
		paths = append(paths, p)
	}
	return paths
}

// PathError says which path of the user's has no place.
func PathError(text string, err error) error {
	return fmt.Errorf("path %s: %w", text, err)
}
