package ui

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
)

// A Group is settings under a heading of the environment page.
type Group struct {
	Title    string    `json:"title"`
	Settings []Setting `json:"settings"`
}

// A Setting is a name with its value, and what there is to say about it.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Note  string `json:"note"`
}

// Resources is what the server uses at a moment. Sizes are in bytes; what is not known
// is NaN.
type Resources struct {
	StartedAt      time.Time
	Cores          int
	CPUSeconds     float64 // of the process and its ended children since its start
	Goroutines     int
	Resident, Heap float64
	Held, Limit    float64 // of the memory that queries may hold
	Queries        []QueryUse
	Workers        []WorkerUse
}

// A QueryUse is the memory that the run of a query holds, and what it may.
type QueryUse struct {
	RunID       string
	Held, Limit float64
}

// A WorkerUse is a process that runs functions of users.
type WorkerUse struct {
	PID         int
	Interpreter string
	Idle        bool
	Resident    float64
	CPUSeconds  float64
}

// environment is the settings of the server without its secrets.
func (s *server) environment() []Group {
	groups := slices.Clone(s.options.Environment())
	for i := range groups {
		groups[i].Settings = slices.Clone(groups[i].Settings)
		for j := range groups[i].Settings {
			set := &groups[i].Settings[j]
			set.Value = monitor.Setting{Name: set.Name, Value: set.Value}.Redacted().Value
		}
	}
	return groups
}

type environmentJSON struct {
	Groups []Group `json:"groups"`
}

// addSystem adds the pages about the server itself, where it tells of them.
func (s *server) addSystem(mux *http.ServeMux) {
	if s.options.Environment != nil {
		mux.HandleFunc("GET /environment", s.showEnvironment)
		mux.HandleFunc("GET /api/v1/environment", func(w http.ResponseWriter, _ *http.Request) {
			answer(w, environmentJSON{s.environment()})
		})
	}
	if s.options.Resources != nil {
		mux.HandleFunc("GET /resources", s.showResources)
		mux.HandleFunc("GET /api/v1/resources", func(w http.ResponseWriter, _ *http.Request) {
			answer(w, s.newResources(s.options.Now()))
		})
	}
}

func (s *server) showEnvironment(w http.ResponseWriter, r *http.Request) {
	p := s.newPage(r, "environment", "Environment")
	begin(w, http.StatusOK)
	writeenvironmentPage(w, p, s.environment())
}

func (s *server) showResources(w http.ResponseWriter, r *http.Request) {
	p := s.newPage(r, "resources", "Resources")
	begin(w, http.StatusOK)
	writeresourcesPage(w, p, s.newResources(time.Time(p.now)))
}

// resourcesJSON is the answer to GET /api/v1/resources.
type resourcesJSON struct {
	NowAtMs       instant      `json:"nowAtMs"`
	StartedAtMs   instant      `json:"startedAtMs"`
	Cores         int          `json:"cores"`
	CPUSeconds    number       `json:"cpuSeconds"`
	BusyCores     number       `json:"busyCores"`
	Goroutines    int          `json:"goroutines"`
	ResidentBytes number       `json:"residentBytes"`
	HeapBytes     number       `json:"heapBytes"`
	HeldBytes     number       `json:"heldBytes"`
	LimitBytes    number       `json:"limitBytes"`
	Queries       []queryUse   `json:"queries"`
	Workers       []workerJSON `json:"pythonWorkers"`
}

type queryUse struct {
	ID         string `json:"id"`
	RunID      string `json:"runId"`
	Name       string `json:"name"`
	HeldBytes  number `json:"heldBytes"`
	LimitBytes number `json:"limitBytes"`
	StateBytes number `json:"stateBytes"`
	// BatchRatio is for how much of the last minutes a batch ran: that of the fleet.
	BatchRatio number `json:"batchRatio"`
}

func (q *queryUse) link() string { return linkTo(q.ID) }

type workerJSON struct {
	PID           int    `json:"pid"`
	Interpreter   string `json:"interpreter"`
	Idle          bool   `json:"idle"`
	ResidentBytes number `json:"residentBytes"`
	CPUSeconds    number `json:"cpuSeconds"`
}

// newResources reads what is used, the queries that hold most first.
func (s *server) newResources(now time.Time) *resourcesJSON {
	u := s.options.Resources()
	out := &resourcesJSON{
		NowAtMs: instant(now), StartedAtMs: instant(u.StartedAt), Cores: u.Cores, CPUSeconds: num(u.CPUSeconds),
		BusyCores: s.load.since(now, u), Goroutines: u.Goroutines, ResidentBytes: num(u.Resident),
		HeapBytes: num(u.Heap), HeldBytes: num(u.Held), LimitBytes: num(u.Limit),
		Queries: []queryUse{}, Workers: []workerJSON{},
	}
	for _, use := range u.Queries {
		q := s.registry.Find(use.RunID)
		if q == nil {
			continue
		}
		snapshot, a := q.Snapshot(), q.Health()
		one := queryUse{
			ID: q.ID(), RunID: q.RunID(), Name: snapshot.ShownName(), HeldBytes: num(use.Held),
			LimitBytes: num(use.Limit), StateBytes: num(a.StateBytes), BatchRatio: num(a.InBatches),
		}
		out.Queries = append(out.Queries, one)
	}
	slices.SortStableFunc(out.Queries, func(a, b queryUse) int {
		return cmp.Or(cmp.Compare(known(b.HeldBytes), known(a.HeldBytes)), cmp.Compare(a.Name, b.Name))
	})
	for _, w := range u.Workers {
		out.Workers = append(out.Workers, workerJSON{
			w.PID, w.Interpreter, w.Idle, num(w.Resident), num(w.CPUSeconds),
		})
	}
	return out
}

// load tells how many cores were busy since it was asked last.
type load struct {
	mu   sync.Mutex
	at   time.Time
	used float64
	told number
}

// loadAtLeast is the shortest time over which cores are counted; who asks earlier gets
// the last answer.
const loadAtLeast = time.Second

func (l *load) since(now time.Time, u Resources) number {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at.IsZero() {
		l.at, l.used, l.told = u.StartedAt, 0, unknown()
	}
	if took := now.Sub(l.at); took >= loadAtLeast {
		l.told = num(math.Max(0, u.CPUSeconds-l.used) / took.Seconds())
		l.at, l.used = now, u.CPUSeconds
	}
	return l.told
}

// loadFigure is a number of cores.
func loadFigure(n number) string {
	if !isKnown(n) {
		return unknownFig
	}
	return fixed(float64(n), 2)
}

func limitText(limit number) string {
	if !(limit > 0) {
		return "not limited"
	}
	return "of " + sizeFigure(limit)
}

func (r *resourcesJSON) coresText() string {
	if r.Cores == 1 {
		return "of 1 core"
	}
	return "of " + strconv.Itoa(r.Cores) + " cores"
}
