package plan_test

import (
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/plan"
)

func TestNearestNames(t *testing.T) {
	for _, c := range []struct {
		name  string
		among []string
		want  string
	}{
		{"remot", []string{"dir", "remote", "root"}, "remote"},
		{"REMOTE", []string{"dir", "remote"}, "remote"},
		{"größe", []string{"groß", "größer"}, "größer"},
		{"", []string{"ab", "a"}, "a"},
		{"x", nil, ""},
		{strings.Repeat("x", 1<<20), []string{"y", strings.Repeat("x", 900)}, strings.Repeat("x", 900)},
	} {
		if got := plan.Nearest(c.name, c.among); got != c.want {
			t.Errorf("nearest to %.20q among %.40q: got %.20q, want %.20q", c.name, c.among, got, c.want)
		}
	}
}
