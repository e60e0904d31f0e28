package delta

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// rowTracking is the domain under which a table keeps the last row id that it gave.
const rowTrackingDomain = "delta.rowTracking"

// clusteringDomain is the domain of the columns that a table is clustered by.
const clusteringDomain = "delta.clustering"

// stamped is what a commit says that depends on its version.
type stamped struct {
	metadata *Metadata
	adds     []Add
	domains  []DomainMetadata
	time     *int64 // in-commit timestamp, ms since 1970
	tags     map[string]string
}

// stamp works out what the features of a table add to a change when it becomes the
// next version.
func (s *Snapshot) stamp(c *Change) (*stamped, error) {
	out := &stamped{metadata: c.Metadata, adds: c.Adds, domains: c.Domains, tags: c.Tags}
	if err := s.stampTime(c, out); err != nil {
		return nil, err
	}
	return out, s.stampRows(c, out)
}

// after are description and protocol as they are behind a change.
func (s *Snapshot) after(c *Change) (*Metadata, Protocol) {
	m, p := &s.Metadata, s.Protocol
	if c.Metadata != nil {
		m = c.Metadata
	}
	if c.Protocol != nil {
		p = *c.Protocol
	}
	return m, p
}

// stampTime gives a commit a time of its own, later than that of the one before. A
// table that was without notes the version from which on they can be relied on.
func (s *Snapshot) stampTime(c *Change, out *stamped) error {
	m, _ := s.after(c)
	if !enabled(timesEnabled)(m, s.Schema) {
		return nil
	}
	now := c.Now.UnixMilli()
	if s.Version >= 0 {
		_, times, err := s.timesBetween(s.Version, s.Version)
		if err != nil {
			return err
		}
		if len(times) > 0 {
			now = max(now, times[0]+1)
		}
		if !enabled(timesEnabled)(&s.Metadata, s.Schema) {
			copied := *m
			copied.Configuration = maps.Clone(m.Configuration)
			copied.Configuration[timesSinceVersion] = strconv.FormatInt(s.Version+1, 10)
			copied.Configuration[timesSince] = strconv.FormatInt(now, 10)
			out.metadata = &copied
		}
	}
	out.time = &now
	return nil
}

// stampRows gives the rows of new files ids behind the last one that the table gave.
// Rows that are written anew get new ids, which the protocol allows.
func (s *Snapshot) stampRows(c *Change, out *stamped) error {
	_, p := s.after(c)
	if !slices.Contains(p.WriterFeatures, "rowTracking") {
		return nil
	}
	last, err := s.lastRowID()
	if err != nil {
		return err
	}
	before, version := last, s.Version+1
	out.adds = slices.Clone(c.Adds)
	for i := range out.adds {
		a := &out.adds[i]
		if a.BaseRowID != nil {
			continue
		}
		rows, ok := storedRecords(a)
		if !ok {
			return fmt.Errorf("commit: the file %s does not tell how many rows it has", a.Path)
		}
		first := last + 1
		a.BaseRowID, a.DefaultRowCommitVersion = &first, &version
		last += rows
	}
	if last > before {
		out.domains = append(slices.Clone(out.domains), DomainMetadata{Domain: rowTrackingDomain,
			Configuration: fmt.Sprintf(`{"rowIdHighWaterMark":%d,"domainName":%q}`, last, rowTrackingDomain)})
	}
	return nil
}

// lastRowID is the last row id that the table gave, -1 when it gave none.
func (s *Snapshot) lastRowID() (int64, error) {
	d := s.domains[rowTrackingDomain]
	if d == nil {
		return -1, nil
	}
	var mark struct {
		RowIDHighWaterMark *int64 `json:"rowIdHighWaterMark"`
	}
	if json.Unmarshal([]byte(d.Configuration), &mark) != nil || mark.RowIDHighWaterMark == nil {
		return 0, damaged(s.logPath(commitName(s.Version)),
			"the domain "+rowTrackingDomain+" has no high-water mark")
	}
	return *mark.RowIDHighWaterMark, nil
}

// storedRecords is the number of rows in a file, deleted ones included.
func storedRecords(a *Add) (int64, bool) {
	var stats struct {
		NumRecords *int64 `json:"numRecords"`
	}
	if json.Unmarshal([]byte(a.Stats), &stats) != nil || stats.NumRecords == nil {
		return 0, false
	}
	return *stats.NumRecords, true
}
