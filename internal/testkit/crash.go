package testkit

import (
	"fmt"
	"testing"

	"github.com/weir-dev/weir/internal/vfs"
)

// CrashPoint is a step of a batch and how often it is reached before the server
// kills itself there.
type CrashPoint struct {
	Step string
	N    int // from 1
}

// Env is the setting that makes a server crash at the point.
func (p CrashPoint) Env() string { return fmt.Sprintf("WEIR_CRASH_AT=%s:%d", p.Step, p.N) }

// CrashPoints runs a test for every step at its first, second … and at most
// most-th time, as subtests. Run starts a server with p.Env(), and after its
// death another one without, checks what must hold, and reports whether the
// first one crashed. When it did not, later times of that step are left out; a
// step that never crashes fails, because its name is wrong or the work too small.
func CrashPoints(t *testing.T, steps []string, most int, run func(*testing.T, CrashPoint) (crashed bool)) {
	t.Helper()
	for _, step := range steps {
		crashed := true
		for n := 1; n <= most && crashed; n++ {
			ran := t.Run(fmt.Sprintf("%s:%d", step, n), func(t *testing.T) {
				crashed = run(t, CrashPoint{step, n})
			})
			if n == 1 && ran && !crashed {
				t.Errorf("step %s was never reached", step)
			}
			crashed = crashed && ran
		}
	}
}

// DiskProgram is a program that CrashDisk runs on a disk that loses power.
type DiskProgram struct {
	// Run does the work. After the crash every file operation fails with
	// vfs.ErrCrashed, and Run must come back with whatever error that gives.
	Run func(disk *vfs.Crashable) error
	// Check starts the program again on what survived and checks what must hold.
	Check func(t *testing.T, disk *vfs.Crashable)
	// Points bounds how many crash points are visited, spread evenly over the
	// run; 0 visits every one.
	Points int
}

// CrashDisk runs a program once undisturbed and then loses power after every
// file operation, each time once with everything un-synced kept, once with a
// random half lost and once with all of it lost. The subtest that fails names
// the operation and the loss.
func CrashDisk(t *testing.T, p DiskProgram) {
	t.Helper()
	rehearsal := vfs.NewCrashable()
	if err := p.Run(rehearsal); err != nil {
		t.Fatalf("undisturbed run: %v", err)
	}
	ops := rehearsal.Ops()
	for _, k := range crashPoints(ops, p.Points) {
		for _, lose := range []float64{0, 0.5, 1} {
			name := fmt.Sprintf("after %d of %d, losing %g", k, ops, lose)
			t.Run(name, func(t *testing.T) {
				disk := vfs.NewCrashable()
				disk.CrashAfter(k)
				if err := p.Run(disk); err == nil && disk.Crashed() {
					t.Error("the run hid the crash")
				}
				p.Check(t, disk.Crash(lose, uint64(k)))
			})
		}
	}
}

// crashPoints spreads at most points numbers over 0..ops, both ends included.
func crashPoints(ops, points int) []int {
	if points <= 0 || points > ops {
		points = ops + 1
	}
	var at []int
	for i := range points {
		k := ops
		if points > 1 {
			k = i * ops / (points - 1)
		}
		at = append(at, k)
	}
	return at
}
