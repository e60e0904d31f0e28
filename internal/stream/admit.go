package stream

import "github.com/weir-dev/weir/internal/connector"

// admission is what a trigger may run.
type admission struct {
	end     []connector.Offset // of each source, where the batch ends
	newData bool
	run     bool
	// lost is the source that went back to having nothing, -1 for none.
	lost int
}

// admit turns what the sources have into the ranges of the next batch. another
// says that the plan wants a batch even without new data, to close windows.
//
// A source that answers "" after something was read from it has lost what the
// checkpoint rests on; going on would skip or repeat rows.
func admit(start, latest []connector.Offset, another bool) admission {
	a := admission{end: make([]connector.Offset, len(start)), run: another, lost: -1}
	for i := range start {
		a.end[i] = latest[i]
		if latest[i] == "" && start[i] != "" {
			a.lost = i
			return a
		}
		if latest[i] != start[i] {
			a.newData, a.run = true, true
		}
	}
	return a
}
