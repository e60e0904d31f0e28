package transcripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weir-dev/weir/internal/testkit"
)

// atOnce programs run at a time: many of them wait most of their life.
const atOnce = 4

// special are programs that were recorded on a server with settings of its own;
// they give weir's arguments and what goes behind the address.
var special = map[string]func(t *testing.T) (args []string, remote string){
	"c11_reattach": func(*testing.T) ([]string, string) {
		const prefix = "spark.connect.execute.reattachable.senderMaxStream"
		return []string{"--conf", prefix + "Duration=2s", "--conf", prefix + "Size=1m"}, ""
	},
	"c31_token": func(t *testing.T) ([]string, string) {
		file := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(file, []byte("weir-secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		return []string{"--token-file", file}, "/;token=weir-secret"
	},
}

// TestProgramsTalkAsTheyDoWithSpark records every program on weir and compares.
func TestProgramsTalkAsTheyDoWithSpark(t *testing.T) {
	python := testkit.Python(t)
	programs, err := filepath.Glob("programs/c*.py")
	if err != nil || len(programs) == 0 {
		t.Fatal("no programs", err)
	}
	zone := []string{"--conf", "spark.sql.session.timeZone=Etc/UTC"} // that of the recordings
	own := []string{"PYSPARK_PYTHON=" + python}                      // for functions of foreachBatch
	common := testkit.Start(t, testkit.ServerOptions{Args: zone, Env: own})
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for _, program := range programs {
		name := strings.TrimSuffix(filepath.Base(program), ".py")
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			t.Run(name, func(t *testing.T) {
				server, remote := common, ""
				if start, ok := special[name]; ok {
					var args []string
					args, remote = start(t)
					server = testkit.Start(t, testkit.ServerOptions{Args: slices.Concat(zone, args)})
				}
				observed := filepath.Join(t.TempDir(), "observed.json")
				run(t, remote, python, "record.py", server.GRPC, observed, program)
				run(t, "", python, "compare.py", filepath.Join("recorded", name+".json"), observed)
			})
		})
	}
	wg.Wait()
}

func run(t *testing.T, remote, python string, args ...string) {
	t.Helper()
	cmd := exec.Command(python, args...)
	cmd.Env = append(os.Environ(), "REMOTE_PARAMS="+remote, "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out[:min(len(out), 6000)])
	}
}
