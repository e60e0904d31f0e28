package sparkconnect

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The Arrow library believes the numbers in the metadata of a stream and makes
// room for what they say, which for spoiled bytes can be more than there is. So
// streams from outside are measured first: every table, vector and buffer must
// lie within the bytes that came.

// Bounds of a stream. Streams of clients stay far below.
const (
	maxArrowRows   = 1 << 26 // rows of one batch beyond what its bytes can hold
	maxArrowTables = 1 << 16 // tables in the metadata of one message
	maxArrowDepth  = 128     // of types within types
)

// What the header of a message is.
const (
	headerSchema     = 1
	headerDictionary = 2
	headerBatch      = 3
)

// Slots of the tables that are looked into by number.
const (
	messageHeaderType = 1
	messageHeader     = 2
	messageBodyLength = 3
	batchLength       = 0
	batchNodes        = 1
	batchBuffers      = 2
	batchCompression  = 3
	dictionaryBatch   = 1
)

// slot is what a table has in one place.
type slot struct {
	kind slotKind
	size int     // bytes of a number, or of an element of a vector
	of   *layout // the tables it leads to
}

type slotKind int

const (
	inlineSlot slotKind = iota
	vectorSlot          // of numbers or structs; text is one of bytes
	tableSlot
	tablesSlot // a vector of tables
	opaqueSlot // a table of a kind that does not matter
)

// layout is the slots of a table in order; those behind it are not looked at.
type layout struct{ slots []slot }

// arrowLayouts are the tables of Arrow's metadata by the header of the message.
func arrowLayouts() (message *layout, headers map[byte]*layout) {
	number := func(size int) slot { return slot{kind: inlineSlot, size: size} }
	text := slot{kind: vectorSlot, size: 1}
	pairs := slot{kind: tablesSlot, of: &layout{slots: []slot{text, text}}}
	opaque := slot{kind: opaqueSlot}
	field := &layout{}
	fields := slot{kind: tablesSlot, of: field}
	field.slots = []slot{text, number(1), number(1), opaque, opaque, fields, pairs}
	structs := slot{kind: vectorSlot, size: 16}
	batch := &layout{slots: []slot{number(8), structs, structs, opaque, {kind: vectorSlot, size: 8}}}
	return &layout{slots: []slot{number(2), number(1), opaque, number(8), pairs}}, map[byte]*layout{
		headerSchema:     {slots: []slot{number(2), fields, pairs, {kind: vectorSlot, size: 8}}},
		headerDictionary: {slots: []slot{number(8), {kind: tableSlot, of: batch}, number(1)}},
		headerBatch:      batch,
	}
}

// checkArrow measures the messages of an IPC stream.
func checkArrow(stream []byte) error {
	message, headers := arrowLayouts()
	for len(stream) >= 4 {
		size := int64(int32(binary.LittleEndian.Uint32(stream)))
		stream = stream[4:]
		if size == -1 && len(stream) >= 4 {
			size = int64(int32(binary.LittleEndian.Uint32(stream)))
			stream = stream[4:]
		}
		if size == 0 {
			return nil
		}
		if size < 8 || size > int64(len(stream)) {
			return fmt.Errorf("metadata of %d bytes where %d are left", size, len(stream))
		}
		m := &arrowMeta{bytes: stream[:size]}
		stream = stream[size:]
		body, err := m.check(message, headers)
		if err != nil {
			return err
		}
		if body < 0 || body > int64(len(stream)) {
			return fmt.Errorf("a body of %d bytes where %d are left", body, len(stream))
		}
		stream = stream[body:]
	}
	return nil
}

// arrowMeta is one message's metadata.
type arrowMeta struct {
	bytes  []byte
	tables int // looked at so far
}

var errArrowBounds = errors.New("metadata that leads out of itself")

// check measures a message and returns the length of its body.
func (m *arrowMeta) check(message *layout, headers map[byte]*layout) (body int64, err error) {
	root, err := m.follow(0)
	if err != nil {
		return 0, err
	}
	if err := m.table(root, message, 0); err != nil {
		return 0, err
	}
	kind, ok := m.find(root, messageHeaderType)
	if !ok {
		return 0, errors.New("a message without a header")
	}
	if at, ok := m.find(root, messageBodyLength); ok {
		body = int64(binary.LittleEndian.Uint64(m.bytes[at:]))
	}
	at, ok := m.find(root, messageHeader)
	shape := headers[m.bytes[kind]]
	if !ok || shape == nil {
		return 0, fmt.Errorf("a message of kind %d", m.bytes[kind])
	}
	header, err := m.follow(at)
	if err != nil {
		return 0, err
	}
	if err := m.table(header, shape, 0); err != nil {
		return 0, err
	}
	switch m.bytes[kind] {
	case headerBatch:
		err = m.batch(header, body)
	case headerDictionary:
		if at, ok := m.find(header, dictionaryBatch); ok {
			header, _ = m.follow(at)
			err = m.batch(header, body)
		}
	}
	return body, err
}

// batch checks that rows and buffers of a batch fit its body.
func (m *arrowMeta) batch(at int, body int64) error {
	if _, ok := m.find(at, batchCompression); ok {
		return errors.New("a compressed body")
	}
	rows := func(n int64) error {
		if n < 0 || n/8 > body && n > maxArrowRows {
			return fmt.Errorf("%d rows in %d bytes", n, body)
		}
		return nil
	}
	if p, ok := m.find(at, batchLength); ok {
		if err := rows(int64(binary.LittleEndian.Uint64(m.bytes[p:]))); err != nil {
			return err
		}
	}
	err := m.pairs(at, batchNodes, func(length, _ int64) error { return rows(length) })
	if err != nil {
		return err
	}
	return m.pairs(at, batchBuffers, func(offset, length int64) error {
		if offset < 0 || length < 0 || offset > body || length > body-offset {
			return fmt.Errorf("a buffer at %d of %d bytes in a body of %d", offset, length, body)
		}
		return nil
	})
}

// pairs visits a vector of structs of two numbers, which was measured before.
func (m *arrowMeta) pairs(table, slot int, visit func(a, b int64) error) error {
	at, ok := m.find(table, slot)
	if !ok {
		return nil
	}
	at += int(binary.LittleEndian.Uint32(m.bytes[at:]))
	n := int(binary.LittleEndian.Uint32(m.bytes[at:]))
	for i := range n {
		p := m.bytes[at+4+16*i:]
		err := visit(int64(binary.LittleEndian.Uint64(p)), int64(binary.LittleEndian.Uint64(p[8:])))
		if err != nil {
			return err
		}
	}
	return nil
}

// has reports whether n bytes are there from a place on.
func (m *arrowMeta) has(at, n int) bool { return at >= 0 && n >= 0 && at <= len(m.bytes)-n }

// follow is the place that the offset at a place leads to.
func (m *arrowMeta) follow(at int) (int, error) {
	if !m.has(at, 4) {
		return 0, errArrowBounds
	}
	to := at + int(binary.LittleEndian.Uint32(m.bytes[at:]))
	if !m.has(to, 4) {
		return 0, errArrowBounds
	}
	return to, nil
}

// find is the place of a slot of a table that was measured before.
func (m *arrowMeta) find(table, number int) (at int, ok bool) {
	directory := table - int(int32(binary.LittleEndian.Uint32(m.bytes[table:])))
	if 6+2*number > int(binary.LittleEndian.Uint16(m.bytes[directory:])) {
		return 0, false
	}
	offset := int(binary.LittleEndian.Uint16(m.bytes[directory+4+2*number:]))
	return table + offset, offset != 0
}

// table measures a table and what its slots lead to.
func (m *arrowMeta) table(at int, shape *layout, depth int) error {
	if m.tables++; m.tables > maxArrowTables || depth > maxArrowDepth {
		return errors.New("too many fields or too deep a type")
	}
	if !m.has(at, 4) {
		return errArrowBounds
	}
	directory := at - int(int32(binary.LittleEndian.Uint32(m.bytes[at:])))
	if !m.has(directory, 4) {
		return errArrowBounds
	}
	size := int(binary.LittleEndian.Uint16(m.bytes[directory:]))
	if size < 4 || size%2 != 0 || !m.has(directory, size) {
		return errArrowBounds
	}
	for i, s := range shape.slots {
		p, ok := m.find(at, i)
		if !ok {
			continue
		}
		if err := m.slot(p, s, depth); err != nil {
			return err
		}
	}
	return nil
}

func (m *arrowMeta) slot(at int, s slot, depth int) error {
	if s.kind == inlineSlot {
		if !m.has(at, s.size) {
			return errArrowBounds
		}
		return nil
	}
	to, err := m.follow(at)
	if err != nil {
		return err
	}
	switch s.kind {
	case vectorSlot:
		_, err = m.vector(to, s.size)
	case tableSlot:
		err = m.table(to, s.of, depth+1)
	case tablesSlot:
		err = m.vectorOfTables(to, s.of, depth+1)
	}
	return err
}

// vector measures a vector and returns its length.
func (m *arrowMeta) vector(at, size int) (int, error) {
	n := int(binary.LittleEndian.Uint32(m.bytes[at:]))
	if n > len(m.bytes)/size || !m.has(at+4, n*size) {
		return 0, errArrowBounds
	}
	return n, nil
}

func (m *arrowMeta) vectorOfTables(at int, shape *layout, depth int) error {
	n, err := m.vector(at, 4)
	for i := 0; i < n && err == nil; i++ {
		var to int
		if to, err = m.follow(at + 4 + 4*i); err == nil {
			err = m.table(to, shape, depth)
		}
	}
	return err
}
