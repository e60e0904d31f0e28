package monitor

import (
	"math"
	"time"

	"github.com/weir-dev/weir/internal/monitor/health"
)

// BatchOf is what a batch's progress says that judging a query needs. NoData, Capped
// and what the engine knows beyond it are left to the caller.
func BatchOf(p *Progress, start, end time.Time) health.Batch {
	unknown := math.NaN()
	b := health.Batch{
		ID: p.BatchID, Start: start, End: end, Rows: float64(p.NumInputRows()), StateBytes: unknown,
	}
	for i := range b.Phases {
		b.Phases[i] = unknown
	}
	seconds := func(of Phase) float64 {
		if !p.Durations.seen[of] {
			return unknown
		}
		return p.Durations.spent[of].Seconds()
	}
	b.Phases[health.LatestOffset] = seconds(LatestOffset)
	b.Phases[health.QueryPlanning] = seconds(QueryPlanning)
	b.Phases[health.Compute] = seconds(AddBatch)
	b.Phases[health.LogCommit] = seconds(CommitOffsets)
	if wal := seconds(WalCommit); health.Known(wal) {
		b.Phases[health.LogCommit] += wal
	}
	for i, s := range p.StateOperators {
		if i == 0 {
			b.StateBytes, b.Phases[health.StateCommit] = 0, 0
		}
		b.StateBytes += float64(s.MemoryUsedBytes)
		b.Dropped += float64(s.NumRowsDroppedByWatermark)
		commit := float64(s.CommitTimeMs) / 1000
		b.Phases[health.StateCommit] = max(b.Phases[health.StateCommit], commit)
	}
	if commit := b.Phases[health.StateCommit]; commit > 0 {
		b.Phases[health.Compute] = max(0, b.Phases[health.Compute]-commit)
	}
	if e := p.EventTime; e != nil {
		if e.WatermarkMs > 0 {
			b.Watermark = time.UnixMilli(e.WatermarkMs)
		}
		if e.Rows != nil {
			b.Newest = time.UnixMilli(e.Rows.MaxMs)
		}
	}
	return b
}
