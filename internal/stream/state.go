package stream

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/exec"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/state"
)

const stateName = "state"

// memory is what the stateful operators of a run keep between batches. State
// version N+1 is durable before the sink learns that batch N is complete, so a
// sink never holds a batch whose state is lost.
type memory struct {
	program *exec.Program
	stores  []*state.Store
	held    *chunk.Budget // the stores' part of the query's
	// Of the batch at hand.
	batch *exec.Stateful
	took  time.Duration // to make the state durable
	hits  int64         // batches that found the state in memory
}

// recollect opens the state as it was before the batch at hand.
func (r *run) recollect() error {
	ops := r.program.Operators()
	if err := r.checkOperators(ops); err != nil {
		return err
	}
	m := &memory{program: r.program, held: r.config.Env.Eval.Memory.Part()}
	r.memory = m
	for id, op := range ops {
		s, err := state.Open(state.Options{
			FS:     r.manager.stepped(r.config.Checkpoint.FS, snapshotSteps),
			Dir:    path.Join(r.config.Checkpoint.Dir, stateName, strconv.Itoa(id)),
			Shapes: op.Tables, Evolves: op.Evolves, Deleted: op.Deleted, Retain: r.settings.retain,
			Warn: func(message string, err error) { r.log.Warn(message, "operator", id, "err", err) },
		}, r.batch)
		if err != nil {
			return stateError(err)
		}
		m.stores = append(m.stores, s)
	}
	return m.charge()
}

// charge takes what the stores hold now from the query's budget.
func (m *memory) charge() error {
	total := int64(0)
	for _, s := range m.stores {
		total += s.Bytes()
	}
	more := total - m.held.Used()
	if more <= 0 {
		m.held.Give(-more)
		return nil
	}
	return m.held.Take("state", more)
}

// close gives the stores back.
func (m *memory) close() error {
	if m == nil {
		return nil
	}
	var err error
	for _, s := range m.stores {
		err = errors.Join(err, s.Close())
	}
	m.held.Close()
	return err
}

// begin prepares the operators for a batch that runs with a watermark, after one
// that ran with another.
func (m *memory) begin(beforeMs, watermarkMs int64) *exec.Stateful {
	began := time.Now()
	if m.batch != nil {
		m.hits++
	}
	m.batch = &exec.Stateful{
		Stores: m.stores, Work: make([]exec.StateWork, len(m.stores)),
		Late: m.program.Watermarks(beforeMs), Evict: m.program.Watermarks(watermarkMs),
		Elapsed: func() time.Duration { return time.Since(began) },
	}
	m.took = 0
	return m.batch
}

// remembering passes the rows of a batch on and makes the state durable before
// it says that there are no more.
func (r *run) remembering(rows chunk.Rows) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		wanted := true
		for c, err := range rows {
			if err != nil {
				if wanted {
					yield(nil, err)
				}
				return
			}
			// A sink that has enough does not end the operators' work.
			wanted = wanted && yield(c, nil)
		}
		if err := r.memory.commit(r); err != nil && wanted {
			yield(nil, err)
		}
	}
}

// commit makes the state of the batch at hand durable.
func (m *memory) commit(r *run) error {
	began := time.Now()
	r.record.Flight().Enter(health.StateCommit)
	if err := m.charge(); err != nil {
		return err
	}
	for id, s := range m.stores {
		if !m.batch.Work[id].Done {
			return fmt.Errorf("operator %d did not see all its input", id)
		}
		if err := s.Commit(); err != nil {
			return err
		}
		r.manager.crash(StepStateSome)
	}
	m.took = time.Since(began)
	r.manager.crash(StepStateDone)
	return nil
}

// committed tells whether the state of a batch is durable.
func (m *memory) committed(batch int64) bool {
	for _, s := range m.stores {
		if s.Version() != batch+1 {
			return false
		}
	}
	return true
}

// stateOperators is what the operators did in the batch at hand.
func (r *run) stateOperators() []monitor.StateOperator {
	m := r.memory
	if m == nil || m.batch == nil {
		return nil
	}
	var out []monitor.StateOperator
	for id, op := range m.program.Operators() {
		work, instances := m.batch.Work[id], r.partitions()
		if op.Single {
			instances = 1
		}
		out = append(out, monitor.StateOperator{
			Name: op.Name, NumRowsTotal: op.Count(m.stores[id]),
			NumRowsUpdated: work.Updated, AllUpdatesTimeMs: work.UpdateTime.Milliseconds(),
			NumRowsRemoved: work.Removed, AllRemovalsTimeMs: work.RemoveTime.Milliseconds(),
			CommitTimeMs: m.took.Milliseconds(), MemoryUsedBytes: m.stores[id].Bytes(),
			NumRowsDroppedByWatermark: work.Dropped, NumShufflePartitions: int64(r.partitions()),
			NumStateStoreInstances: int64(instances * op.StoresPerPartition),
			CustomMetrics:          r.stateMetrics(id),
		})
	}
	return out
}

// stateMetrics are the numbers that Spark's default provider gives, as far as
// they mean something here.
func (r *run) stateMetrics(id int) []monitor.StateMetric {
	work, store := r.memory.batch.Work[id], r.memory.stores[id]
	metrics := []monitor.StateMetric{
		{Name: "loadedMapCacheHitCount", Value: r.memory.hits},
		{Name: "loadedMapCacheMissCount", Value: 1},
		{Name: "stateOnCurrentVersionSizeBytes", Value: store.Payload(), Snapshot: true},
	}
	if r.memory.program.Operators()[id].Name == exec.DedupName {
		metrics = append(metrics, monitor.StateMetric{Name: "numDroppedDuplicateRows", Value: work.Duplicates})
	}
	return metrics
}

// wantsAnother tells whether a batch without new data would close something.
func (r *run) wantsAnother(from int64) bool {
	return r.memory != nil && r.settings.noData && r.program.WantsAnother(from, r.watermark.ms)
}

// stateError is what the state says, with Spark's conditions.
func stateError(err error) error {
	var schema *state.SchemaError
	if errors.As(err, &schema) {
		return schemaError(schema)
	}
	var missing *state.MissingError
	var corrupt *state.CorruptError
	if !errors.As(err, &missing) && !errors.As(err, &corrupt) {
		return err
	}
	e := plan.NewError(plan.ClassSpark, "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED", err.Error())
	e.Hint = "Restore the file, or begin with a new checkpoint."
	e.Cause = err
	return e
}

func schemaError(e *state.SchemaError) error {
	var stored, wanted state.Shape
	if e.Table < len(e.Stored) {
		stored = e.Stored[e.Table]
	}
	if e.Table < len(e.Wanted) {
		wanted = e.Wanted[e.Table]
	}
	what, before, after := "VALUE", stored.ValueType(), wanted.ValueType()
	if e.Key {
		what, before, after = "KEY", stored.KeyType(), wanted.KeyType()
	}
	param := map[string]string{"KEY": "Key", "VALUE": "Value"}[what]
	return plan.NewError(plan.ClassUnsupported, "STATE_STORE_"+what+"_SCHEMA_NOT_COMPATIBLE",
		fmt.Sprintf("the state in %s was %s and the query has %s: a changed query needs a new checkpoint.",
			e.Dir, before.Simple(), after.Simple()),
		"stored"+param+"Schema", before.Simple(), "new"+param+"Schema", after.Simple())
}
