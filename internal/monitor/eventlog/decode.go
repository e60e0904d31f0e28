package eventlog

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/weir-dev/weir/internal/vfs"
)

const (
	// maxLine is how long a line may be, in bytes; longer ones are passed over.
	maxLine = 16 << 20
	// maxBlock is how large a block of a compressed log may be; Spark's are 32 kB.
	maxBlock = 8 << 20
)

// decoder takes the compression off that a file's name tells of.
func decoder(name string, in io.Reader) (io.Reader, func(), error) {
	none := func() {}
	switch codec := codecOf(name); codec {
	case "":
		return in, none, nil
	case "zstd":
		d, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
		if err != nil {
			return nil, none, err
		}
		return d, d.Close, nil
	case "lz4":
		return &blocks{in: in, next: lz4Block}, none, nil
	case "snappy":
		return &blocks{in: in, next: snappyBlock}, none, nil
	default:
		return nil, none, fmt.Errorf("%s is compressed with %s, which is not supported; "+
			"Spark's zstd, lz4 and snappy are", path.Base(name), codec)
	}
}

// codecs are the extensions that Spark gives compressed logs, lzf among them, which is not
// supported and said so.
var codecs = []string{"zstd", "lz4", "snappy", "lzf"}

// beginning is how much of a file tells whether it is a log.
const beginning = 4096

// isLog tells by its name and its beginning whether a file is an event log. One that has
// nothing in it yet may be.
func isLog(files vfs.FS, file string) bool {
	if codec := codecOf(file); codec != "" {
		return slices.Contains(codecs, codec)
	}
	in, err := files.Open(file)
	if err != nil {
		return true // whoever reads it says why
	}
	defer in.Close()
	head := make([]byte, beginning)
	n, err := io.ReadFull(in, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return true
	}
	whole := bytes.ContainsRune(head[:n], '\n') // the first line
	head = bytes.TrimSpace(head[:n])
	if len(head) == 0 || head[0] != '{' {
		return len(head) == 0
	}
	return bytes.Contains(head, []byte(`"Event"`)) || !whole
}

// codecOf is the last extension of a log's name, "" for none. Application ids have no
// points.
func codecOf(name string) string {
	name = strings.TrimSuffix(strings.TrimSuffix(path.Base(name), ".inprogress"), ".compact")
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[i+1:]
	}
	return ""
}

// blocks reads a stream that is made of blocks.
type blocks struct {
	in    io.Reader
	next  func(*blocks) error // puts the next block into left
	left  []byte
	room  []byte // for left
	raw   []byte // for what is compressed
	begun bool
}

func (b *blocks) Read(p []byte) (int, error) {
	for len(b.left) == 0 {
		if err := b.next(b); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.left)
	b.left = b.left[n:]
	return n, nil
}

// take reads n bytes of the input.
func (b *blocks) take(n int) ([]byte, error) {
	if n < 0 || n > maxBlock {
		return nil, fmt.Errorf("a block says that it has %d bytes", n)
	}
	if cap(b.raw) < n {
		b.raw = make([]byte, n)
	}
	_, err := io.ReadFull(b.in, b.raw[:n])
	return b.raw[:n], err
}

func (b *blocks) roomFor(n int) ([]byte, error) {
	if n < 0 || n > maxBlock {
		return nil, fmt.Errorf("a block says that it has %d bytes", n)
	}
	if cap(b.room) < n {
		b.room = make([]byte, n)
	}
	return b.room[:n], nil
}

// lz4Magic begins each block of the Java library that Spark uses.
const lz4Magic = "LZ4Block"

// lz4Block reads one such block: magic, method, compressed and plain length and a
// checksum, little-endian. One of length 0 ends a stream; another may follow.
func lz4Block(b *blocks) error {
	head, err := b.take(len(lz4Magic) + 13)
	if err != nil {
		return err
	}
	if string(head[:8]) != lz4Magic {
		return errors.New("an lz4 block has no magic")
	}
	method := head[8] & 0xf0
	packed := int(int32(binary.LittleEndian.Uint32(head[9:])))
	plain := int(int32(binary.LittleEndian.Uint32(head[13:])))
	if plain == 0 {
		return nil
	}
	out, err := b.roomFor(plain)
	if err != nil {
		return err
	}
	raw, err := b.take(packed)
	if err != nil {
		return err
	}
	switch method {
	case 0x10: // as it is
		if packed != plain {
			return errors.New("an lz4 block has two lengths")
		}
		copy(out, raw)
	case 0x20:
		n, err := lz4.UncompressBlock(raw, out)
		if err != nil || n != plain {
			return fmt.Errorf("an lz4 block is damaged: %v", err)
		}
	default:
		return fmt.Errorf("an lz4 block has the method %#x", method)
	}
	b.left = out
	return nil
}

// snappyMagic begins a stream of the Java library, with two numbers behind it.
const snappyMagic = "\x82SNAPPY\x00"

// snappyBlock reads a length and that many bytes of Snappy, big-endian.
func snappyBlock(b *blocks) error {
	if !b.begun {
		head, err := b.take(len(snappyMagic) + 8)
		if err != nil {
			return err
		}
		if string(head[:8]) != snappyMagic {
			return errors.New("a snappy stream has no magic")
		}
		b.begun = true
	}
	head, err := b.take(4)
	if err != nil {
		return err
	}
	raw, err := b.take(int(int32(binary.BigEndian.Uint32(head))))
	if err != nil {
		return err
	}
	n, err := s2.DecodedLen(raw)
	if err != nil {
		return fmt.Errorf("a snappy block is damaged: %w", err)
	}
	out, err := b.roomFor(n)
	if err != nil {
		return err
	}
	if b.left, err = s2.Decode(out, raw); err != nil {
		return fmt.Errorf("a snappy block is damaged: %w", err)
	}
	return nil
}

// lines gives each line of a log that is worth reading, without its break, and how many
// bytes it had with it; of others it gives nil and the bytes. What is given is valid
// until the next one. A line without a break is not whole yet.
func lines(in io.Reader, visit func(line []byte, n int64)) error {
	r := bufio.NewReaderSize(in, 64<<10)
	var long []byte
	size := int64(0) // of the line in the making
	for {
		part, err := r.ReadSlice('\n')
		size += int64(len(part))
		switch {
		case err == nil:
			whole := part
			if len(long) > 0 {
				whole = append(long, part...)
			}
			if size > maxLine+1 || !wanted(whole) {
				whole = nil
			} else {
				whole = whole[:len(whole)-1]
			}
			visit(whole, size)
			long, size = long[:0], 0
		case errors.Is(err, bufio.ErrBufferFull):
			if len(long) == 0 && !wanted(part) {
				n, err := pass(r)
				if err != nil {
					return err
				}
				visit(nil, size+n)
				size = 0
				continue
			}
			if len(long) <= maxLine {
				long = append(long, part...)
			}
		default:
			return err
		}
	}
}

// pass leaves out the rest of a line, and counts its bytes.
func pass(r *bufio.Reader) (n int64, err error) {
	for {
		part, err := r.ReadSlice('\n')
		n += int64(len(part))
		if !errors.Is(err, bufio.ErrBufferFull) {
			return n, err
		}
	}
}

// longestKind is how far into a line the name of its event may reach.
const longestKind = 200

// kinds are the events that are read beside those of streaming queries.
var kinds = []string{
	"SparkListenerLogStart", "SparkListenerApplicationStart", "SparkListenerApplicationEnd",
	"SparkListenerEnvironmentUpdate", executionStarted, executionReplaned, driverMeasured, jobStarted, taskEnded,
}

// wanted tells by its beginning whether a line is about an application, a streaming query
// or the work for one.
func wanted(line []byte) bool {
	kind := kindOf(line[:min(len(line), longestKind)])
	return strings.HasPrefix(kind, listenerClass) || slices.Contains(kinds, kind)
}
