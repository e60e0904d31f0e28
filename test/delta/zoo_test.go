package delta

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/weir-dev/weir/internal/testkit"
)

// The tables stand with the package that reads them; here the real client asks.
func TestTablesOfSparkAreReadByTheClient(t *testing.T) {
	python := testkit.Python(t)
	server := testkit.Start(t, testkit.ServerOptions{Args: []string{"--conf", "spark.sql.session.timeZone=UTC"}})
	args := []string{"zoo.py", server.Remote()}
	for _, zoo := range []string{"zoo", "morezoo"} {
		dir, err := filepath.Abs("../../internal/delta/testdata/" + zoo)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, dir)
	}
	cmd := exec.CommandContext(t.Context(), python, args...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "20 tables read\n" {
		t.Errorf("%v\n%s", err, out)
	}
}
