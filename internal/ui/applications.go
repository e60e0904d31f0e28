package ui

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
)

// addApplications adds /api/v1/applications, which tools for Spark ask, with the paths,
// shapes and status codes of Spark 4.3.0. weir is one application. It has no jobs, stages,
// cached data and SQL executions of Spark's kind: these lists are empty. Its driver is the
// one executor, for which a batch is a task.
//
// Two things are not as in Spark. streaming/statistics of the older DStreams is an empty
// object, where Spark says that there is no such thing: the Datadog Agent would take that
// for an application that it cannot reach. And there are sql/streamingqueries and its
// progress, proposed for Spark in SPARK-38234.
func (s *server) addApplications(mux *http.ServeMux) {
	both := func(pattern string, h http.HandlerFunc) {
		mux.HandleFunc(pattern, h)
		mux.HandleFunc(pattern+"/{$}", h)
	}
	both("GET /api/v1/applications", s.applications)
	both("GET /api/v1/applications/{app}", s.application)
	both("GET /api/v1/applications/{app}/jobs", s.emptyOf("running", "succeeded", "failed", "unknown"))
	both("GET /api/v1/applications/{app}/stages",
		s.emptyOf("active", "complete", "pending", "failed", "skipped"))
	both("GET /api/v1/applications/{app}/executors", s.ofApplication(s.executors))
	both("GET /api/v1/applications/{app}/allexecutors", s.ofApplication(s.executors))
	both("GET /api/v1/applications/{app}/storage/rdd", s.emptyOf())
	both("GET /api/v1/applications/{app}/environment", s.ofApplication(s.sparkEnvironment))
	both("GET /api/v1/applications/{app}/streaming/statistics", s.ofApplication(
		func(*http.Request) any { return struct{}{} }))
	both("GET /api/v1/applications/{app}/sql", s.emptyOf())
	both("GET /api/v1/applications/{app}/sql/streamingqueries", s.ofApplication(s.streamingQueries))
	both("GET /api/v1/applications/{app}/sql/streamingqueries/{runId}/progress",
		s.streamingProgress)
	// What there is never, and what is an attempt at another application.
	const below = "GET " + "/api/v1/applications/{app}/"
	mux.HandleFunc(below+"{attempt}", func(w http.ResponseWriter, r *http.Request) {
		refuseAsSpark(w, http.StatusNotFound, "unknown app "+r.PathValue("app")+", attempt "+r.PathValue("attempt"))
	})
	mux.HandleFunc(below+"executors/{id}", s.noneOfApplication(""))
	mux.HandleFunc(below+"jobs/{id}", s.noneOfApplication("unknown job: %d"))
	mux.HandleFunc(below+"stages/{id}", s.noneOfApplication("unknown stage: %d"))
	mux.HandleFunc(below+"storage/rdd/{id}", s.noneOfApplication("no rdd found w/ id %d"))
	mux.HandleFunc(below+"sql/{id}", s.noneOfApplication("unknown query execution id: %d"))
	mux.HandleFunc(below+"streaming/{what}", s.noneOfApplication("no streaming listener attached to weir"))
}

// refuseAsSpark says no in plain text, as Spark's API does.
func refuseAsSpark(w http.ResponseWriter, code int, why string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	fmt.Fprint(w, why)
}

// sparkApplication is an application with its one attempt.
type sparkApplication struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Attempts []sparkAttempt `json:"attempts"`
}

type sparkAttempt struct {
	StartTime        sparkTime `json:"startTime"`
	EndTime          sparkTime `json:"endTime"`
	LastUpdated      sparkTime `json:"lastUpdated"`
	Duration         int64     `json:"duration"` // milliseconds
	SparkUser        string    `json:"sparkUser"`
	Completed        bool      `json:"completed"`
	AppSparkVersion  string    `json:"appSparkVersion"`
	StartTimeEpoch   int64     `json:"startTimeEpoch"`
	EndTimeEpoch     int64     `json:"endTimeEpoch"`
	LastUpdatedEpoch int64     `json:"lastUpdatedEpoch"`
}

// sparkTime is an instant as Spark's API writes it.
type sparkTime time.Time

// MarshalJSON writes the instant.
func (t sparkTime) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Time(t).UTC().Format(sparkTimeFormat))
}

const sparkTimeFormat = "2006-01-02T15:04:05.000GMT"

// notEnded is the end of what still runs, in milliseconds.
const notEnded = -1

func (s *server) own() sparkApplication {
	begun := sparkTime(s.begun)
	return sparkApplication{s.options.Application, "weir", []sparkAttempt{{
		StartTime: begun, EndTime: sparkTime(time.UnixMilli(notEnded)), LastUpdated: begun,
		Duration: s.options.Now().Sub(s.begun).Milliseconds(), SparkUser: s.options.User,
		AppSparkVersion: sparkVersion, StartTimeEpoch: s.begun.UnixMilli(), EndTimeEpoch: notEnded,
		LastUpdatedEpoch: s.begun.UnixMilli(),
	}}}
}

func (s *server) application(w http.ResponseWriter, r *http.Request) {
	if id := r.PathValue("app"); id != s.options.Application {
		refuseAsSpark(w, http.StatusNotFound, "unknown app: "+id)
		return
	}
	answer(w, s.own())
}

// applications lists weir, unless the parameters leave it out.
func (s *server) applications(w http.ResponseWriter, r *http.Request) {
	list, code, why := []sparkApplication{}, 0, ""
	var running bool
	if running, code, why = s.asked(r); running {
		list = append(list, s.own())
	}
	if code != 0 {
		refuseAsSpark(w, code, why)
		return
	}
	answer(w, list)
}

// asked tells whether the parameters of a request for applications ask for one that
// began with the server and runs; a code says that they cannot be read.
func (s *server) asked(r *http.Request) (yes bool, code int, why string) {
	query := r.URL.Query()
	yes = true
	if states := query["status"]; len(states) > 0 {
		yes = false
		for _, state := range states {
			switch strings.ToLower(state) {
			case "running":
				yes = true
			case "completed", "":
			default:
				return false, http.StatusNotFound, "unknown status: " + state + "; there are running and completed"
			}
		}
	}
	if limit := query.Get("limit"); limit != "" {
		n, err := strconv.Atoi(limit)
		if err != nil {
			return false, http.StatusNotFound, "limit is no whole number: " + limit
		}
		yes = yes && n > 0
	}
	for name, leavesOut := range map[string]func(time.Time) bool{
		"minDate": s.begun.Before, "maxDate": s.begun.After,
		"minEndDate": func(time.Time) bool { return false }, // its end is yet to come
		"maxEndDate": s.options.Now().After,
	} {
		date := query.Get(name)
		at, ok := sparkDate(date)
		if date != "" && !ok {
			return false, http.StatusBadRequest, "Couldn't parse date: " + date
		}
		if date != "" && leavesOut(at) {
			yes = false
		}
	}
	return yes, 0, ""
}

// sparkDate reads a day or an instant.
func sparkDate(text string) (time.Time, bool) {
	for _, format := range []string{sparkTimeFormat, time.DateOnly} {
		if t, err := time.Parse(format, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// ofApplication answers about weir, and knows no other application.
func (s *server) ofApplication(body func(*http.Request) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.knows(w, r) {
			answer(w, body(r))
		}
	}
}

// knows tells whether the path names weir, and answers the request when it does not.
func (s *server) knows(w http.ResponseWriter, r *http.Request) bool {
	id := r.PathValue("app")
	if id != s.options.Application {
		refuseAsSpark(w, http.StatusNotFound, "no such app: "+id)
	}
	return id == s.options.Application
}

// noneOfApplication refuses a thing by its number, of which weir has none; what is no
// number is refused as a path that does not exist.
func (s *server) noneOfApplication(why string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.knows(w, r) {
			return
		}
		n, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
		switch {
		case strings.Contains(why, "%d") && err == nil:
			refuseAsSpark(w, http.StatusNotFound, fmt.Sprintf(why, n))
		case why == "" || err != nil && r.PathValue("id") != "":
			refuseAsSpark(w, http.StatusNotFound, r.URL.Path)
		default:
			refuseAsSpark(w, http.StatusNotFound, why)
		}
	}
}

// emptyOf answers with no element of a list, of which Spark can be asked for some states.
func (s *server) emptyOf(states ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.knows(w, r) {
			return
		}
		for _, state := range r.URL.Query()["status"] {
			if states != nil && state != "" && !slices.Contains(states, strings.ToLower(state)) {
				refuseAsSpark(w, http.StatusNotFound,
					"unknown status: "+state+"; there are "+strings.Join(states, ", "))
				return
			}
		}
		answer(w, []struct{}{})
	}
}

// sparkExecutor is the driver. Its memory is what queries hold and may hold.
type sparkExecutor struct {
	ID                string            `json:"id"`
	HostPort          string            `json:"hostPort"`
	IsActive          bool              `json:"isActive"`
	RDDBlocks         int               `json:"rddBlocks"`
	MemoryUsed        int64             `json:"memoryUsed"`
	DiskUsed          int64             `json:"diskUsed"`
	TotalCores        int               `json:"totalCores"`
	MaxTasks          int               `json:"maxTasks"`
	ActiveTasks       int64             `json:"activeTasks"`
	FailedTasks       int64             `json:"failedTasks"`
	CompletedTasks    int64             `json:"completedTasks"`
	TotalTasks        int64             `json:"totalTasks"`
	TotalDuration     int64             `json:"totalDuration"`
	TotalGCTime       int64             `json:"totalGCTime"`
	TotalInputBytes   int64             `json:"totalInputBytes"`
	TotalShuffleRead  int64             `json:"totalShuffleRead"`
	TotalShuffleWrite int64             `json:"totalShuffleWrite"`
	IsBlacklisted     bool              `json:"isBlacklisted"`
	MaxMemory         int64             `json:"maxMemory"`
	AddTime           sparkTime         `json:"addTime"`
	ExecutorLogs      struct{}          `json:"executorLogs"`
	MemoryMetrics     sparkMemory       `json:"memoryMetrics"`
	BlacklistedIn     []int             `json:"blacklistedInStages"`
	Attributes        map[string]string `json:"attributes"`
	Resources         map[string]string `json:"resources"`
	ResourceProfileID int               `json:"resourceProfileId"`
	IsExcluded        bool              `json:"isExcluded"`
	ExcludedIn        []int             `json:"excludedInStages"`
}

type sparkMemory struct {
	UsedOnHeap   int64 `json:"usedOnHeapStorageMemory"`
	UsedOffHeap  int64 `json:"usedOffHeapStorageMemory"`
	TotalOnHeap  int64 `json:"totalOnHeapStorageMemory"`
	TotalOffHeap int64 `json:"totalOffHeapStorageMemory"`
}

// executors lists the driver where the server knows what it uses.
func (s *server) executors(r *http.Request) any {
	if s.options.Resources == nil {
		return []sparkExecutor{}
	}
	u := s.options.Resources()
	held, limit := int64(max(u.Held, 0)), int64(max(u.Limit, 0))
	d := sparkExecutor{
		ID: "driver", HostPort: r.Host, IsActive: true, MemoryUsed: held, TotalCores: u.Cores, MaxTasks: u.Cores,
		MaxMemory: limit, AddTime: sparkTime(u.StartedAt), BlacklistedIn: []int{}, ExcludedIn: []int{},
		Attributes: map[string]string{}, Resources: map[string]string{},
		MemoryMetrics: sparkMemory{UsedOnHeap: held, TotalOnHeap: limit},
	}
	for _, q := range s.registry.Queries() {
		if q.Health().InFlight != nil {
			d.ActiveTasks++
		}
		sums := q.Totals()
		d.CompletedTasks += sums.Batches
		d.FailedTasks += sums.Failures
		d.TotalDuration += int64(sums.BatchSeconds.Sum * 1000)
	}
	d.TotalTasks = d.ActiveTasks + d.CompletedTasks + d.FailedTasks
	return []sparkExecutor{d}
}

// sparkSettings is what Spark's API calls the environment.
type sparkSettings struct {
	Runtime   sparkRuntime `json:"runtime"`
	Spark     [][2]string  `json:"sparkProperties"`
	Hadoop    [][2]string  `json:"hadoopProperties"`
	System    [][2]string  `json:"systemProperties"`
	Metrics   [][2]string  `json:"metricsProperties"`
	Classpath [][2]string  `json:"classpathEntries"`
	Profiles  []struct{}   `json:"resourceProfiles"`
}

type sparkRuntime struct {
	JavaVersion  string `json:"javaVersion"`
	JavaHome     string `json:"javaHome"`
	ScalaVersion string `json:"scalaVersion"`
}

// sparkEnvironment has the settings of Spark's names; there is no Java to tell of.
func (s *server) sparkEnvironment(*http.Request) any {
	none := [][2]string{}
	out := sparkSettings{Spark: none, Hadoop: none, System: none, Metrics: none, Classpath: none,
		Profiles: []struct{}{}}
	set := map[string]string{"spark.app.id": s.options.Application, "spark.app.name": "weir"}
	if s.options.Environment != nil {
		for _, group := range s.environment() {
			for _, one := range group.Settings {
				if strings.HasPrefix(one.Name, "spark.") {
					set[one.Name] = one.Value
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		out.Spark = append(out.Spark, [2]string{name, set[name]})
	}
	return out
}

// sparkQuery is a run of a query with the fields of Spark's own store of them, which
// leaves out what there is not.
type sparkQuery struct {
	Name           string `json:"name,omitempty"`
	ID             string `json:"id"`
	RunID          string `json:"runId"`
	IsActive       bool   `json:"isActive"`
	Exception      string `json:"exception,omitempty"`
	StartTimestamp int64  `json:"startTimestamp"`
	EndTimestamp   int64  `json:"endTimestamp,omitempty"`
}

func (s *server) streamingQueries(*http.Request) any {
	list := []sparkQuery{}
	for _, q := range s.registry.Runs() {
		at := q.Snapshot()
		one := sparkQuery{Name: at.Name, ID: at.ID, RunID: at.RunID, IsActive: at.EndedAt.IsZero(),
			StartTimestamp: at.StartedAt.UnixMilli()}
		if at.Failure != nil {
			one.Exception = at.Failure.Message
		}
		if !at.EndedAt.IsZero() {
			one.EndTimestamp = at.EndedAt.UnixMilli()
		}
		list = append(list, one)
	}
	return list
}

// streamingProgress lists the last entries of a run's progress, the oldest first, each as
// a listener gets it: one, unless the parameter last asks for more.
func (s *server) streamingProgress(w http.ResponseWriter, r *http.Request) {
	if !s.knows(w, r) {
		return
	}
	run := r.PathValue("runId")
	q := s.registry.Find(run)
	if q == nil || q.RunID() != run {
		refuseAsSpark(w, http.StatusNotFound, "unknown streaming query run: "+run)
		return
	}
	last := 1
	if text := r.URL.Query().Get("last"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			refuseAsSpark(w, http.StatusBadRequest, "last is no number of entries: "+text)
			return
		}
		last = n
	}
	recent := q.Recent()
	writeJSON(w, progressList(recent[max(0, len(recent)-last):]))
}

func progressList(of []*monitor.Progress) []byte {
	body := []byte{'['}
	for i, p := range of {
		if i > 0 {
			body = append(body, ',')
		}
		body = p.AppendJSON(body)
	}
	return append(body, ']')
}
