package catalog

import (
	"fmt"

	"github.com/weir-dev/weir/internal/plan"
)

func foldID(id plan.TableID) plan.TableID {
	return plan.TableID{Catalog: fold(id.Catalog), Schema: fold(id.Schema), Name: fold(id.Name)}
}

// Table finds a table or view; nil when there is none. An unknown schema is an
// error.
func (s *Store) Table(id plan.TableID) (*Table, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	en, err := s.find(id.Catalog, id.Schema)
	if err != nil {
		return nil, err
	}
	return en.tables[fold(id.Name)], nil
}

// Tables lists the tables and views of a schema, sorted by name.
func (s *Store) Tables(catalog, schema string) ([]*Table, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	en, err := s.find(catalog, schema)
	if err != nil {
		return nil, err
	}
	return sorted(en.tables), nil
}

// CreateTable adds a table or view. A managed table's directory must hold its
// data already (K1); its Location is TableDir.
func (s *Store) CreateTable(t Table) error {
	if err := CheckChangeable(t.ID.Catalog); err != nil {
		return err
	}
	if err := checkName("table", t.ID.Name); err != nil {
		return err
	}
	t.ID = foldID(t.ID)
	t.Name = t.ID.Name
	s.mu.Lock()
	defer s.mu.Unlock()
	en, err := s.find(t.ID.Catalog, t.ID.Schema)
	if err != nil {
		return err
	}
	if en.tables[t.Name] != nil {
		return tableExists(t.ID)
	}
	if err := s.writeDocument(s.document("table", t.ID), t, false); err != nil {
		return fmt.Errorf("create table %s: %w", t.ID, err)
	}
	en.tables[t.Name] = &t
	return nil
}

// ReplaceTable changes the document of an existing table or view, or adds it.
func (s *Store) ReplaceTable(t Table) error {
	if err := CheckChangeable(t.ID.Catalog); err != nil {
		return err
	}
	if err := checkName("table", t.ID.Name); err != nil {
		return err
	}
	t.ID = foldID(t.ID)
	t.Name = t.ID.Name
	s.mu.Lock()
	defer s.mu.Unlock()
	en, err := s.find(t.ID.Catalog, t.ID.Schema)
	if err != nil {
		return err
	}
	if err := s.writeDocument(s.document("table", t.ID), t, true); err != nil {
		return fmt.Errorf("replace table %s: %w", t.ID, err)
	}
	en.tables[t.Name] = &t
	return nil
}

// RenameTable gives a table or view of a schema another name. Its rows stay where
// they are.
func (s *Store) RenameTable(id plan.TableID, to string) error {
	if err := CheckChangeable(id.Catalog); err != nil {
		return err
	}
	if err := checkName("table", to); err != nil {
		return err
	}
	id = foldID(id)
	target := foldID(plan.TableID{Catalog: id.Catalog, Schema: id.Schema, Name: to})
	s.mu.Lock()
	defer s.mu.Unlock()
	en, err := s.find(id.Catalog, id.Schema)
	if err != nil {
		return err
	}
	old := en.tables[id.Name]
	if old == nil {
		return TableNotFound(id.Parts(), "")
	}
	if en.tables[target.Name] != nil {
		return tableExists(target)
	}
	t := *old
	t.ID, t.Name, t.RenamedFrom = target, target.Name, id.Name
	if err := s.writeDocument(s.document("table", target), t, false); err != nil {
		return fmt.Errorf("rename table %s: %w", id, err)
	}
	en.tables[t.Name] = &t
	return s.finishRename(en, &t)
}

// DropTable removes a table or view, with its rows unless it is external. It
// reports whether there was one.
func (s *Store) DropTable(id plan.TableID) (bool, error) {
	if err := CheckChangeable(id.Catalog); err != nil {
		return false, err
	}
	id = foldID(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	en, err := s.find(id.Catalog, id.Schema)
	if err != nil {
		return false, err
	}
	old := en.tables[id.Name]
	if old == nil {
		return false, nil
	}
	// Tables that were handed out are shared: change a copy.
	t := *old
	t.Dropped = true
	if err := s.writeDocument(s.document("table", id), t, true); err != nil {
		return false, fmt.Errorf("drop table %s: %w", id, err)
	}
	delete(en.tables, id.Name)
	return true, s.removeTable(&t)
}

// Volumes lists the volumes of a schema, sorted by name.
func (s *Store) Volumes(catalog, schema string) ([]*Volume, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	en, err := s.find(catalog, schema)
	if err != nil {
		return nil, err
	}
	return sorted(en.volumes), nil
}

// Volume finds a volume; an unknown one is an error that names it.
func (s *Store) Volume(id plan.TableID) (*Volume, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	en, err := s.find(id.Catalog, id.Schema)
	if err != nil {
		return nil, err
	}
	if v := en.volumes[fold(id.Name)]; v != nil {
		return v, nil
	}
	return nil, volumeNotFound(foldID(id))
}

// CreateVolume makes a volume: its directory first, then its document. An
// empty location stands for a managed one below the data directory.
func (s *Store) CreateVolume(v Volume) error {
	if err := CheckChangeable(v.ID.Catalog); err != nil {
		return err
	}
	if err := checkName("volume", v.ID.Name); err != nil {
		return err
	}
	v.ID = foldID(v.ID)
	v.Name, v.External = v.ID.Name, v.Location != ""
	s.mu.Lock()
	defer s.mu.Unlock()
	en, err := s.find(v.ID.Catalog, v.ID.Schema)
	if err != nil {
		return err
	}
	if en.volumes[v.Name] != nil {
		return volumeExists(v.ID)
	}
	if !v.External {
		v.Location = s.volumeDir(v.ID)
	}
	if err := s.makeDir(v.Location); err != nil {
		return fmt.Errorf("create volume %s: %w", v.ID, err)
	}
	if err := s.writeDocument(s.document("volume", v.ID), v, false); err != nil {
		return fmt.Errorf("create volume %s: %w", v.ID, err)
	}
	en.volumes[v.Name] = &v
	return nil
}

// DropVolume removes a volume, with its files unless it is external.
func (s *Store) DropVolume(id plan.TableID) error {
	id = foldID(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	en, err := s.find(id.Catalog, id.Schema)
	if err != nil {
		return err
	}
	old := en.volumes[id.Name]
	if old == nil {
		return volumeNotFound(id)
	}
	v := *old
	v.Dropped = true
	if err := s.writeDocument(s.document("volume", id), v, true); err != nil {
		return fmt.Errorf("drop volume %s: %w", id, err)
	}
	delete(en.volumes, id.Name)
	return s.removeVolume(&v)
}
