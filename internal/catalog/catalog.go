package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// The catalogs that every server has, and the schema that both start with.
const (
	SparkCatalog  = "spark_catalog"
	MainCatalog   = "main"
	DefaultSchema = "default"
)

// Schema is a namespace of a catalog.
type Schema struct {
	Catalog    string            `json:"-"`
	Name       string            `json:"name"`
	Comment    string            `json:"comment,omitempty"`
	Location   string            `json:"location,omitempty"` // "" for the default place
	Properties map[string]string `json:"properties,omitempty"`
	Dropped    bool              `json:"dropped,omitempty"`
}

// Table is a table or a view.
type Table struct {
	ID         plan.TableID      `json:"-"`
	Name       string            `json:"name"`
	Format     string            `json:"format,omitempty"` // "" for a view
	SchemaJSON string            `json:"schema"`
	Partitions []string          `json:"partitions,omitempty"`
	Location   string            `json:"location,omitempty"` // absolute directory
	External   bool              `json:"external,omitempty"`
	Comment    string            `json:"comment,omitempty"`
	Options    map[string]string `json:"options,omitempty"`
	Properties map[string]string `json:"properties,omitempty"`
	CreatedMs  int64             `json:"createdAtMs"`
	ViewText   string            `json:"view,omitempty"`
	// ViewCatalog and ViewSchema are the current names under which a view's
	// text is read.
	ViewCatalog string `json:"viewCatalog,omitempty"`
	ViewSchema  string `json:"viewSchema,omitempty"`
	Dropped     bool   `json:"dropped,omitempty"`
	// RenamedFrom is the name of a document that this one takes the place of (K5).
	RenamedFrom string `json:"renamedFrom,omitempty"`
}

// IsView reports whether the entry is a view.
func (t *Table) IsView() bool { return t.Format == "" }

// Schema is the column list; partition columns are part of it.
func (t *Table) Schema() (plan.Type, error) {
	s, err := plan.ParseTypeJSON(t.SchemaJSON)
	if err != nil {
		return plan.Type{}, fmt.Errorf("schema of table %s: %w", t.ID, err)
	}
	return s, nil
}

// Volume is a directory under a schema's care.
type Volume struct {
	ID       plan.TableID `json:"-"`
	Name     string       `json:"name"`
	Location string       `json:"location"`
	External bool         `json:"external,omitempty"`
	Comment  string       `json:"comment,omitempty"`
	Dropped  bool         `json:"dropped,omitempty"`
}

type entry struct {
	schema  Schema
	tables  map[string]*Table
	volumes map[string]*Volume
}

type catalogEntry struct {
	Name    string `json:"name"`
	Comment string `json:"comment,omitempty"`
	schemas map[string]*entry
}

// Store is the catalog of one data directory.
type Store struct {
	fs  vfs.FS
	dir string

	mu       sync.RWMutex
	catalogs map[string]*catalogEntry
}

// Open reads the catalog below dir, making what a new one needs and finishing
// drops that a crash cut off.
func Open(fsys vfs.FS, dir string) (*Store, error) {
	s := &Store{fs: fsys, dir: dir, catalogs: map[string]*catalogEntry{}}
	if err := fsys.MkdirAll(path.Join(dir, "catalog")); err != nil {
		return nil, err
	}
	for _, d := range []string{dir, path.Dir(dir)} {
		if err := fsys.SyncDir(d); err != nil {
			return nil, err
		}
	}
	entries, err := fsys.List(path.Join(dir, "catalog"))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if err := s.loadCatalog(e.Name); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{SparkCatalog, MainCatalog} {
		if s.catalogs[name] == nil {
			if err := s.CreateCatalog(name, ""); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

func (s *Store) catalogDir(name string) string {
	return path.Join(s.dir, "catalog", escape(name))
}

func (s *Store) schemaDir(catalog, schema string) string {
	return path.Join(s.catalogDir(catalog), escape(schema))
}

// document is the path of an object's document; kind is "table" or "volume".
func (s *Store) document(kind string, id plan.TableID) string {
	return path.Join(s.schemaDir(id.Catalog, id.Schema), kind+"-"+escape(id.Name)+".json")
}

// TableDir is where the rows of a managed table live.
func (s *Store) TableDir(id plan.TableID) string {
	id = foldID(id)
	return path.Join(s.dir, "warehouse", escape(id.Catalog), escape(id.Schema), escape(id.Name))
}

// MakeTableDir makes TableDir so that a crash cannot lose it, and returns it.
func (s *Store) MakeTableDir(id plan.TableID) (string, error) {
	dir := s.TableDir(id)
	return dir, s.makeDir(dir)
}

// makeDir makes a directory and syncs the names on the way to it.
func (s *Store) makeDir(dir string) error {
	if err := s.fs.MkdirAll(dir); err != nil {
		return err
	}
	for d := path.Dir(dir); ; d = path.Dir(d) {
		if err := s.fs.SyncDir(d); err != nil {
			return err
		}
		if d == s.dir || d == "/" || d == "." {
			return nil
		}
	}
}

func (s *Store) volumeDir(id plan.TableID) string {
	return path.Join(s.dir, "volumes", escape(id.Catalog), escape(id.Schema), escape(id.Name))
}

func (s *Store) loadCatalog(dirName string) error {
	dir := path.Join(s.dir, "catalog", dirName)
	c := &catalogEntry{schemas: map[string]*entry{}}
	err := s.readDocument(path.Join(dir, "catalog.json"), c)
	if isMissing(err) {
		// Its directory was made and the document was not: it never existed.
		return s.fs.RemoveAll(dir)
	}
	if err != nil {
		return err
	}
	s.catalogs[c.Name] = c
	entries, err := s.fs.List(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if err := s.loadSchema(c, path.Join(dir, e.Name)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) loadSchema(c *catalogEntry, dir string) error {
	en := &entry{tables: map[string]*Table{}, volumes: map[string]*Volume{}}
	err := s.readDocument(path.Join(dir, "schema.json"), &en.schema)
	if isMissing(err) {
		return s.fs.RemoveAll(dir)
	}
	if err != nil {
		return err
	}
	en.schema.Catalog = c.Name
	files, err := s.fs.List(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if !f.IsRegular() || !strings.HasSuffix(f.Name, ".json") || strings.HasPrefix(f.Name, ".") {
			continue
		}
		if err := s.loadObject(en, path.Join(dir, f.Name)); err != nil {
			return err
		}
	}
	if en.schema.Dropped {
		return s.finishSchemaDrop(en)
	}
	c.schemas[en.schema.Name] = en
	if err := s.finishDrops(en); err != nil {
		return err
	}
	return s.finishRenames(en)
}

func (s *Store) loadObject(en *entry, file string) error {
	base := path.Base(file)
	at := func(name string) plan.TableID {
		return plan.TableID{Catalog: en.schema.Catalog, Schema: en.schema.Name, Name: name}
	}
	switch {
	case strings.HasPrefix(base, "table-"):
		t := &Table{}
		if err := s.readDocument(file, t); err != nil {
			return err
		}
		t.ID = at(t.Name)
		en.tables[t.Name] = t
	case strings.HasPrefix(base, "volume-"):
		v := &Volume{}
		if err := s.readDocument(file, v); err != nil {
			return err
		}
		v.ID = at(v.Name)
		en.volumes[v.Name] = v
	}
	return nil
}

// finishDrops removes what is marked as dropped (K2).
func (s *Store) finishDrops(en *entry) error {
	for name, t := range en.tables {
		if t.Dropped {
			delete(en.tables, name)
			if err := s.removeTable(t); err != nil {
				return err
			}
		}
	}
	for name, v := range en.volumes {
		if v.Dropped {
			delete(en.volumes, name)
			if err := s.removeVolume(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// finishRenames removes the old documents of renamed tables (K5).
func (s *Store) finishRenames(en *entry) error {
	for _, t := range sorted(en.tables) {
		if t.RenamedFrom == "" {
			continue
		}
		if err := s.finishRename(en, t); err != nil {
			return err
		}
	}
	return nil
}

// finishRename leaves one document of a table that has two.
func (s *Store) finishRename(en *entry, t *Table) error {
	old := t.ID
	old.Name = t.RenamedFrom
	if err := s.removeDocument("table", old); err != nil {
		return err
	}
	delete(en.tables, old.Name)
	done := *t
	done.RenamedFrom = ""
	if err := s.writeDocument(s.document("table", t.ID), done, true); err != nil {
		return err
	}
	en.tables[t.Name] = &done
	return nil
}

func (s *Store) finishSchemaDrop(en *entry) error {
	for _, t := range en.tables {
		if err := s.removeTable(t); err != nil {
			return err
		}
	}
	for _, v := range en.volumes {
		if err := s.removeVolume(v); err != nil {
			return err
		}
	}
	dir := s.schemaDir(en.schema.Catalog, en.schema.Name)
	if err := s.fs.Remove(path.Join(dir, "schema.json")); err != nil && !isMissing(err) {
		return err
	}
	if err := s.fs.RemoveAll(dir); err != nil {
		return err
	}
	// Directories of tables and volumes that are not empty hold what somebody put
	// there, so they stay.
	for _, kind := range []string{"warehouse", "volumes"} {
		_ = s.fs.Remove(path.Join(s.dir, kind, escape(en.schema.Catalog), escape(en.schema.Name)))
	}
	return s.fs.SyncDir(s.catalogDir(en.schema.Catalog))
}

func (s *Store) removeTable(t *Table) error {
	if !t.External && t.Location != "" {
		if err := s.fs.RemoveAll(t.Location); err != nil {
			return fmt.Errorf("drop table %s: %w", t.ID, err)
		}
	}
	return s.removeDocument("table", t.ID)
}

func (s *Store) removeVolume(v *Volume) error {
	if !v.External {
		if err := s.fs.RemoveAll(v.Location); err != nil {
			return fmt.Errorf("drop volume %s: %w", v.ID, err)
		}
	}
	return s.removeDocument("volume", v.ID)
}

func (s *Store) removeDocument(kind string, id plan.TableID) error {
	if err := s.fs.Remove(s.document(kind, id)); err != nil && !isMissing(err) {
		return err
	}
	return s.fs.SyncDir(s.schemaDir(id.Catalog, id.Schema))
}

func (s *Store) readDocument(file string, into any) error {
	data, err := vfs.ReadFile(s.fs, file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("catalog document %s: %w", file, err)
	}
	if at := locationIn(into); at != nil && *at != "" && !path.IsAbs(*at) && !strings.Contains(*at, ":") {
		*at = path.Join(s.dir, *at)
	}
	return nil
}

// writeDocument writes places below the data directory as seen from there: a copy
// of the directory, or one that was moved, has its own tables and nobody else's (K6).
func (s *Store) writeDocument(file string, doc any, replace bool) error {
	switch d := doc.(type) {
	case Table:
		doc = &d
	case Volume:
		doc = &d
	case Schema:
		doc = &d
	}
	if at := locationIn(doc); at != nil {
		if below, ok := strings.CutPrefix(*at, s.dir+"/"); ok {
			*at = below
		}
	}
	data, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if replace {
		return vfs.WriteReplace(s.fs, file, data)
	}
	return vfs.WriteNew(s.fs, file, data)
}

// locationIn is where a document says that its object is, nil for those that do not.
func locationIn(doc any) *string {
	switch d := doc.(type) {
	case *Table:
		return &d.Location
	case *Volume:
		return &d.Location
	case *Schema:
		return &d.Location
	}
	return nil
}

func isMissing(err error) bool { return err != nil && errors.Is(err, fs.ErrNotExist) }

// sorted is the values of a map in the order of its keys.
func sorted[V any](m map[string]V) []V {
	out := make([]V, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[k])
	}
	return out
}
