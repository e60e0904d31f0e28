package main

import (
	"math"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/weir-dev/weir/internal/peer"
	"github.com/weir-dev/weir/internal/pyworker"
	"github.com/weir-dev/weir/internal/ui"
)

// environment is what the page of that name shows of the server.
func (s *server) environment(f *serverFlags, a *access) []ui.Group {
	who := "the user who started weir, on this machine"
	switch {
	case a.connect.Token != "":
		who = "whoever has the token"
	case f.insecure:
		who = "whoever reaches the port (--insecure)"
	case f.allowOthers:
		who = "every user of this machine"
	}
	pages := "every user of this machine"
	if a.private {
		pages = "the user who started weir"
	} else if a.connect.Token != "" {
		pages = "the user who started weir, and whoever has the token"
	}
	root := f.root
	if root == "" {
		root = "not confined"
	}
	process := []ui.Setting{
		{Name: "weir", Value: version}, {Name: "Spark", Value: sparkVersion, Note: "whose programs it runs"},
		{Name: "Go", Value: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH},
		{Name: "Process", Value: strconv.Itoa(os.Getpid()),
			Note: "of user " + strconv.FormatUint(uint64(peer.Self()), 10)},
		{Name: "Data directory", Value: f.dir}, {Name: "Paths of programs", Value: root},
		{Name: "Spark Connect", Value: s.grpcAddress(), Note: "for " + who},
		{Name: "Pages and API", Value: s.httpAddress(), Note: "for " + pages},
		{Name: "TLS", Value: onOff(a.connect.TLS != nil)},
		{Name: "Python functions", Value: f.python}, {Name: "Python", Value: f.user.interpreter},
		{Name: "Grace at the end", Value: f.grace.String()}, {Name: "Log level", Value: f.logLevel.String()},
	}
	machine := []ui.Setting{
		{Name: "Processors", Value: strconv.Itoa(runtime.GOMAXPROCS(0)), Note: "GOMAXPROCS"},
		{Name: "Memory", Value: bytesText(s.memory), Note: "the least of machine, control group and GOMEMLIMIT"},
	}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		machine = append(machine, ui.Setting{
			Name: "Collector's limit", Value: bytesText(limit), Note: "GOMEMLIMIT, or nine tenths of the memory",
		})
	}
	var settings []ui.Setting
	for _, set := range s.engine.Settings() {
		one := ui.Setting{Name: set.Key, Value: set.Value}
		if set.Unknown {
			one.Note = "no such setting: it changes nothing"
		}
		settings = append(settings, one)
	}
	return []ui.Group{
		{Title: "Server", Settings: process}, {Title: "Machine", Settings: machine},
		{Title: "History", Settings: s.historySettings()},
		{Title: "Settings that every session begins with", Settings: settings},
	}
}

// userName is the name of who started weir, "" when the machine has none for them.
func userName() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func bytesText(n int64) string {
	if n <= 0 {
		return ""
	}
	return strconv.FormatInt(n>>20, 10) + " MiB"
}

// resources is what the server uses now.
func (s *server) resources() ui.Resources {
	held, limit := s.engine.Use()
	u := ui.Resources{
		StartedAt: s.started, Cores: runtime.GOMAXPROCS(0), CPUSeconds: ownCPU(),
		Goroutines: runtime.NumGoroutine(),
		Resident:   residentBytes("self"), Heap: heapBytes(), Held: float64(held), Limit: float64(limit),
	}
	for _, q := range s.engine.QueryUses() {
		use := ui.QueryUse{RunID: q.RunID, Held: float64(q.Held), Limit: float64(q.Limit)}
		u.Queries = append(u.Queries, use)
	}
	for _, w := range s.python.Workers() {
		u.Workers = append(u.Workers, workerUse(w))
	}
	return u
}

func workerUse(w pyworker.Worker) ui.WorkerUse {
	pid := strconv.Itoa(w.PID)
	return ui.WorkerUse{
		PID: w.PID, Interpreter: w.Interpreter, Idle: w.Idle,
		Resident: residentBytes(pid), CPUSeconds: processCPU(pid),
	}
}

// ownCPU is the processor time of this process and of its children that have ended.
func ownCPU() float64 {
	sum := time.Duration(0)
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			return math.NaN()
		}
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum.Seconds()
}

func heapBytes() float64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return math.NaN()
	}
	return float64(sample[0].Value.Uint64())
}

// residentBytes is the memory of a process that Linux holds for it, unknown elsewhere.
func residentBytes(pid string) float64 {
	data, err := os.ReadFile(filepath.Join("/proc", pid, "statm"))
	if err != nil {
		return math.NaN()
	}
	return pagesOf(string(data), os.Getpagesize())
}

// pagesOf reads the second number of a statm, pages, as bytes.
func pagesOf(statm string, page int) float64 {
	fields := strings.Fields(statm)
	if len(fields) < 2 {
		return math.NaN()
	}
	n, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return math.NaN()
	}
	return float64(n) * float64(page)
}

// ticksPerSecond is Linux's USER_HZ, which is this on every machine that weir runs on.
const ticksPerSecond = 100

// processCPU is the processor time of a process, unknown off Linux.
func processCPU(pid string) float64 {
	data, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return math.NaN()
	}
	return ticksOf(string(data)) / ticksPerSecond
}

// ticksOf adds up user and system time of a stat. The name of the process stands in
// parentheses and may hold anything.
func ticksOf(stat string) float64 {
	_, rest, ok := cutLast(stat, ")")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 13 {
		return math.NaN()
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	if err1 != nil || err2 != nil {
		return math.NaN()
	}
	return float64(user + system)
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
