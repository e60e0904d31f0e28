package vfs

// unsynced is an FS whose syncs do nothing.
type unsynced struct{ FS }

// Unsynced is the same file system for files that need not outlive the machine,
// nor the process: its syncs are left out. What they cost is most of what a small
// file costs.
func Unsynced(fsys FS) FS { return unsynced{fsys} }

func (unsynced) SyncDir(string) error { return nil }

func (u unsynced) Create(name string) (Writer, error)    { return unsyncedFile(u.FS.Create(name)) }
func (u unsynced) CreateNew(name string) (Writer, error) { return unsyncedFile(u.FS.CreateNew(name)) }
func (u unsynced) Append(name string) (Writer, error)    { return unsyncedFile(u.FS.Append(name)) }

type unsyncedWriter struct{ Writer }

func unsyncedFile(w Writer, err error) (Writer, error) {
	if err != nil {
		return nil, err
	}
	return unsyncedWriter{w}, nil
}

// Sync only finds out whether the file is open.
func (w unsyncedWriter) Sync() error {
	_, err := w.Write(nil)
	return err
}
