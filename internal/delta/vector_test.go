package delta

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
)

// The path is the example of the Delta protocol.
func TestDeletionVectorsAreFoundAndRead(t *testing.T) {
	table := Table{vfs.NewMemory(), "/t"}
	inline := &DeletionVector{StorageType: "i", SizeInBytes: 44, Cardinality: 6,
		PathOrInlineDv: "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"}
	rows, err := table.deletedRows(inline)
	must(t, err)
	testkit.Diff(t, "rows", rowsIn(rows, 0, 100), []int64{3, 4, 7, 11, 18, 29})
	name, ok := table.vectorPath(&DeletionVector{StorageType: "u", PathOrInlineDv: "ab^-aqEH.-t@S}K{vb[*k^"})
	if want := "/t/ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"; !ok || name != want {
		t.Errorf("path %q, want %q", name, want)
	}
	for _, bad := range []string{
		"../^-aqEH.-t@S}K{vb[*k^", ".b^-aqEH.-t@S}K{vb[*k^", "short", "ab^-aqEH.-t@S}K{vb[*k\x7f",
	} {
		if name, ok := table.vectorPath(&DeletionVector{StorageType: "u", PathOrInlineDv: bad}); ok {
			t.Errorf("%q is at %s, want it refused", bad, name)
		}
	}
}

func rowsIn(s *rowSet, from, to int64) []int64 {
	var rows []int64
	s.each(from, to, func(row int64) { rows = append(rows, row) })
	return rows
}

// storedRows is a set of rows as Delta stores it.
func storedRows(t testing.TB, rows ...int64) []byte {
	t.Helper()
	maps := map[uint32]*roaring.Bitmap{}
	var uppers []uint32
	for _, row := range rows {
		upper := uint32(row >> 32)
		if maps[upper] == nil {
			maps[upper] = roaring.New()
			uppers = append(uppers, upper)
		}
		maps[upper].Add(uint32(row))
	}
	b := binary.LittleEndian.AppendUint32(nil, vectorMagic)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(uppers)))
	for _, upper := range uppers {
		maps[upper].RunOptimize()
		data, err := maps[upper].ToBytes()
		if err != nil {
			t.Fatal(err)
		}
		b = append(binary.LittleEndian.AppendUint32(b, upper), data...)
	}
	return b
}

// spread is rows of every kind of container: few, many, runs, and behind 2^32.
func spread() []int64 {
	var rows []int64
	for i := range int64(20) {
		rows = append(rows, 7*i)
	}
	for i := range int64(30_000) {
		rows = append(rows, 65_536+2*i)
	}
	for i := range int64(5_000) {
		rows = append(rows, 3*65_536+100+i)
	}
	return append(rows, 1<<32-1, 1<<32, 1<<32+1, 5<<32+9)
}

func TestRowsThatAreLeftComeInOrder(t *testing.T) {
	rows := spread()
	s, err := parseRowSet(storedRows(t, rows...))
	must(t, err)
	if s.len() != uint64(len(rows)) {
		t.Errorf("%d rows, want %d", s.len(), len(rows))
	}
	deleted := map[int64]bool{}
	for _, row := range rows {
		deleted[row] = true
	}
	for _, from := range []int64{
		0, 1, 100, 65_000, 65_536, 100_000, 3 * 65_536, 4 * 65_536, 1<<32 - 500, 1 << 32, 5<<32 + 8,
	} {
		var want []uint16
		for i := range 1024 {
			if !deleted[from+int64(i)] {
				want = append(want, uint16(i))
			}
		}
		got := []uint16(s.others(from, 1024))
		if got == nil {
			got = make([]uint16, 1024)
			for i := range got {
				got[i] = uint16(i)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("from %d: got %d rows, want %d", from, len(got), len(want))
		}
	}
}

func TestADamagedDeletionVectorIsNamed(t *testing.T) {
	table := openZoo(t, "zoo/deletion_vectors")
	s, err := table.Load(t.Context())
	must(t, err)
	var file *Add
	for _, f := range s.Files() {
		if f.DeletionVector != nil {
			file = f
		}
	}
	name, _ := table.vectorPath(file.DeletionVector)
	data, err := vfs.ReadFile(table.FS, name)
	must(t, err)
	for what, damage := range map[string]func(d *DeletionVector, data []byte) []byte{
		"cut off":          func(_ *DeletionVector, data []byte) []byte { return data[:len(data)-5] },
		"another version":  func(_ *DeletionVector, data []byte) []byte { data[0] = 2; return data },
		"a flipped bit":    func(_ *DeletionVector, data []byte) []byte { data[40] ^= 1; return data },
		"another size":     func(d *DeletionVector, data []byte) []byte { d.SizeInBytes--; return data },
		"a negative size":  func(d *DeletionVector, data []byte) []byte { d.SizeInBytes = -1; return data },
		"a wrong count":    func(d *DeletionVector, data []byte) []byte { d.Cardinality++; return data },
		"an unknown kind":  func(d *DeletionVector, data []byte) []byte { d.StorageType = "x"; return data },
		"a path outside":   func(d *DeletionVector, data []byte) []byte { d.StorageType = "p"; return data },
		"an inline vector": func(d *DeletionVector, data []byte) []byte { d.StorageType = "i"; return data },
	} {
		copied := Table{vfs.NewMemory(), table.Dir}
		must(t, copied.FS.MkdirAll(table.Dir))
		d := *file.DeletionVector
		must(t, vfs.WriteReplace(copied.FS, name, damage(&d, bytes.Clone(data))))
		_, err := copied.undeleted(&d)
		var e *plan.Error
		if !errors.As(err, &e) || e.Condition != "DELTA_STATE_RECOVER_ERROR" {
			t.Errorf("%s: got %v, want a DELTA_STATE_RECOVER_ERROR", what, err)
		}
	}
}

func FuzzRowSet(f *testing.F) {
	f.Add(storedRows(f, 1, 2, 3))
	f.Add(storedRows(f, spread()...))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseRowSet(data)
		if err != nil {
			return
		}
		if keep := s.others(0, 1024); len(keep) > 1024 || !slices.IsSorted(keep) {
			t.Errorf("%d rows of 1024", len(keep))
		}
	})
}
