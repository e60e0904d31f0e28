package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/google/uuid"
)

const tempSuffix = ".tmp"

// ReadFile returns the bytes of a file.
func ReadFile(fsys Opener, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	// One byte more lets the read that fills the buffer also meet the end.
	buf := make([]byte, 0, info.Size+1)
	for {
		n, err := f.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
	}
}

// WriteNew makes a durable file that never was there half written (V2, V3). Of
// two writers of one name the later gets an error that is fs.ErrExist.
//
// This is the protocol of Spark's log files: a hidden temporary file beside the
// target, synced, renamed without overwriting, its directory synced.
func WriteNew(fsys FS, name string, data []byte) error {
	p, err := Prepare(fsys, name, data)
	if err != nil {
		return err
	}
	return p.Publish()
}

// Prepared is the first half of WriteNew: a file whose bytes are durable under a
// temporary name. It ends with Publish or Discard; a crash leaves it to CleanTemps.
type Prepared struct {
	fsys       FS
	temp, name string
}

// Prepare makes the bytes of a file durable before the file may exist.
func Prepare(fsys FS, name string, data []byte) (*Prepared, error) {
	p := &Prepared{fsys, TempName(name), name}
	if err := writeSynced(fsys, p.temp, data); err != nil {
		return nil, p.failed(errors.Join(err, p.Discard()))
	}
	return p, nil
}

// Publish gives the file its name, durably.
func (p *Prepared) Publish() error {
	return p.failed(p.publish(p.fsys.RenameNew))
}

func (p *Prepared) publish(rename func(from, to string) error) error {
	if err := rename(p.temp, p.name); err != nil {
		// A file system that just failed may fail here too; CleanTemps takes
		// what stays.
		return errors.Join(err, p.Discard())
	}
	return p.fsys.SyncDir(path.Dir(p.name))
}

// Discard removes the temporary file.
func (p *Prepared) Discard() error { return ignoreMissing(p.fsys.Remove(p.temp)) }

func (p *Prepared) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write %s: %w", p.name, err)
}

// WriteReplace is WriteNew that replaces a file of the name. A reader sees the
// old bytes or the new ones. Hadoop's checksum of the old bytes goes too.
func WriteReplace(fsys FS, name string, data []byte) error {
	replace := func(from, to string) error {
		if err := RemoveChecksum(fsys, to); err != nil {
			return err
		}
		return fsys.Rename(from, to)
	}
	p, err := Prepare(fsys, name, data)
	if err != nil {
		return err
	}
	return p.failed(p.publish(replace))
}

func writeSynced(fsys Creator, name string, data []byte) error {
	f, err := fsys.CreateNew(name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// TempName returns a fresh temporary name beside name: .NAME.<uuid>.tmp, as
// Spark makes them. Names too long for that are cut.
func TempName(name string) string {
	dir, base := path.Split(name)
	id := uuid.NewString()
	if room := maxName - len("..") - len(id) - len(tempSuffix); len(base) > room {
		base = base[:room]
	}
	return dir + "." + base + "." + id + tempSuffix
}

// IsTemp reports whether a name has the form of TempName.
func IsTemp(base string) bool {
	rest, ok := strings.CutSuffix(base, tempSuffix)
	if !ok || !strings.HasPrefix(rest, ".") {
		return false
	}
	dot := strings.LastIndexByte(rest, '.')
	if dot < 1 {
		return false
	}
	return len(rest)-dot-1 == 36 && uuid.Validate(rest[dot+1:]) == nil
}

// CleanTemps removes the temporary files that crashed writers left in a
// directory, with their checksums, and says how many. Nobody else may be
// writing there. A missing directory has none.
func CleanTemps(fsys FS, dir string) (int, error) {
	infos, err := fsys.List(dir)
	if err != nil {
		return 0, ignoreMissing(err)
	}
	count := 0
	for _, info := range infos {
		if !info.IsRegular() || !IsTemp(info.Name) {
			continue
		}
		if err := RemoveFile(fsys, path.Join(dir, info.Name)); err != nil {
			return count, err
		}
		count++
	}
	return count, nil
}

// RemoveFile deletes a file and Hadoop's checksum of it; a missing one is fine.
func RemoveFile(fsys Namer, name string) error {
	if err := RemoveChecksum(fsys, name); err != nil {
		return err
	}
	return ignoreMissing(fsys.Remove(name))
}

// RemoveChecksum deletes .NAME.crc, which Hadoop's local file system keeps
// beside NAME. It must go whenever weir replaces or removes NAME: Spark refuses
// to read a file that its checksum does not fit.
func RemoveChecksum(fsys Namer, name string) error {
	return ignoreMissing(fsys.Remove(ChecksumName(name)))
}

// ChecksumName is the path where Hadoop keeps the checksum of name.
func ChecksumName(name string) string {
	dir, base := path.Split(name)
	return dir + "." + base + ".crc"
}

// MkdirDurable makes a directory and its parents so that they survive a crash.
func MkdirDurable(fsys FS, dir string) error {
	var fresh []string
	for d := path.Clean(dir); ; d = path.Dir(d) {
		_, err := fsys.Stat(d)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("make directory %s: %w", dir, err)
		}
		fresh = append(fresh, d)
		if d == "/" {
			break
		}
	}
	if err := fsys.MkdirAll(dir); err != nil {
		return fmt.Errorf("make directory %s: %w", dir, err)
	}
	for _, d := range fresh {
		if err := fsys.SyncDir(path.Dir(d)); err != nil {
			return fmt.Errorf("make directory %s: %w", dir, err)
		}
	}
	return nil
}
