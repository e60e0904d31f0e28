package delta

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// Restored is what RESTORE does, in files.
type Restored struct {
	Files, Bytes               int64 // of the table behind it
	Removed, RemovedBytes      int64
	BroughtBack, RestoredBytes int64
}

// Restoring makes the table what an older version was. version or time say which one
// the user asked for.
func (s *Snapshot) Restoring(old *Snapshot, asked []Param, now time.Time) (Change, Restored, error) {
	c := Change{Operation: "RESTORE", Params: asked, Reads: &Reads{Whole: true}, Ruled: true, Now: now}
	c.Layout = Layout{ProtocolLast: true}
	var r Restored
	for _, f := range s.Files() {
		if old.files[f.DeletionVector.key(f.Path)] == nil {
			c.Removes = append(c.Removes, f)
			r.Removed, r.RemovedBytes = r.Removed+1, r.RemovedBytes+f.Size
		}
	}
	var gone []string
	for _, f := range old.Files() {
		r.Files, r.Bytes = r.Files+1, r.Bytes+f.Size
		if s.files[f.DeletionVector.key(f.Path)] != nil {
			continue
		}
		there, err := s.has(f)
		if err != nil {
			return c, r, err
		}
		if !there {
			gone = append(gone, f.Path)
		}
		a := *f
		a.DataChange = true
		c.Adds = append(c.Adds, a)
		r.BroughtBack, r.RestoredBytes = r.BroughtBack+1, r.RestoredBytes+f.Size
	}
	if len(gone) > 0 {
		return c, r, filesGone(gone, old.Version)
	}
	metadata := old.Metadata
	metadata.ID = s.Metadata.ID
	c.Metadata = &metadata
	if c.Protocol = s.joined(old.Protocol); c.Protocol == nil {
		same := s.Protocol
		c.Protocol = &same
	}
	c.Metrics = []Param{
		Number("numRestoredFiles", r.BroughtBack), Number("removedFilesSize", r.RemovedBytes),
		Number("numRemovedFiles", r.Removed), Number("restoredFilesSize", r.RestoredBytes),
		Number("numOfFilesAfterRestore", r.Files), Number("tableSizeAfterRestore", r.Bytes),
	}
	return c, r, nil
}

// has reports whether a data file is there.
func (s *Snapshot) has(f *Add) (bool, error) {
	name, err := s.dataPath(f.Path)
	if err != nil {
		return false, err
	}
	_, err = s.FS.Stat(name)
	if vfs.NotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// filesGone is the error of a version whose files vacuum removed.
func filesGone(files []string, version int64) *plan.Error {
	shown := strings.Join(files[:min(len(files), 100)], "\n")
	e := &plan.Error{Class: "java.io.FileNotFoundException",
		Msg: fmt.Sprintf("Not all files from version %d are available in file system. "+
			"Missed files (top 100 files): %s. "+
			"Vacuum removes the files of old versions; restore a newer one.", version, shown)}
	return e
}

// Cloning is a table whose first version has the files of another one, where they are.
func (s *Snapshot) Cloning(from *Snapshot, properties map[string]string, source string, now time.Time,
) (Change, error) {
	checked, err := CheckProperties(properties)
	if err != nil {
		return Change{}, err
	}
	m := from.Metadata
	m.ID = uuid.NewString()
	m.CreatedTime = now.UnixMilli()
	m.Configuration = maps.Clone(m.Configuration)
	maps.Copy(m.Configuration, checked)
	p := from.Protocol
	c := Change{
		Operation: "CLONE", Metadata: &m, Protocol: &p, Now: now, Ruled: true,
		Params: []Param{Text("source", source), Whole("sourceVersion", from.Version)},
		Layout: Layout{ProtocolLast: true}, Reads: &Reads{},
	}
	bytes := int64(0)
	for _, f := range from.Files() {
		if f.DeletionVector != nil && f.DeletionVector.StorageType != "i" {
			return Change{}, plan.Unsupported("SHALLOW CLONE of a table with deletion vectors in files of their own")
		}
		name, err := from.dataPath(f.Path)
		if err != nil {
			return Change{}, err
		}
		a := *f
		a.Path, a.DataChange = "file:"+vfs.EncodePath(name), true
		c.Adds = append(c.Adds, a)
		bytes += f.Size
	}
	c.Metrics = []Param{Number("sourceTableSize", bytes), Number("sourceNumOfFiles", int64(len(c.Adds))),
		Number("numRemovedFiles", 0), Number("numCopiedFiles", 0), Number("removedFilesSize", 0),
		Number("copiedFilesSize", 0)}
	return c, nil
}
