package pyworker

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/weir-dev/weir/internal/plan"
)

// Mode is whether and how code of users runs.
type Mode string

// Modes. Trusted code runs as the user who started weir.
const (
	Off     Mode = "off"
	Trusted Mode = "trusted"
)

// ParseMode reads a mode; "" is trusted.
func ParseMode(text string) (Mode, error) {
	switch m := Mode(text); m {
	case "":
		return Trusted, nil
	case Off, Trusted:
		return m, nil
	case "sandboxed":
		return "", fmt.Errorf("--python=sandboxed: weir has no sandbox yet; " +
			"off refuses Python code, trusted runs it as you")
	default:
		return "", fmt.Errorf("--python=%s: there are off and trusted", text)
	}
}

const (
	idleFor = 5 * time.Minute
	maxIdle = 4
)

// Options configure a Host.
type Options struct {
	Mode   Mode
	Python string    // the interpreter of calls that name none
	Path   []string  // where modules of every function may be
	Output io.Writer // gets what functions print; nil drops it
}

// Host starts workers and keeps idle ones for the next call. Any goroutine may
// call it.
type Host struct {
	options Options

	mu     sync.Mutex
	idle   []*resting // the longest idle first
	live   map[*worker]bool
	closed bool
}

// resting is an idle worker; the timer ends it.
type resting struct {
	*worker
	timer *time.Timer
}

// NewHost is a host without workers.
func NewHost(o Options) *Host { return &Host{options: o, live: map[*worker]bool{}} }

// Close ends every worker.
func (h *Host) Close() {
	h.mu.Lock()
	h.closed = true
	for _, r := range h.idle {
		r.timer.Stop()
	}
	h.idle = nil
	live := make([]*worker, 0, len(h.live))
	for w := range h.live {
		live = append(live, w)
	}
	h.mu.Unlock()
	for _, w := range live {
		w.kill()
		<-w.ended
	}
}

// A Worker is a process that runs functions of users.
type Worker struct {
	PID         int
	Interpreter string
	Idle        bool // it waits for the next call
}

// Workers are the processes that live, by their ids.
func (h *Host) Workers() []Worker {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]Worker, 0, len(h.live))
	for w := range h.live {
		idle := slices.ContainsFunc(h.idle, func(r *resting) bool { return r.worker == w })
		out = append(out, Worker{w.cmd.Process.Pid, w.launch.Python, idle})
	}
	slices.SortFunc(out, func(a, b Worker) int { return a.PID - b.PID })
	return out
}

// Allowed refuses Python code by name where it is switched off.
func (h *Host) Allowed(what string) error {
	if h == nil || h.options.Mode == Off {
		return &plan.Error{
			Class: plan.ClassJavaUnsupported,
			Msg:   what + " is Python code, and this server runs none (--python=off).",
		}
	}
	return nil
}

// completed fills in what a launch leaves to the host.
func (h *Host) completed(l Launch) Launch {
	if l.Python == "" {
		l.Python = h.options.Python
	}
	if len(h.options.Path) > 0 {
		l.Path = append(append([]string(nil), l.Path...), h.options.Path...)
	}
	return l
}

// take finds an idle worker for a launch, or starts one.
func (h *Host) take(ctx context.Context, l Launch) (*worker, error) {
	l = h.completed(l)
	if w := h.takeIdle(l.key()); w != nil {
		w.output.belong(l.Hear)
		return w, nil
	}
	return h.start(ctx, l)
}

func (h *Host) takeIdle(key string) *worker {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := len(h.idle) - 1; i >= 0; i-- {
		r := h.idle[i]
		if r.launch.key() != key {
			continue
		}
		h.idle = append(h.idle[:i:i], h.idle[i+1:]...)
		if r.timer.Stop() && r.usable() {
			return r.worker
		}
	}
	return nil
}

func (h *Host) start(ctx context.Context, l Launch) (*worker, error) {
	w, err := startWorker(ctx, l, h.options.Output)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		w.kill()
		return nil, plan.IllegalArgument("the server is stopping")
	}
	h.live[w] = true
	return w, nil
}

// give takes a worker back. One that cannot be used again is ended.
func (h *Host) give(w *worker) {
	w.output.settle()
	w.output.belong(nil)
	h.mu.Lock()
	if !h.closed && w.usable() {
		r := &resting{worker: w}
		r.timer = time.AfterFunc(idleFor, func() { h.retire(w) })
		h.idle = append(h.idle, r)
		if len(h.idle) <= maxIdle {
			h.mu.Unlock()
			return
		}
		h.idle[0].timer.Stop()
		w, h.idle = h.idle[0].worker, h.idle[1:]
	}
	h.mu.Unlock()
	h.end(w)
}

// retire ends a worker that was idle for long.
func (h *Host) retire(w *worker) {
	h.mu.Lock()
	for i, r := range h.idle {
		if r.worker == w {
			h.idle = append(h.idle[:i:i], h.idle[i+1:]...)
			break
		}
	}
	h.mu.Unlock()
	h.end(w)
}

func (h *Host) end(w *worker) {
	w.close()
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.live, w)
}
