package clients

import (
	"testing"

	"github.com/weir-dev/weir/internal/testkit"
)

// TestSmallConditions makes small mistakes and compares what they are called with
// Spark 4.3: decimals that overflow, and options, schemas and patterns that are none.
func TestSmallConditions(t *testing.T) {
	server := testkit.Start(t, testkit.ServerOptions{Env: []string{"TZ=UTC"}})
	compareLines(t, "conditions", runProgram(t, server, "4.3", "conditions.py"), "^$")
}
