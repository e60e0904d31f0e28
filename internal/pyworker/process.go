package pyworker

import (
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/weir-dev/weir/internal/plan"
)

var (
	//go:embed weir_worker.py
	workerScript string
	//go:embed weir_groups.py
	groupsScript string
	//go:embed weir_aggregate.py
	aggregateScript string
	//go:embed weir_table.py
	tableScript string
	//go:embed weir_processor.py
	processorScript string
)

// wholeScript is what a worker runs.
func wholeScript() string {
	parts := []string{workerScript, aggregateScript, groupsScript, tableScript, processorScript, "main()\n"}
	return strings.Join(parts, "\n\n")
}

// bootstrap reads the script from the socket and runs it.
const bootstrap = `import os, struct
f = os.fdopen(os.dup(3), "rb", 0)
v, n = struct.unpack(">BI", f.read(5))
s = b""
while len(s) < n:
    s += f.read(n - len(s)) or exit(1)
f.close()
exec(compile(s, "weir_worker.py", "exec"), {"__name__": "weir_worker"})
`

const (
	// connectWait is how long a worker may take to import PySpark.
	connectWait = 60 * time.Second
	// stopGrace is how long an interrupted function may take to end.
	stopGrace = 3 * time.Second
)

// Launch says which Python a function wants.
type Launch struct {
	Python string   // the interpreter, "" for the Host's
	Path   []string // directories and archives that its modules may be in
	// Hear gets what the function prints, line by line, from other goroutines too.
	// It is called while output is read, and must not wait. Nil drops it.
	Hear  func(Line)
	Files string // what SparkFiles calls the root directory, "" when there is none
}

func (l Launch) key() string {
	return strings.Join(append([]string{l.Python, l.Files}, l.Path...), "\x00")
}

// worker is a running process.
type worker struct {
	*channel
	launch Launch
	cmd    *exec.Cmd
	alive  *os.File // closed to end the worker
	output *output
	ended  chan struct{} // closed when the process is gone

	mu       sync.Mutex
	stopping *time.Timer // kills an interrupted worker
	stopped  bool        // nothing more is asked of it
}

// startWorker starts a process and waits for its greeting.
func startWorker(ctx context.Context, l Launch, console io.Writer) (*worker, error) {
	w := &worker{launch: l, output: &output{console: console}, ended: make(chan struct{})}
	w.output.belong(l.Hear)
	if err := w.spawn(); err != nil {
		return nil, failedStart(l, err, "")
	}
	release := w.until(ctx)
	defer release()
	if err := w.greet(); err != nil {
		w.kill()
		<-w.ended
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, failedStart(l, err, w.output.String())
	}
	return w, nil
}

// spawn starts the process with its ends of the socket and of the pipes.
func (w *worker) spawn() (err error) {
	var given, kept []*os.File // closed in any case; when it fails
	defer func() {
		if err != nil {
			given = append(given, kept...)
		}
		for _, f := range given {
			f.Close()
		}
	}()
	ours, theirs, err := socketPair()
	if err != nil {
		return err
	}
	given = append(given, ours, theirs)
	watched, alive, err := os.Pipe()
	if err != nil {
		return err
	}
	given, kept = append(given, watched), append(kept, alive)
	w.cmd = exec.Command(w.launch.Python, "-c", bootstrap)
	for _, to := range []*io.Writer{&w.cmd.Stdout, &w.cmd.Stderr} {
		out, err := w.output.open(to == &w.cmd.Stderr)
		if err != nil {
			w.output.close()
			return err
		}
		*to, given = out, append(given, out)
	}
	conn, err := net.FileConn(ours)
	if err != nil {
		w.output.close()
		return err
	}
	w.channel, w.alive = newChannel(conn), alive
	w.cmd.ExtraFiles = []*os.File{theirs, watched}
	w.cmd.Env = environment(os.Environ(), w.launch)
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := w.cmd.Start(); err != nil {
		conn.Close()
		w.output.close()
		return err
	}
	w.output.follow()
	go w.reap()
	return nil
}

// socketPair is two connected sockets that no other child inherits.
func socketPair() (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	for _, fd := range pair {
		syscall.CloseOnExec(fd)
	}
	return os.NewFile(uintptr(pair[0]), "python"), os.NewFile(uintptr(pair[1]), "weir"), nil
}

// foreign are variables that would lead PySpark in a worker to another server.
var foreign = []string{
	"SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_API_MODE", "MASTER",
	"PYTHONSTARTUP", "PYTHONINSPECT",
}

// filesVariable tells a worker where SparkFiles finds files.
const filesVariable = "WEIR_FILES"

// environment is the server's own, as Spark's workers have it, without what is
// meant for other programs. The worker's modules are looked for in its path first.
func environment(own []string, l Launch) []string {
	env := slices.DeleteFunc(slices.Clone(own), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(foreign, name)
	})
	if len(l.Path) > 0 {
		list := slices.Clone(l.Path)
		if inherited := os.Getenv("PYTHONPATH"); inherited != "" {
			list = append(list, inherited)
		}
		env = append(env, "PYTHONPATH="+strings.Join(list, string(os.PathListSeparator)))
	}
	return append(env, "PYTHONUNBUFFERED=1", filesVariable+"="+l.Files)
}

// greet sends the script and waits for the worker to say that it runs.
func (w *worker) greet() error {
	if err := w.conn.SetDeadline(time.Now().Add(connectWait)); err != nil {
		return err
	}
	script := wholeScript()
	head := binary.BigEndian.AppendUint32([]byte{version}, uint32(len(script)))
	if _, err := w.conn.Write(append(head, script...)); err != nil {
		return err
	}
	kind, payload, err := w.receive()
	if err != nil {
		return err
	}
	var greeting struct{ Version int }
	if err := json.Unmarshal(payload, &greeting); err != nil || kind != frameCall {
		return fmt.Errorf("greeting %q", payload)
	}
	if greeting.Version != version {
		return fmt.Errorf("the worker speaks version %d", greeting.Version)
	}
	return w.conn.SetDeadline(time.Time{})
}

// reap waits for the end of the process, and ends those that it left behind.
func (w *worker) reap() {
	// How it ended is in ProcessState.
	_ = w.cmd.Wait()
	_ = syscall.Kill(-w.cmd.Process.Pid, syscall.SIGKILL)
	w.output.close()
	w.conn.Close()
	w.alive.Close()
	w.mu.Lock()
	w.stopped = true
	if w.stopping != nil {
		w.stopping.Stop()
	}
	w.mu.Unlock()
	close(w.ended)
}

// until interrupts the worker when ctx ends before release is called.
func (w *worker) until(ctx context.Context) (release func() bool) {
	return context.AfterFunc(ctx, w.interrupt)
}

// interrupt raises KeyboardInterrupt in the function, and kills the process when
// it is still there after a grace.
func (w *worker) interrupt() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	w.stopped = true
	_ = w.cmd.Process.Signal(os.Interrupt)
	w.stopping = time.AfterFunc(stopGrace, w.kill)
}

// kill ends the process and those it started at once.
func (w *worker) kill() {
	select {
	case <-w.ended:
	default:
		_ = syscall.Kill(-w.cmd.Process.Pid, syscall.SIGKILL)
	}
}

// usable says whether the worker may be asked for more.
func (w *worker) usable() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.stopped
}

// close ends the worker: it sees the end of the socket, and is killed when it
// does not heed it.
func (w *worker) close() {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	w.conn.Close()
	select {
	case <-w.ended:
		return
	case <-time.After(stopGrace):
	}
	w.kill()
	<-w.ended
}

// failedStart says why there is no worker.
func failedStart(l Launch, err error, output string) *plan.Error {
	why := err.Error()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		why = fmt.Sprintf("it did not answer within %s", connectWait)
	}
	if last := lastLines(output, 3); last != "" {
		why = last
	}
	if strings.Contains(why, "No module named 'pyspark'") {
		why = "it has no PySpark: " + why
	}
	return &plan.Error{
		Class: plan.ClassSpark,
		Msg:   fmt.Sprintf("Python worker failed to connect back. %s: %s.", l.Python, why),
		Hint: "Functions need a Python with PySpark: name it with spark.sql.execution.pyspark.python, or with " +
			"PYSPARK_PYTHON where weir is started.",
		Cause: err,
	}
}

// crashed says that the worker ended in the midst of its work.
func (w *worker) crashed(cause error) *plan.Error {
	select {
	case <-w.ended:
	case <-time.After(stopGrace):
		w.kill()
		<-w.ended
	}
	msg := fmt.Sprintf("Python worker exited unexpectedly (crashed): %s", w.cmd.ProcessState)
	if last := lastLines(w.output.String(), 10); last != "" {
		msg += "; its last output: " + last
	}
	return &plan.Error{Class: plan.ClassSpark, Msg: msg + ".", Cause: cause}
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
