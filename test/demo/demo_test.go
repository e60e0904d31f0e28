//go:build slow

package demo

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/testkit"
)

func TestEveryQueryIsNamedWithinThreeMinutesOfTrouble(t *testing.T) {
	c := exec.CommandContext(t.Context(), testkit.Binary(t), "demo", "lag", "--once", "--http", "127.0.0.1:0")
	out, err := c.CombinedOutput()
	t.Logf("\n%s", out)
	if err != nil || !strings.Contains(string(out), "every query is named") {
		t.Error(err)
	}
}
