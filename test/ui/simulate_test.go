package ui

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
)

// A story is a query as it is played: what arrives, what it can take, how it ends.
type story struct {
	name, application, engine string
	tags                      []string
	every                     time.Duration // between triggers
	objective                 time.Duration
	rate                      func(ago float64) float64 // rows a second, so many seconds before the start
	cap                       float64                   // rows a batch, 0 for none
	fixed, perRow             float64                   // seconds of a batch and of each of its rows
	stalls                    float64                   // so many seconds before the start; 0: never
	state                     float64                   // bytes of state
	end                       func(*monitor.Query, time.Time)
	again                     bool          // it is started anew after it ended
	failsIn                   time.Duration // after the start; 0: never
	number                    int           // added to that of its place, for its id
	run                       string        // of its run's id, before the others
	settings                  []monitor.Setting
	prints                    int // lines of its functions
}

func steady(rate float64) func(float64) float64 {
	return func(ago float64) float64 { return rate * (1 + 0.05*math.Sin(ago/130) + 0.02*math.Sin(ago/17)) }
}

// risen is a rate that grew so many seconds ago.
func risen(rate, to, ago float64) func(float64) float64 {
	calm := steady(1)
	return func(t float64) float64 {
		if t > ago {
			return rate * calm(t)
		}
		return to * calm(t)
	}
}

// burst is a rate that was another between two moments.
func burst(rate, more, from, to float64) func(float64) float64 {
	return func(ago float64) float64 {
		if ago <= from && ago > to {
			return more
		}
		return rate
	}
}

const second = time.Second

// failing ends a query with a message.
func failing(message string) func(*monitor.Query, time.Time) {
	return func(q *monitor.Query, at time.Time) {
		q.Terminate(at, &monitor.Failure{
			Message: message, Condition: "DELTA_FAILED_TO_MERGE_FIELDS",
			Trace: "org.apache.spark.sql.delta.DeltaAnalysisException: " + message + "\n\tat line 12 of customers.py",
		})
	}
}

// stories has every state once, and some more that keep up.
func stories() []story {
	fail := failing("[DELTA_FAILED_TO_MERGE_FIELDS] Failed to merge fields 'tier' and 'tier'. SQLSTATE: 22005")
	stop := func(q *monitor.Query, at time.Time) {
		q.Because("its session was idle for 1h0m0s")
		q.Terminate(at, nil)
	}
	return []story{
		{name: "orders_enriched", application: "shop", tags: []string{"team:checkout"}, every: 10 * second,
			rate: risen(8200, 12100, 756), cap: 100_000, fixed: 0.8, perRow: 5.4e-5, state: 7.6e8},
		{name: "payments_dedup", application: "payments", every: 10 * second, objective: time.Minute,
			rate: steady(5100), fixed: 0.6, perRow: 6e-5, state: 1.2e9},
		{name: "fraud_scores", application: "payments", every: 5 * second, objective: 40 * second,
			rate: risen(2000, 3100, 400), cap: 12_500, fixed: 0.3, perRow: 4e-5},
		{name: "shipments_join", application: "logistics", every: 10 * second, rate: steady(1800), fixed: 0.5,
			perRow: 1e-4, stalls: 360},
		{name: "cdc_customers", application: "platform", every: 5 * second, rate: steady(640), fixed: 0.2,
			perRow: 2e-4, end: fail},
		{name: "clicks_sessionized", application: "ads", every: 10 * second, rate: burst(5000, 12_000, 900, 500),
			cap: 80_000, fixed: 0.5, perRow: 6e-5, state: 3e8},
		{name: "device_heartbeat", application: "iot", every: 10 * second, rate: steady(950), fixed: 0.3,
			perRow: 1e-4, end: fail, again: true},
		{name: "ad_impressions", application: "ads", every: 10 * second, rate: burst(4000, 6000, 1300, 1000),
			cap: 40_000, fixed: 0.6, perRow: 1e-4},
		{name: "geo_pings", application: "logistics", rate: steady(7300), fixed: 0.3, perRow: 6e-5, prints: 200},
		{name: "page_views_1m", application: "search", engine: "Spark 4.0", every: 20 * second, rate: steady(15_000),
			fixed: 1, perRow: 4e-5},
		{name: "refunds_audit", application: "payments", every: 10 * second, rate: steady(0), fixed: 0.1},
		{name: "orders_backfill", application: "shop", every: 10 * second, rate: steady(900), fixed: 0.1, perRow: 1e-4,
			end: stop},
	}
}

// many is n queries, of which every one after the first dozen keeps up.
func many(n int) []story {
	all := stories()
	for i := len(all); i < n; i++ {
		all = append(all, story{
			name: fmt.Sprintf("query_%03d", i), application: []string{"shop", "ads", "iot", "search", "payments"}[i%5],
			every: 10 * second, rate: steady(100 + float64(37*i%2000)), fixed: 0.2 + 0.01*float64(i%50), perRow: 5e-5,
		})
	}
	return all[:n]
}

// play is a story that runs.
type play struct {
	story
	query              *monitor.Query
	registry           *monitor.Registry
	id                 string
	begun              time.Time // of the play
	at                 time.Time
	arrived, committed float64
	batch              int64
	taken              float64   // rows of the running batch
	started, due       time.Time // of it, and of the end that it comes to
	over               bool
}

// A cast is all the plays of a registry.
type cast struct {
	mu       sync.Mutex
	registry *monitor.Registry
	plays    []*play
	now      time.Time // when the play before began
	opened   time.Time // when somebody came; zero before
}

// rehearse plays stories for the time before now, looking at them every step.
func rehearse(list []story, now time.Time, past, step time.Duration) *cast {
	return rehearseIn(monitor.NewRegistry(), list, now, past, step)
}

// rehearseIn is rehearse with the registry of a server.
func rehearseIn(registry *monitor.Registry, list []story, now time.Time, past, step time.Duration) *cast {
	c := &cast{registry: registry, now: now}
	for i, s := range list {
		p := &play{story: s, registry: c.registry, id: fmt.Sprintf("%08d-0000-4000-8000-00000000abcd", i+s.number),
			begun: now.Add(-past), at: now.Add(-past), batch: 18_000}
		p.start()
		c.plays = append(c.plays, p)
		for at := p.begun; !at.After(now); at = at.Add(step) {
			p.until(at, now)
			p.look(at)
		}
		if p.end != nil {
			p.end(p.query, now)
			p.over = true
			if p.again {
				p.over = false
				p.fixed = 3600 // it starts, and does not come to a commit
				p.start()
				p.look(now)
			}
		}
	}
	return c
}

// follow plays on until an instant.
func (c *cast) follow(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.plays {
		if p.over {
			continue
		}
		p.until(now, c.now)
		p.look(now)
		if p.failsIn > 0 && !c.opened.IsZero() && now.Sub(c.opened) > p.failsIn {
			p.over = true
			failing("it was to fail")(p.query, now)
		}
	}
}

// open says that somebody looks from now on.
func (c *cast) open(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened = now
}

func (p *play) start() {
	var output *monitor.Output
	if p.prints > 0 {
		output = monitor.NewOutput()
	}
	for i := range p.prints {
		output.Hear(monitor.OutputLine{At: p.at, Text: fmt.Sprint("line ", i)})
	}
	p.query = p.registry.Start(monitor.Run{
		Output: output,
		ID:     p.id, RunID: p.id + "-run" + p.run, Name: p.name, Application: p.application, Engine: p.engine,
		Settings: p.settings, Plan: "Project [id, amount]\n+- MicroBatchScan kafka " + p.name + p.run,
		Tags: p.tags, StartedAt: p.at, Health: health.Config{TriggerEvery: p.every, Objective: p.objective,
			CapName: "maxOffsetsPerTrigger", WatermarkDelay: p.delay()},
	}, monitor.NewBus())
	p.query.Activate([]string{"KafkaV2[Subscribe[" + p.name + "]]"}, "DeltaSink[main."+p.application+"."+p.name+"]")
	p.due = p.at
	p.taken = -1
}

// delay is that of the watermark of plays with state.
func (p *play) delay() time.Duration {
	if p.state == 0 {
		return 0
	}
	return 10 * time.Minute
}

// until plays to an instant: rows arrive, batches begin and end.
func (p *play) until(at, zero time.Time) {
	for p.at.Before(at) {
		next := p.at.Add(second)
		if next.After(at) {
			next = at
		}
		p.arrived += p.rate(zero.Sub(p.at).Seconds()) * next.Sub(p.at).Seconds()
		p.at = next
		stuck := p.stalls > 0 && zero.Sub(p.at).Seconds() < p.stalls
		if p.taken >= 0 && !p.at.Before(p.due) && !stuck {
			p.commit()
		}
		if p.taken < 0 && !p.at.Before(p.due) && p.arrived-p.committed >= 1 {
			p.begin()
		}
	}
}

func (p *play) begin() {
	p.taken = p.arrived - p.committed
	if p.cap > 0 {
		p.taken = min(p.taken, p.cap)
	}
	p.taken = math.Floor(p.taken)
	p.query.Begin(p.batch, p.at)
	p.query.Flight().Expect(int64(p.taken))
	p.query.Flight().Enter(health.Compute)
	p.started, p.due = p.at, p.at.Add(time.Duration((p.fixed+p.perRow*p.taken)*float64(second)))
}

func (p *play) commit() {
	progress := &monitor.Progress{BatchID: p.batch, Sources: []monitor.Source{{
		Description: "KafkaV2[Subscribe[" + p.name + "]]", NumInputRows: int64(p.taken),
	}}}
	took := p.due.Sub(p.started)
	progress.Durations.Add(monitor.LatestOffset, took/50)
	progress.Durations.Add(monitor.QueryPlanning, took/30)
	progress.Durations.Add(monitor.AddBatch, took*4/5)
	progress.Durations.Add(monitor.WalCommit, took/25)
	progress.Durations.Add(monitor.CommitOffsets, took/40)
	p.query.Record(progress, monitor.Trigger{Start: p.started, End: p.due})
	b := monitor.BatchOf(progress, p.started, p.due)
	b.Capped, b.Newest = p.cap > 0 && p.taken == p.cap, p.due
	if p.state > 0 {
		b.StateBytes, b.Watermark = p.state*(1+0.01*math.Sin(float64(p.batch)/9)), p.started.Add(-10*time.Minute-20*second)
	}
	b.Delivery = &health.Sketch{}
	waited := (p.arrived - p.committed) / max(1, p.rate(0))
	for i := range 20 {
		b.Delivery.Add(waited*(0.3+0.035*float64(i))+took.Seconds(), uint64(p.taken/20)+1)
	}
	p.committed += p.taken
	p.query.Committed(b)
	p.batch++
	p.taken = -1
	next := p.due
	if p.every > 0 {
		next = p.started.Truncate(p.every).Add(p.every)
	}
	if next.After(p.due) {
		p.due = next
	}
}

// look samples the query as the server's sampler does.
func (p *play) look(at time.Time) {
	if p.taken >= 0 && p.stalls == 0 {
		share := float64(at.Sub(p.started)) / float64(max(1, p.due.Sub(p.started)))
		done := p.query.Flight()
		done.Expect(int64(p.taken))
		done.Read(int64(min(1, max(0, share))*p.taken) - p.read())
	}
	if p.stalls > 0 && p.taken >= 0 {
		p.query.Flight().WaitFor("the commit lock of main." + p.application + "." + p.name)
	}
	nan := math.NaN()
	unread := math.Floor(p.arrived - p.committed)
	s := health.Source{Name: "kafka " + p.name, UntilLoss: nan, Read: health.Amount{Rows: p.committed, Bytes: nan, Files: nan},
		Unread: health.Amount{Rows: unread, Bytes: nan, Files: nan}}
	for i := range 6 {
		part := math.Floor(unread / 21 * float64(i+1))
		base := math.Floor(p.committed/6) + float64(1000*i)
		s.Partitions = append(s.Partitions, health.Partition{
			Name: fmt.Sprintf("%s-%d", p.name, i), Committed: base, Latest: base + part,
		})
	}
	p.query.Sample(at, &health.Reading{At: at, Sources: []health.Source{s}})
}

// read is how many rows of the running batch were read by the last look.
func (p *play) read() int64 {
	if f := p.query.Health().InFlight; f != nil && f.ID == p.batch {
		return int64(f.ReadRows)
	}
	return 0
}
