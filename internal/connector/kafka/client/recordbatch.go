package client

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DamageError says that what a broker sent is no record batch.
type DamageError struct {
	Partition
	At  int64 // the offset that was asked for
	Why string
}

// Error names partition and offset.
func (e *DamageError) Error() string {
	return fmt.Sprintf("the records of partition %s at offset %d are damaged: %s", e.Partition, e.At, e.Why)
}

// The layout of a record batch, in bytes.
const (
	batchLength     = 8  // int32: of what follows it
	batchMagic      = 16 // int8
	batchCRC        = 17 // uint32, of what follows it
	batchAttributes = 21
	batchLastDelta  = 23 // int32
	batchFirstTime  = 27 // int64
	batchMaxTime    = 35
	batchProducer   = 43
	batchCount      = 57 // int32
	batchRecords    = 61
)

const (
	attrCompression   = 0x07
	attrLogAppendTime = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
)

// batch is the header of a record batch.
type batch struct {
	first, last            int64 // offsets
	attributes             uint16
	firstTimeMs, maxTimeMs int64
	producer               int64
	count                  int
	records                []byte // as sent
}

// castagnoli is the polynomial of the checksums.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// nextBatch splits the first record batch off in. ok is false when in holds no
// whole one.
func nextBatch(in []byte) (b batch, rest []byte, ok bool, why string) {
	if len(in) < batchMagic+1 {
		return b, nil, false, ""
	}
	size := int64(int32(binary.BigEndian.Uint32(in[batchLength:]))) + batchLength + 4
	if size < batchMagic+1 {
		return b, nil, false, "a record batch has a negative length"
	}
	if int64(len(in)) < size {
		return b, nil, false, "" // brokers cut the last one off
	}
	if magic := in[batchMagic]; magic != 2 {
		return b, nil, false, fmt.Sprintf("message format %d is older than Kafka 0.11 and not supported", magic)
	}
	if size < batchRecords {
		return b, nil, false, "a record batch is too short"
	}
	data := in[:size]
	if crc32.Checksum(data[batchAttributes:], castagnoli) != binary.BigEndian.Uint32(data[batchCRC:]) {
		return b, nil, false, "the checksum of a record batch is wrong"
	}
	number := func(at int) int64 { return int64(binary.BigEndian.Uint64(data[at:])) }
	b = batch{
		first:       number(0),
		attributes:  binary.BigEndian.Uint16(data[batchAttributes:]),
		firstTimeMs: number(batchFirstTime), maxTimeMs: number(batchMaxTime), producer: number(batchProducer),
		count:   int(int32(binary.BigEndian.Uint32(data[batchCount:]))),
		records: data[batchRecords:],
	}
	b.last = b.first + int64(int32(binary.BigEndian.Uint32(data[batchLastDelta:])))
	if b.first < 0 || b.last < b.first || b.count < 0 {
		return b, nil, false, "the header of a record batch contradicts itself"
	}
	return b, in[size:], true, ""
}

// decoder turns the answers of brokers into blocks. One goroutine uses it.
type decoder struct {
	columns   []Column
	committed bool
	inflate   kgo.Decompressor
	buffers   *buffers
	rows      rows
}

// decode yields the records at and after from, and the offset behind the last
// record batch that was whole.
func (d *decoder) decode(at Partition, from int64, rp *kmsg.FetchResponseTopicPartition,
) ([]block, int64, error) {
	damaged := func(why string) error { return &DamageError{at, from, why} }
	d.rows.n = 0
	out := &builder{columns: d.columns, at: at, rows: &d.rows, buffers: d.buffers}
	aborted := d.abortedOf(rp)
	next := from
	for in := rp.RecordBatches; len(in) > 0; {
		b, rest, ok, why := nextBatch(in)
		if why != "" {
			return nil, from, damaged(why)
		}
		if !ok {
			break
		}
		in = rest
		if b.last < next {
			continue // of before what was asked for
		}
		if why := d.records(out, b, next, aborted); why != "" {
			return nil, from, damaged(why)
		}
		next = b.last + 1
	}
	out.flush()
	return out.done, next, nil
}

// records adds the records of a batch that a reader may see.
func (d *decoder) records(out *builder, b batch, from int64, aborted aborts) string {
	if b.attributes&attrControl != 0 {
		aborted.end(b)
		return ""
	}
	if b.attributes&attrTransactional != 0 && aborted.has(b) {
		return ""
	}
	part := segment{data: b.records}
	if codec := b.attributes & attrCompression; codec != 0 {
		inflated, err := d.inflate.Decompress(b.records, kgo.CompressionCodecType(codec))
		if err != nil {
			return "decompress: " + err.Error()
		}
		part.data, part.lent = inflated, inflated
	}
	if len(part.data) > math.MaxInt32 {
		return "a record batch has more than 2 GiB"
	}
	return out.add(b, part, from)
}

// add finds the records of a batch at and after from in its data.
func (b *builder) add(of batch, part segment, from int64) string {
	in := reader{data: part.data}
	for n := range of.count {
		if b.full() {
			// What comes still needs the buffer.
			part.to = b.rows.n
			b.parts = append(b.parts, segment{data: part.data, to: part.to})
			b.flush()
		}
		r, began := b.rows, in.at
		if !in.record(r, of) {
			return fmt.Sprintf("record %d of %d of the batch at offset %d does not decode",
				n+1, of.count, of.first)
		}
		if r.offset[r.n] >= from {
			b.content += in.at - began
			r.n++
		}
	}
	part.to = b.rows.n
	b.parts = append(b.parts, part)
	return ""
}

// reader reads the variable-length numbers of Kafka's records. What is read
// behind a failure is zero.
type reader struct {
	data []byte
	at   int
	bad  bool
}

// record finds a record and its parts, as the row behind the last one.
func (in *reader) record(r *rows, of batch) bool {
	one := in.bytes()
	if in.bad || one.from < 0 || one.from == one.to {
		return false
	}
	// Behind the attributes, which Kafka does not use.
	body := reader{data: in.data[:one.to], at: int(one.from) + 1}
	i := r.n
	r.timeMs[i] = of.firstTimeMs + body.number()
	r.appended[i] = of.attributes&attrLogAppendTime != 0
	if r.appended[i] {
		r.timeMs[i] = of.maxTimeMs
	}
	r.offset[i] = of.first + body.number()
	r.key[i] = body.bytes()
	r.value[i] = body.bytes()
	count := body.number()
	r.headerN[i], r.headers[i] = int32(count), span{int32(body.at), one.to}
	outside := r.offset[i] < of.first || r.offset[i] > of.last
	if body.bad || outside || count < 0 || count > int64(len(body.data)) {
		return false
	}
	for range count {
		if key := body.bytes(); key.from < 0 {
			return false
		}
		body.bytes()
	}
	return !body.bad
}

func (in *reader) number() int64 {
	if in.at < len(in.data) {
		if b := in.data[in.at]; b < 0x80 {
			in.at++
			return int64(b>>1) ^ -int64(b&1)
		}
	}
	return in.longNumber()
}

func (in *reader) longNumber() int64 {
	n, size := binary.Varint(in.data[min(in.at, len(in.data)):])
	if size <= 0 {
		in.bad, in.at = true, len(in.data)
		return 0
	}
	in.at += size
	return n
}

// bytes reads a length and passes so many bytes; a negative length is NULL.
func (in *reader) bytes() span {
	n := in.number()
	if n < 0 {
		return span{-1, int32(in.at)}
	}
	if n > int64(len(in.data)-in.at) {
		in.bad, in.at = true, len(in.data)
		return span{-1, int32(in.at)}
	}
	from := in.at
	in.at += int(n)
	return span{int32(from), int32(in.at)}
}

// aborts are the first offsets of aborted transactions, by producer, ascending.
type aborts map[int64][]int64

func (d *decoder) abortedOf(rp *kmsg.FetchResponseTopicPartition) aborts {
	if !d.committed || len(rp.AbortedTransactions) == 0 {
		return nil
	}
	a := aborts{}
	for _, t := range rp.AbortedTransactions {
		a[t.ProducerID] = append(a[t.ProducerID], t.FirstOffset)
	}
	for _, firsts := range a {
		slices.Sort(firsts)
	}
	return a
}

// has tells whether a batch belongs to an aborted transaction.
func (a aborts) has(b batch) bool {
	firsts := a[b.producer]
	return len(firsts) > 0 && b.first >= firsts[0]
}

// end notes the marker that ends a transaction. Its key is a version and 0 for
// aborted, 1 for committed.
func (a aborts) end(marker batch) {
	if !a.has(marker) {
		return
	}
	in := reader{data: marker.records}
	in.at = int(max(in.bytes().from, 0)) + 1 // behind the attributes
	in.number()
	in.number()
	key := in.bytes()
	if !in.bad && key.size() >= 4 && binary.BigEndian.Uint16(in.data[key.from+2:]) == 0 {
		a[marker.producer] = a[marker.producer][1:]
	}
}
