package state

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/s2"
	"github.com/zeebo/xxh3"
)

// A file of a store is frames, one after the other:
//
//	"WSF1"  kind u8  flags u8  table u16  version u64
//	puts u32  drops u32  size u32  raw u32          header, 32 bytes
//	payload, size bytes
//	xxh3-64 of header and payload
//
// Numbers are little-endian. The payload, raw bytes long before compression, is
// the numbers of the rows put (u32 each), their keys and values, the numbers of
// the rows dropped. Keys and values of varying length follow their length
// (uvarint). A version is its frames and an end frame, whose puts counts them.
const (
	frameMagic   = "WSF1"
	headerSize   = 32
	checksumSize = 8

	kindRows = 1
	kindEnd  = 2

	flagS2 = 1

	// compressFrom is the size from which a payload is compressed.
	compressFrom = 64 << 10
	// maxPayload bounds what a reader believes.
	maxPayload = 1<<31 - 1
	// frameBytes is the payload after which a frame ends.
	frameBytes = 512 << 10
)

type header struct {
	kind, flags             uint8
	table                   int
	version                 int64
	puts, drops, size, wide int
}

func (h *header) encode(dst []byte) []byte {
	dst = append(dst, frameMagic...)
	dst = append(dst, h.kind, h.flags)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(h.table))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(h.version))
	for _, n := range []int{h.puts, h.drops, h.size, h.wide} {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	}
	return dst
}

func parseHeader(b []byte) (header, error) {
	if string(b[:4]) != frameMagic {
		return header{}, errors.New("a frame does not begin with " + frameMagic)
	}
	n := func(at int) int { return int(binary.LittleEndian.Uint32(b[at:])) }
	h := header{
		kind: b[4], flags: b[5], table: int(binary.LittleEndian.Uint16(b[6:])),
		version: int64(binary.LittleEndian.Uint64(b[8:])),
		puts:    n(16), drops: n(20), size: n(24), wide: n(28),
	}
	if h.size > maxPayload || h.wide > maxPayload || h.kind != kindRows && h.kind != kindEnd {
		return header{}, errors.New("a frame of impossible size or kind")
	}
	return h, nil
}

// frames writes frames of one version.
type frames struct {
	out     io.Writer
	version int64
	count   int
	payload []byte
	frame   []byte
	written int64
	touched uint64 // as in Table
}

// begin makes ready for a version.
func (w *frames) begin(out io.Writer, version int64) {
	w.out, w.version, w.count, w.written = out, version, 0, 0
}

// rows writes what became of rows of a table.
func (w *frames) rows(table int, r *rows, puts, drops []int32) error {
	for len(puts) > 0 || len(drops) > 0 {
		n, size := w.fitting(r, puts)
		w.payload = sized(w.payload, size)[:0]
		for _, row := range puts[:n] {
			w.payload = binary.LittleEndian.AppendUint32(w.payload, uint32(row))
		}
		w.put(r, puts[:n])
		m := 0
		if puts = puts[n:]; len(puts) == 0 {
			m = min(len(drops), frameBytes/4)
		}
		for _, row := range drops[:m] {
			w.payload = binary.LittleEndian.AppendUint32(w.payload, uint32(row))
		}
		drops = drops[m:]
		w.count++
		if err := w.write(header{kind: kindRows, table: table, puts: n, drops: m}); err != nil {
			return err
		}
	}
	return nil
}

// put appends keys and values of rows.
func (w *frames) put(r *rows, puts []int32) {
	if r.arena == nil {
		// They lie in the pages as they do here, those that are new side by side.
		for seen := 0; len(puts) > 0; {
			if seen == 0 {
				seen = min(ahead, len(puts))
				w.touched += r.look(puts[:seen])
			}
			n, row := 1, puts[0]
			for n < len(puts) && puts[n] == row+int32(n) && puts[n]&(pageRows-1) != 0 {
				n++
			}
			at := int(row&(pageRows-1)) * r.width
			w.payload = append(w.payload, r.pages[row>>pageBits][at:at+n*r.width]...)
			puts, seen = puts[n:], max(seen-n, 0)
		}
		return
	}
	for _, row := range puts {
		w.payload = appendSized(w.payload, r.key, r.keyOf(row))
		w.payload = appendSized(w.payload, r.value, r.valueOf(row))
	}
}

// fitting is how many rows go into one frame, at least one if there is one, and
// about how many bytes they take there.
func (w *frames) fitting(r *rows, puts []int32) (n, size int) {
	if r.arena == nil {
		n = min(len(puts), max(1, frameBytes/(r.width+4)))
		return n, n * (r.width + 4)
	}
	const lengths = 4 // of a key and a value, mostly
	for i, row := range puts {
		more := 4 + lengths + len(r.keyOf(row)) + len(r.valueOf(row))
		if i > 0 && size+more > frameBytes {
			return i, size
		}
		size += more
	}
	return len(puts), size
}

func appendSized(dst []byte, f *form, b []byte) []byte {
	if !f.fixed {
		dst = binary.AppendUvarint(dst, uint64(len(b)))
	}
	return append(dst, b...)
}

// end closes the version. Memory for rows of unusual size is not kept.
func (w *frames) end() error {
	w.payload = w.payload[:0]
	err := w.write(header{kind: kindEnd, puts: w.count})
	if w.bytes() > 4*frameBytes {
		w.payload, w.frame = nil, nil
	}
	return err
}

func (w *frames) bytes() int64 { return int64(cap(w.payload) + cap(w.frame)) }

func (w *frames) write(h header) error {
	h.version, h.wide, h.size = w.version, len(w.payload), len(w.payload)
	room := h.wide
	if h.wide >= compressFrom {
		room = s2.MaxEncodedLen(h.wide)
	}
	w.frame = sized(w.frame, headerSize+room+checksumSize)
	if h.wide >= compressFrom {
		h.flags, h.size = flagS2, len(s2.Encode(w.frame[headerSize:headerSize+room], w.payload))
	} else {
		copy(w.frame[headerSize:], w.payload)
	}
	h.encode(w.frame[:0])
	w.frame = w.frame[:headerSize+h.size]
	w.frame = binary.LittleEndian.AppendUint64(w.frame, xxh3.Hash(w.frame))
	w.written += int64(len(w.frame))
	_, err := w.out.Write(w.frame)
	return err
}

// frameReader reads frames. Its memory is used again for the next frame.
type frameReader struct {
	in    *bufio.Reader
	frame []byte
	plain []byte
}

func newFrameReader(in io.Reader) *frameReader {
	return &frameReader{in: bufio.NewReaderSize(in, 1<<20)}
}

// next is a frame and its payload; io.EOF at the end of the file, another error
// for a frame that is cut off or damaged.
func (r *frameReader) next() (header, []byte, error) {
	r.frame = sized(r.frame, headerSize)
	if n, err := io.ReadFull(r.in, r.frame); err != nil {
		if n == 0 && err == io.EOF {
			return header{}, nil, io.EOF
		}
		return header{}, nil, cutOff(err)
	}
	h, err := parseHeader(r.frame)
	if err != nil {
		return h, nil, err
	}
	if err := r.body(h.size + checksumSize); err != nil {
		return h, nil, err
	}
	end := headerSize + h.size
	if xxh3.Hash(r.frame[:end]) != binary.LittleEndian.Uint64(r.frame[end:]) {
		return h, nil, errors.New("a checksum does not match")
	}
	body := r.frame[headerSize:end]
	if h.flags&flagS2 == 0 {
		return h, body, nil
	}
	if n, err := s2.DecodedLen(body); err != nil || n != h.wide {
		return h, nil, errors.New("a compressed frame of the wrong size")
	}
	r.plain = sized(r.plain, h.wide)
	if body, err = s2.Decode(r.plain, body); err != nil {
		return h, nil, fmt.Errorf("a compressed frame: %w", err)
	}
	return h, body, nil
}

// body reads n bytes behind the header, in steps: the size may be a lie.
func (r *frameReader) body(n int) error {
	const step = 1 << 20
	for n > 0 {
		at := len(r.frame)
		k := min(n, step)
		r.frame = grown(r.frame, at+k)
		if _, err := io.ReadFull(r.in, r.frame[at:]); err != nil {
			return cutOff(err)
		}
		n -= k
	}
	return nil
}

func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the last frame is cut off")
	}
	return err
}

// sized is a slice of length n that uses the memory of b if it can.
func sized[T any](b []T, n int) []T {
	if cap(b) < n {
		return make([]T, n)
	}
	return b[:n]
}

// grown is sized that keeps what b holds.
func grown(b []byte, n int) []byte {
	if cap(b) < n {
		return append(make([]byte, 0, max(n, 2*cap(b))), b...)[:n]
	}
	return b[:n]
}

// apply puts a frame's rows into place, without their indexes.
func (r *rows) apply(h header, body []byte) error {
	if len(body) < 4*(h.puts+h.drops) {
		return errBadRow
	}
	body, err := r.applyPuts(body[:4*h.puts], body[4*h.puts:])
	if err != nil {
		return err
	}
	if len(body) != 4*h.drops {
		return errBadRow
	}
	for k := range h.drops {
		row := binary.LittleEndian.Uint32(body[4*k:])
		// A row that was added and dropped within one version was never put.
		if row <= maxRows && r.live.has(int32(row)) {
			r.discard(int32(row))
		}
	}
	return nil
}

// applyPuts restores rows of the given numbers from the beginning of body, and
// returns what follows them.
func (r *rows) applyPuts(ids, body []byte) (rest []byte, err error) {
	var key, value []byte
	for at := 0; at < len(ids); {
		if run := r.restoreRun(ids[at:], body); run > 0 {
			at, body = at+4*run, body[run*r.width:]
			continue
		}
		if key, body, err = cutSized(r.key, body); err == nil {
			value, body, err = cutSized(r.value, body)
		}
		if err == nil {
			err = r.restore(binary.LittleEndian.Uint32(ids[at:]), key, value)
		}
		if err != nil {
			return nil, err
		}
		at += 4
	}
	return body, nil
}

// restoreRun is restore for as many rows of fixed width as follow each other in one
// page, which may be none.
func (r *rows) restoreRun(ids, body []byte) int {
	id := binary.LittleEndian.Uint32(ids)
	if r.arena != nil || id > maxRows {
		return 0
	}
	row := int32(id)
	most := min(len(ids)/4, pageRows-int(row&(pageRows-1)), int(maxRows-row))
	if r.width > 0 {
		most = min(most, len(body)/r.width)
	}
	n := 0
	for n < most && binary.LittleEndian.Uint32(ids[4*n:]) == id+uint32(n) {
		n++
	}
	if n == 0 {
		return 0
	}
	last := row + int32(n) - 1
	r.next = max(r.next, last+1)
	r.reserve(last)
	for k := row; k <= last; k++ {
		if r.live.add(k) {
			r.count++
		}
	}
	if r.width > 0 {
		r.writable(row)
		copy(r.pages[row>>pageBits][int(row&(pageRows-1))*r.width:], body[:n*r.width])
	}
	return n
}

func cutSized(f *form, b []byte) (row, rest []byte, err error) {
	n := f.stride
	if !f.fixed {
		long, size := binary.Uvarint(b)
		if size <= 0 || long > uint64(len(b)) {
			return nil, nil, errBadRow
		}
		n, b = int(long), b[size:]
	}
	if n > len(b) {
		return nil, nil, errBadRow
	}
	if !f.fixed {
		if err := f.check(b[:n]); err != nil {
			return nil, nil, err
		}
	}
	return b[:n], b[n:], nil
}
