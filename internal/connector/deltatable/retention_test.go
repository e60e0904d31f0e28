package deltatable

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/test/conform"
)

// remove commits that a file is given up, as OPTIMIZE does.
func (r *rig) remove(version int, path string) {
	r.t.Helper()
	r.commit(version, `{"commitInfo":{"operation":"OPTIMIZE","operationParameters":{}}}`,
		fmt.Sprintf(`{"remove":{"path":%q,"deletionTimestamp":1,"dataChange":false}}`, path))
}

// committed is when a version was made.
func (r *rig) committed(version int) time.Time {
	r.t.Helper()
	info, err := r.fsys.Stat(r.log(version))
	conform.Must(r.t, err)
	return info.ModTime
}

// TestASlowDeltaReaderIsToldBeforeVacuumOvertakesIt is report DL-12: files that the table
// gave up before the query read them go with the next VACUUM behind their time.
func TestASlowDeltaReaderIsToldBeforeVacuumOvertakesIt(t *testing.T) {
	const day = 24 * time.Hour
	r := newRig(t)
	r.add(1)                 // version 1
	r.add(2)                 // version 2
	r.remove(3, r.added(1))  // that of version 1 was given up
	r.add(4)                 // version 4
	r.remove(5, r.added(2))  // and that of version 2
	r.remove(6, "elsewhere") // one that was there before
	now := r.committed(0)    // all of that is of now
	source := r.source(nil)  // the query began at version 0
	read := func(version, index int64) connector.Offset {
		return offset{SourceVersion: 1, Version: version, Index: index}.text()
	}
	for name, c := range map[string]struct {
		committed connector.Offset
		later     time.Duration
		want      time.Duration // until loss; -1 for nothing to tell
	}{
		"at once":                      {read(1, -1), 0, -1},
		"with most of the time left":   {read(1, -1), 3 * day, -1},
		"half of the time on":          {read(1, -1), 4 * day, 3 * day},
		"a day before":                 {read(1, -1), 6*day + time.Hour, 23 * time.Hour},
		"overtaken":                    {read(1, -1), 9 * day, 0},
		"what was given up is read":    {read(4, -1), 6 * day, -1},
		"all is read":                  {read(7, -1), 6 * day, -1},
		"only the second is unread":    {read(2, -1), 6 * day, day},
		"the log goes":                 {read(4, -1), 29 * day, day},
		"all is read, and the log old": {read(7, -1), 29 * day, -1},
		"in the beginning": {offset{SourceVersion: 1, Version: 0, Index: 0, Starting: true}.text(),
			6 * day, day},
	} {
		r.env.Now = func() time.Time { return now.Add(c.later) }
		b, err := source.(connector.Gauged).Gauge().Backlog(t.Context(), c.committed)
		conform.Must(t, err)
		want := c.want.Seconds()
		if c.want < 0 {
			want = math.NaN()
		}
		if math.IsNaN(want) != math.IsNaN(b.UntilLoss) || math.Abs(want-b.UntilLoss) > 60 {
			t.Errorf("%s: lost in %v s, want %v", name, b.UntilLoss, want)
		}
	}
}

func TestADeltaTableSaysItselfHowLongItKeepsFiles(t *testing.T) {
	r := newRig(t)
	source := r.source(nil)
	r.add(1)
	r.commit(2, `{"metaData":{"id":"x","format":{"provider":"parquet","options":{}},"partitionColumns":[],`+
		`"schemaString":"{\"type\":\"struct\",\"fields\":[]}",`+
		`"configuration":{"delta.deletedFileRetentionDuration":"interval 2 hours"}}}`)
	r.remove(3, r.added(1))
	now := r.committed(0)
	r.env.Now = func() time.Time { return now.Add(90 * time.Minute) }
	committed := offset{SourceVersion: 1, Version: 1, Index: -1}.text()
	b, err := source.(connector.Gauged).Gauge().Backlog(t.Context(), committed)
	conform.Must(t, err)
	if !(math.Abs(b.UntilLoss-1800) < 60) {
		t.Errorf("lost in %v s, want half an hour", b.UntilLoss)
	}
}
