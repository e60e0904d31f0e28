package main

import (
	"math"
	"runtime"
	"testing"

	"github.com/weir-dev/weir/internal/testkit"
)

func TestProcessFilesOfLinuxAreRead(t *testing.T) {
	// From proc_pid_stat(5): the name may hold blanks and parentheses.
	const stat = "4242 (py (x) thon) S 1 4242 4242 0 -1 4194560 100 0 0 0 250 75 0 0 20 0 1 0 9 9 9 9"
	if got := ticksOf(stat); got != 325 {
		t.Errorf("%v ticks, want 325", got)
	}
	if got := pagesOf("2000 300 100 1 0 50 0\n", 4096); got != 300*4096 {
		t.Errorf("%v bytes resident", got)
	}
	for _, text := range []string{"", "1", "1 x", "1 (a) S", "1 (a"} {
		if got := ticksOf(text); !math.IsNaN(got) {
			t.Errorf("ticks of %q: %v", text, got)
		}
	}
	testkit.Need(t, runtime.GOOS == "linux", "Linux's /proc")
	if own := residentBytes("self"); !(own > 1e6) {
		t.Errorf("this process has %v bytes", own)
	}
	if cpu := processCPU("self"); !(cpu >= 0) || !(ownCPU() > 0) || !(heapBytes() > 0) {
		t.Errorf("processor %v s, %v s, heap %v", cpu, ownCPU(), heapBytes())
	}
	if gone := residentBytes("0"); !math.IsNaN(gone) {
		t.Errorf("a process that is not there has %v bytes", gone)
	}
}
