package client

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
)

var tp = Partition{"t", 3}

var codecs = map[int16]kgo.CompressionCodec{
	0: kgo.NoCompression(), 1: kgo.GzipCompression(), 2: kgo.SnappyCompression(), 3: kgo.Lz4Compression(),
	4: kgo.ZstdCompression(),
}

// encode is a record batch as the client library writes it. Records keep their
// offset deltas; last is that of the batch.
func encode(t testing.TB, b kmsg.RecordBatch, last int32, records ...kmsg.Record) []byte {
	t.Helper()
	var data []byte
	for _, r := range records {
		r.Length = int32(len(r.AppendTo(nil)) - 1) // the length itself, as zero, takes one byte
		data = r.AppendTo(data)
	}
	compressor, err := kgo.DefaultCompressor(codecs[b.Attributes&attrCompression])
	if err != nil {
		t.Fatal(err)
	}
	if compressor != nil {
		data, _ = compressor.Compress(&bytes.Buffer{}, data)
	}
	b.Magic, b.LastOffsetDelta, b.NumRecords, b.Records = 2, last, int32(len(records)), data
	b.Length = int32(len(data) + batchRecords - 12)
	return seal(b.AppendTo(nil))
}

// seal sets the checksum.
func seal(raw []byte) []byte {
	binary.BigEndian.PutUint32(raw[batchCRC:], crc32.Checksum(raw[batchAttributes:], castagnoli))
	return raw
}

func rec(delta int32, value string) kmsg.Record {
	return kmsg.Record{OffsetDelta: delta, TimestampDelta64: int64(delta) * 10, Value: []byte(value)}
}

func plainDecoder(columns ...Column) *decoder {
	return &decoder{columns: columns, inflate: kgo.DefaultDecompressor(), buffers: &buffers{}}
}

func decodeAll(t testing.TB, d *decoder, from int64, rp *kmsg.FetchResponseTopicPartition,
) ([][]plan.Value, int64) {
	t.Helper()
	blocks, next, err := d.decode(tp, from, rp)
	if err != nil {
		t.Fatal(err)
	}
	rows := [][]plan.Value{}
	for _, b := range blocks {
		if len(b.offsets) != b.chunk.Rows {
			t.Fatalf("%d offsets of %d rows", len(b.offsets), b.chunk.Rows)
		}
		for i := range b.chunk.Rows {
			rows = append(rows, b.chunk.Row(i))
		}
	}
	return rows, next
}

func TestEveryColumnOfARecord(t *testing.T) {
	const now = 1_700_000_000_000
	base := kmsg.RecordBatch{FirstOffset: 7, FirstTimestamp: now, MaxTimestamp: now + 999}
	full := kmsg.Record{OffsetDelta: 2, TimestampDelta64: -5, Key: []byte{}, Value: []byte("v"),
		Headers: []kmsg.Header{{Key: "h", Value: []byte("1")}, {Key: "h"}}}
	appended := base
	appended.FirstOffset, appended.Attributes = 20, attrLogAppendTime
	raw := encode(t, base, 2, rec(0, "a"), full)
	raw = append(raw, encode(t, appended, 0, kmsg.Record{Key: []byte("k")})...)
	d := plainDecoder(ColumnKey, ColumnValue, ColumnTopic, ColumnPartition, ColumnOffset, ColumnTimestamp,
		ColumnTimestampType, ColumnHeaders)
	rows, next := decodeAll(t, d, 0, &kmsg.FetchResponseTopicPartition{RecordBatches: raw})
	if next != 21 {
		t.Errorf("next is %d", next)
	}
	headers := []plan.Value{[]plan.Value{"h", []byte("1")}, []plan.Value{"h", nil}}
	testkit.Diff(t, "rows", rows, [][]plan.Value{
		{nil, []byte("a"), "t", int64(3), int64(7), int64(1_700_000_000_000_000), int64(0), nil},
		{[]byte{}, []byte("v"), "t", int64(3), int64(9), int64(1_699_999_999_995_000), int64(0), headers},
		{[]byte("k"), nil, "t", int64(3), int64(20), int64(1_700_000_000_999_000), int64(1), nil},
	})
}

// A range ends by the headers of record batches: what compaction, markers and
// aborted transactions leave has no records.
func TestProgressIsByPosition(t *testing.T) {
	empty := encode(t, kmsg.RecordBatch{FirstOffset: 4}, 1)
	holes := encode(t, kmsg.RecordBatch{FirstOffset: 6}, 3, rec(1, "only"))
	control := kmsg.RecordBatch{FirstOffset: 10, Attributes: attrControl | attrTransactional, ProducerID: 1}
	marker := encode(t, control, 0, kmsg.Record{Key: []byte{0, 0, 0, 1}, Value: []byte{}})
	cut := encode(t, kmsg.RecordBatch{FirstOffset: 11}, 0, rec(0, "cut"))[:40]
	raw := bytes.Join([][]byte{empty, holes, marker, cut}, nil)
	rp := &kmsg.FetchResponseTopicPartition{RecordBatches: raw}
	rows, next := decodeAll(t, plainDecoder(ColumnOffset), 4, rp)
	if next != 11 {
		t.Errorf("next is %d, want 11", next)
	}
	testkit.Diff(t, "rows", rows, [][]plan.Value{{int64(7)}})
}

func TestRecordsBeforeTheOffsetAreLeftOut(t *testing.T) {
	raw := encode(t, kmsg.RecordBatch{FirstOffset: 10}, 3, rec(0, "a"), rec(1, "b"), rec(2, "c"), rec(3, "d"))
	rp := &kmsg.FetchResponseTopicPartition{RecordBatches: raw}
	rows, next := decodeAll(t, plainDecoder(ColumnValue), 12, rp)
	testkit.Diff(t, "rows", rows, [][]plan.Value{{[]byte("c")}, {[]byte("d")}})
	if next != 14 {
		t.Errorf("next is %d", next)
	}
}

// The library's own consumer says what a reader sees of any record batches.
func TestRecordsAreThoseOfTheLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rp := &kmsg.FetchResponseTopicPartition{Partition: tp.Number}
		offset := rapid.Int64Range(0, 50).Draw(t, "first")
		for range rapid.IntRange(0, 6).Draw(t, "batches") {
			raw, last := drawBatch(t, offset)
			rp.RecordBatches = append(rp.RecordBatches, raw...)
			offset += int64(last) + 1 + rapid.Int64Range(0, 3).Draw(t, "gap")
		}
		for range rapid.IntRange(0, 3).Draw(t, "aborted") {
			rp.AbortedTransactions = append(rp.AbortedTransactions,
				kmsg.FetchResponseTopicPartitionAbortedTransaction{
					ProducerID:  rapid.Int64Range(1, 3).Draw(t, "aborted producer"),
					FirstOffset: rapid.Int64Range(0, offset).Draw(t, "aborted first"),
				})
		}
		compareWithLibrary(t, rp, rapid.Int64Range(0, offset).Draw(t, "from"))
	})
}

// drawBatch is any record batch at an offset, and its last offset delta.
func drawBatch(t *rapid.T, offset int64) (raw []byte, last int32) {
	b := kmsg.RecordBatch{
		FirstOffset: offset, FirstTimestamp: rapid.Int64Range(-5, 1e12).Draw(t, "time"),
		ProducerID: rapid.Int64Range(1, 3).Draw(t, "producer"),
		Attributes: rapid.Int16Range(0, 4).Draw(t, "codec"),
	}
	b.MaxTimestamp = b.FirstTimestamp + 7
	last = rapid.Int32Range(0, 9).Draw(t, "last")
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		b.Attributes = attrControl | attrTransactional
		kind := byte(rapid.IntRange(0, 1).Draw(t, "commit"))
		marker := kmsg.Record{Key: []byte{0, 0, 0, kind}, Value: []byte{0, 0, 0, 0, 0, 0}}
		return encode(helperless{}, b, 0, marker), 0
	case 1:
		b.Attributes |= attrTransactional
	}
	b.Attributes |= rapid.SampledFrom([]int16{0, attrLogAppendTime}).Draw(t, "append time")
	var records []kmsg.Record
	for delta := range last + 1 {
		if rapid.Bool().Draw(t, "there") {
			records = append(records, rec(delta, rapid.String().Draw(t, "value")))
		}
	}
	return encode(helperless{}, b, last, records...), last
}

// helperless stands in for a test where a property has only its own.
type helperless struct{ testing.TB }

func (helperless) Helper()           {}
func (helperless) Fatal(args ...any) { panic(args) }

func compareWithLibrary(t *rapid.T, rp *kmsg.FetchResponseTopicPartition, from int64) {
	for _, committed := range []bool{false, true} {
		level := kgo.ReadUncommitted()
		if committed {
			level = kgo.ReadCommitted()
		}
		want, wantNext := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
			Offset: from, IsolationLevel: level, Topic: tp.Topic, Partition: tp.Number,
		}, rp, kgo.DefaultDecompressor(), nil)
		if want.Err != nil {
			t.Fatalf("the library: %v", want.Err)
		}
		d := plainDecoder(ColumnValue, ColumnOffset, ColumnTimestamp, ColumnTimestampType)
		d.committed = committed
		blocks, next, err := d.decode(tp, from, rp)
		if err != nil || next != wantNext {
			t.Fatalf("next is %d (%v), want %d", next, err, wantNext)
		}
		n := 0
		for _, b := range blocks {
			for i := range b.chunk.Rows {
				if n >= len(want.Records) {
					t.Fatalf("more rows than the library's %d", len(want.Records))
				}
				r := want.Records[n]
				row := b.chunk.Row(i)
				n++
				if !bytes.Equal(row[0].([]byte), r.Value) || row[1] != r.Offset ||
					row[2] != r.Timestamp.UnixMicro() || row[3] != int64(r.Attrs.TimestampType()) {
					t.Fatalf("row %v, the library has %+v", row, r)
				}
			}
		}
		if n != len(want.Records) {
			t.Fatalf("committed %t: %d rows, the library has %d", committed, n, len(want.Records))
		}
	}
}

func TestDamageIsNamed(t *testing.T) {
	good := encode(t, kmsg.RecordBatch{FirstOffset: 5}, 1, rec(0, "a"), rec(1, "b"))
	change := func(at int, to ...byte) []byte {
		raw := bytes.Clone(good)
		copy(raw[at:], to)
		return raw
	}
	tests := []struct {
		name string
		raw  []byte
		want string
	}{
		{"a flipped bit", change(len(good)-1, 'c'), "checksum"},
		{"a format of before 0.11", change(batchMagic, 1), "message format 1"},
		{"a negative length", change(batchLength, 0xff, 0xff, 0xff, 0x00), "negative length"},
		{"a length without a header", change(batchLength, 0, 0, 0, 10), "too short"},
		{"more records than there are", seal(change(batchCount, 0, 0, 0, 3)), "record 3 of 3"},
		{"a count of two billions", seal(change(batchCount, 0x7f, 0xff, 0xff, 0xff)), "record 3 of 2147483647"},
		{"a negative count", seal(change(batchCount, 0x80, 0, 0, 0)), "contradicts itself"},
		{"a record that claims to be longer", seal(change(batchRecords, 0x7e)), "record 1 of 2"},
		{"a codec that is none", seal(change(batchAttributes+1, 7)), "decompress"},
		{"no compressed data", seal(change(batchAttributes+1, 4)), "decompress"},
	}
	for _, test := range tests {
		blocks, next, err := plainDecoder(ColumnValue).decode(tp, 5,
			&kmsg.FetchResponseTopicPartition{RecordBatches: test.raw})
		var damage *DamageError
		if !errors.As(err, &damage) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
			continue
		}
		if blocks != nil || next != 5 || !strings.Contains(err.Error(), "t-3 at offset 5") {
			t.Errorf("%s: %d blocks, next %d, %v", test.name, len(blocks), next, err)
		}
	}
}

// What decompresses to more than the limit is refused, not tried.
func TestDecompressionBombsAreRefused(t *testing.T) {
	big := kmsg.RecordBatch{FirstOffset: 0, Attributes: 4}
	raw := encode(t, big, 0, kmsg.Record{Value: make([]byte, maxDecompressed+1)})
	if len(raw) > 1<<20 {
		t.Fatalf("the bomb has %d bytes", len(raw))
	}
	cluster, err := Open(Config{Settings: map[string]string{"bootstrap.servers": "127.0.0.1:1"}}, Patience{})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	d := plainDecoder(ColumnValue)
	d.inflate = cluster.decompressor()
	if _, _, err := d.decode(tp, 0, &kmsg.FetchResponseTopicPartition{RecordBatches: raw}); err == nil ||
		!strings.Contains(err.Error(), "decompress") {
		t.Errorf("got %v", err)
	}
}

func TestChunksOfLargeRecordsAreSmall(t *testing.T) {
	large := strings.Repeat("x", 5<<20)
	raw := encode(t, kmsg.RecordBatch{}, 3, rec(0, large), rec(1, large), rec(2, large), rec(3, large))
	rp := &kmsg.FetchResponseTopicPartition{RecordBatches: raw}
	blocks, _, err := plainDecoder(ColumnValue).decode(tp, 0, rp)
	if err != nil || len(blocks) != 2 {
		t.Errorf("%d blocks (%v), want 2", len(blocks), err)
	}
}

func FuzzDecode(f *testing.F) {
	two := encode(f, kmsg.RecordBatch{FirstOffset: 5}, 1, rec(0, "a"), rec(1, "b"))
	header := kmsg.Record{Value: []byte("v"), Headers: []kmsg.Header{{Key: "h", Value: []byte("1")}}}
	f.Add(two, int64(5))
	snappy := encode(f, kmsg.RecordBatch{FirstOffset: 9, Attributes: 2}, 0, header)
	f.Add(append(bytes.Clone(two), snappy...), int64(6))
	f.Fuzz(func(t *testing.T, raw []byte, from int64) {
		// A checksum would keep the fuzzer out of what is behind it.
		if len(raw) >= batchRecords {
			size := int64(int32(binary.BigEndian.Uint32(raw[batchLength:]))) + 12
			if size >= batchRecords && size <= int64(len(raw)) {
				seal(raw[:size])
			}
		}
		d := plainDecoder(ColumnKey, ColumnValue, ColumnOffset, ColumnHeaders)
		from = max(from, 0)
		blocks, next, err := d.decode(tp, from, &kmsg.FetchResponseTopicPartition{RecordBatches: raw})
		if next < from || err != nil && next != from {
			t.Fatalf("from %d to %d: %v", from, next, err)
		}
		for _, b := range blocks {
			for _, o := range b.offsets {
				if o < from || o >= next {
					t.Fatalf("offset %d outside [%d, %d)", o, from, next)
				}
			}
			if b.chunk.Rows > chunk.MaxRows {
				t.Fatalf("%d rows", b.chunk.Rows)
			}
		}
	})
}

// BenchmarkDecode turns record batches of a thousand records of 100 bytes into
// the columns of the source.
func BenchmarkDecode(b *testing.B) {
	const count = 1000
	for name, codec := range map[string]int16{"plain": 0, "lz4": 3, "zstd": 4} {
		b.Run(name, func(b *testing.B) {
			records := make([]kmsg.Record, count)
			for i := range records {
				records[i] = rec(int32(i), strings.Repeat("0123456789", 10))
			}
			raw := encode(b, kmsg.RecordBatch{Attributes: codec}, count-1, records...)
			rp := &kmsg.FetchResponseTopicPartition{RecordBatches: raw}
			d := plainDecoder(ColumnKey, ColumnValue, ColumnTopic, ColumnPartition, ColumnOffset, ColumnTimestamp,
				ColumnTimestampType)
			d.inflate = kgo.DefaultDecompressor(d.buffers)
			b.ReportAllocs()
			for b.Loop() {
				if _, next, err := d.decode(tp, 0, rp); err != nil || next != count {
					b.Fatal(next, err)
				}
			}
			b.ReportMetric(float64(b.N*count)/b.Elapsed().Seconds(), "records/s")
		})
	}
}
