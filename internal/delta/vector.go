package delta

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/google/uuid"

	"github.com/weir-dev/weir/internal/chunk"
)

// rowSet is a set of row numbers of a data file: a bitmap for each 2^32 of them.
type rowSet struct {
	maps map[uint32]*roaring.Bitmap
}

const (
	// vectorMagic begins a set of rows in the portable form, the only one on disk.
	vectorMagic = 1681511377
	// vectorVersion is the first byte of a file of deletion vectors.
	vectorVersion = 1
	// maxVectorBytes bounds what is read of one: bitmaps of all rows of a file of
	// 2^33 rows.
	maxVectorBytes = 1 << 30
)

// deletedRows are the rows of a file that its deletion vector names.
func (t Table) deletedRows(d *DeletionVector) (*rowSet, error) {
	data, err := t.vectorBytes(d)
	if err != nil {
		return nil, err
	}
	rows, err := parseRowSet(data)
	if err == nil && rows.len() != uint64(d.Cardinality) {
		err = fmt.Errorf("it has %d rows, and the log says %d", rows.len(), d.Cardinality)
	}
	if err != nil {
		return nil, damaged(t.logPath(""), fmt.Sprintf("the deletion vector %s: %v", d.PathOrInlineDv, err))
	}
	return rows, nil
}

// vectorBytes is a deletion vector as it was stored: in the log itself or in a
// file of several, each with its length before it and a checksum behind it.
func (t Table) vectorBytes(d *DeletionVector) ([]byte, error) {
	bad := func(why string) error {
		return damaged(t.logPath(""), fmt.Sprintf("the deletion vector %s: %s", d.PathOrInlineDv, why))
	}
	if d.SizeInBytes < 0 || d.SizeInBytes > maxVectorBytes {
		return nil, bad(fmt.Sprintf("it has %d bytes", d.SizeInBytes))
	}
	if d.StorageType == "i" {
		data, ok := decodeZ85(d.PathOrInlineDv)
		if !ok || int64(len(data)) < d.SizeInBytes {
			return nil, bad("its text is no base85 of that many bytes")
		}
		return data[:d.SizeInBytes], nil
	}
	name, ok := t.vectorPath(d)
	if !ok {
		return nil, bad("there is no such storage type or name")
	}
	file, err := t.FS.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read a deletion vector of %s: %w", t.Dir, err)
	}
	defer file.Close()
	at := int64(1)
	if d.Offset != nil {
		at = *d.Offset
	}
	framed := make([]byte, 4+d.SizeInBytes+4)
	var first [1]byte
	_, err = file.ReadAt(first[:], 0)
	if err == nil {
		_, err = file.ReadAt(framed, at)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read a deletion vector of %s: %w", t.Dir, err)
	}
	data := framed[4 : 4+d.SizeInBytes]
	switch {
	case err != nil:
		return nil, bad("the file " + name + " ends before it")
	case first[0] != vectorVersion:
		return nil, bad(fmt.Sprintf("the file %s is of version %d", name, first[0]))
	case int64(binary.BigEndian.Uint32(framed)) != d.SizeInBytes,
		binary.BigEndian.Uint32(framed[4+d.SizeInBytes:]) != crc32.ChecksumIEEE(data):
		return nil, bad("its checksum in " + name + " is wrong")
	}
	return data, nil
}

// vectorPath is the file of a deletion vector: named by an id below the table,
// or, where a table was cloned, outside of it, which is not followed.
func (t Table) vectorPath(d *DeletionVector) (string, bool) {
	const idLength = 20
	text := d.PathOrInlineDv
	if d.StorageType != "u" || len(text) < idLength {
		return "", false
	}
	prefix := text[:len(text)-idLength]
	id, ok := decodeZ85(text[len(text)-idLength:])
	if !ok || strings.Contains(prefix, "/") || strings.HasPrefix(prefix, ".") {
		return "", false
	}
	return path.Join(t.Dir, prefix, "deletion_vector_"+uuid.UUID(id).String()+".bin"), true
}

const z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"

// decodeZ85 reads ZeroMQ's base85: five characters for four bytes.
func decodeZ85(text string) ([]byte, bool) {
	if len(text)%5 != 0 {
		return nil, false
	}
	out := make([]byte, 0, len(text)/5*4)
	for ; text != ""; text = text[5:] {
		n := uint64(0)
		for _, c := range []byte(text[:5]) {
			digit := strings.IndexByte(z85, c)
			if digit < 0 {
				return nil, false
			}
			n = n*85 + uint64(digit)
		}
		if n > 1<<32-1 {
			return nil, false
		}
		out = binary.BigEndian.AppendUint32(out, uint32(n))
	}
	return out, true
}

// parseRowSet reads a RoaringBitmapArray in its portable form: a magic number, the
// number of bitmaps, and each with the upper half of its row numbers before it.
func parseRowSet(data []byte) (s *rowSet, err error) {
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("%v", p)
		}
	}()
	const header = 4 + 8
	if len(data) < header || binary.LittleEndian.Uint32(data) != vectorMagic {
		return nil, errors.New("it does not begin with the magic number of a portable bitmap")
	}
	count := binary.LittleEndian.Uint64(data[4:])
	if count > uint64(len(data)) {
		return nil, fmt.Errorf("%d bitmaps do not fit into %d bytes", count, len(data))
	}
	in := bytes.NewReader(data[header:])
	s = &rowSet{maps: map[uint32]*roaring.Bitmap{}}
	for range count {
		var upper uint32
		if err := binary.Read(in, binary.LittleEndian, &upper); err != nil {
			return nil, errors.New("it ends within a bitmap")
		}
		m := roaring.New()
		if _, err := m.ReadFrom(in); err != nil {
			return nil, err
		}
		if err := m.Validate(); err != nil && !m.IsEmpty() {
			return nil, err
		}
		s.maps[upper] = m
	}
	return s, nil
}

func (s *rowSet) len() uint64 {
	n := uint64(0)
	for _, m := range s.maps {
		n += m.GetCardinality()
	}
	return n
}

// pick says which of the rows [from, from+n) of a file are taken, counted from
// from; nil for all.
type pick func(from int64, n int) chunk.Sel

// others are the rows that are not in the set.
func (s *rowSet) others(from int64, n int) chunk.Sel {
	keep := make(chunk.Sel, 0, n)
	next, end := from, from+int64(n)
	s.each(from, end, func(row int64) {
		for ; next < row; next++ {
			keep = append(keep, uint16(next-from))
		}
		next = row + 1
	})
	if next == from {
		return nil
	}
	for ; next < end; next++ {
		keep = append(keep, uint16(next-from))
	}
	return keep
}

// each visits the rows of the set that lie in [from, end), in order.
func (s *rowSet) each(from, end int64, visit func(row int64)) {
	for upper := from >> 32; upper <= (end-1)>>32; upper++ {
		m := s.maps[uint32(upper)]
		if m == nil {
			continue
		}
		base := upper << 32
		in := m.Iterator()
		in.AdvanceIfNeeded(uint32(max(from-base, 0)))
		for in.HasNext() {
			row := base + int64(in.Next())
			if row >= end {
				return
			}
			visit(row)
		}
	}
}

// picked yields some of the rows of a file, which come from its first to its
// last; a nil pick takes them all.
func picked(rows chunk.Rows, take pick) chunk.Rows {
	if take == nil {
		return rows
	}
	return func(yield func(*chunk.Chunk, error) bool) {
		at := int64(0)
		for c, err := range rows {
			if err == nil {
				from := at
				at += int64(c.Rows)
				if c = c.Take(take(from, c.Rows)); c.Rows == 0 {
					continue
				}
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// undeleted picks the rows of a file that its deletion vector leaves; nil when
// that is all of them.
func (t Table) undeleted(d *DeletionVector) (pick, error) {
	if d == nil || d.Cardinality == 0 {
		return nil, nil
	}
	rows, err := t.deletedRows(d)
	if err != nil {
		return nil, err
	}
	return rows.others, nil
}
