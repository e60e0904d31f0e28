package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// crashVariable names the step at which the process kills itself, for the tests
// of recovery: WEIR_CRASH_AT=S12:3 is the third time that step S12 is reached.
const crashVariable = "WEIR_CRASH_AT"

// crashPoint is the function that the engine calls at each of its steps; nil
// when no step is asked for.
func crashPoint(text string) (func(step string), error) {
	if text == "" {
		return nil, nil
	}
	step, count, ok := strings.Cut(text, ":")
	n, err := strconv.Atoi(count)
	if !ok || step == "" || err != nil || n < 1 {
		return nil, fmt.Errorf("%s=%s: write it as STEP:N, N from 1", crashVariable, text)
	}
	var mu sync.Mutex
	return func(reached string) {
		mu.Lock()
		defer mu.Unlock()
		if reached != step {
			return
		}
		if n--; n == 0 {
			// Nothing is flushed, closed or deferred: that is the point.
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}, nil
}
