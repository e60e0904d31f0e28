package codec

import (
	"bufio"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/weir-dev/weir/internal/plan"
)

// Compressed files carry the ending that Hadoop gives them. Whatever a file
// says of itself, decompressing one takes at most maxWindow of memory beside
// small buffers.
const maxWindow = 256 << 20

// compression is one way to compress a text file.
type compression struct {
	name string // Spark's short name
	ext  string
	read func(io.Reader) (io.ReadCloser, error)
	// write is nil for what is only read.
	write func(io.Writer) (io.WriteCloser, error)
}

func compressions() []compression {
	return []compression{
		{"gzip", ".gz", readGzip, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }},
		{"deflate", ".deflate", zlib.NewReader, func(w io.Writer) (io.WriteCloser, error) {
			return zlib.NewWriter(w), nil
		}},
		{"zstd", ".zst", readZstd, writeZstd},
		{"snappy", ".snappy", readSnappy, func(w io.Writer) (io.WriteCloser, error) {
			return &snappyWriter{w: w}, nil
		}},
		{"bzip2", ".bz2", func(r io.Reader) (io.ReadCloser, error) {
			return io.NopCloser(bzip2.NewReader(r)), nil
		}, nil},
		{"lz4", ".lz4", nil, nil},
	}
}

// Decompress is the content of a file whose name tells how it is compressed.
// Closing it leaves src open.
func Decompress(name string, src io.Reader) (io.ReadCloser, error) {
	ext := path.Ext(name)
	for _, c := range compressions() {
		if c.ext != ext {
			continue
		}
		if c.read == nil {
			return nil, plan.Unsupported("reading files compressed by " + c.name)
		}
		r, err := c.read(src)
		if err != nil {
			return nil, fmt.Errorf("decompress %s: %w", name, err)
		}
		return &namedReader{name, r}, nil
	}
	return io.NopCloser(src), nil
}

// namedReader names the file in errors.
type namedReader struct {
	name string
	r    io.ReadCloser
}

func (n *namedReader) Read(p []byte) (int, error) {
	k, err := n.r.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("decompress %s: %w", n.name, err)
	}
	return k, err
}

func (n *namedReader) Close() error { return n.r.Close() }

// CompressedSuffix is the ending that a writer's compression option adds to
// names of files, "" for none.
func CompressedSuffix(codec string) (string, error) {
	c, err := compressionOf(codec)
	return c.ext, err
}

// Compress is a writer of compressed bytes; closing it ends them and leaves w
// open.
func Compress(codec string, w io.Writer) (io.WriteCloser, error) {
	c, err := compressionOf(codec)
	if err != nil || c.write == nil {
		return nopWriter{w}, err
	}
	return c.write(w)
}

type nopWriter struct{ io.Writer }

func (nopWriter) Close() error { return nil }

func compressionOf(codec string) (compression, error) {
	name := strings.ToLower(codec)
	if name == "" || name == "none" || name == "uncompressed" {
		return compression{}, nil
	}
	for _, c := range compressions() {
		if c.name != name {
			continue
		}
		if c.write == nil {
			return c, plan.Unsupported("writing files compressed by " + c.name)
		}
		return c, nil
	}
	return compression{}, plan.NewError(plan.ClassIllegal,
		"CODEC_NOT_AVAILABLE.WITH_AVAILABLE_CODECS_SUGGESTION",
		"There is no compression named "+codec+".", "codecName", codec,
		"availableCodecs", "bzip2, deflate, uncompressed, snappy, none, lz4, gzip, zstd")
}

func readGzip(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) }

func readZstd(r io.Reader) (io.ReadCloser, error) {
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow),
		zstd.WithDecoderMaxMemory(maxWindow))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}

func writeZstd(w io.Writer) (io.WriteCloser, error) {
	return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
}

// maxSnappyBlock bounds a block of Hadoop's framing, which writes 256 KiB.
const maxSnappyBlock = 64 << 20

// snappyReader reads Hadoop's framing: blocks of the length of their content
// and of one or more parts, each of its length and raw Snappy; lengths are
// big-endian.
type snappyReader struct {
	in   *bufio.Reader
	left int // bytes of the block that are still to come
	part []byte
	out  []byte // decompressed and not yet read
	room []byte
}

func readSnappy(r io.Reader) (io.ReadCloser, error) {
	return io.NopCloser(&snappyReader{in: bufio.NewReader(r)}), nil
}

var errSnappy = errors.New("bytes are not in Hadoop's Snappy framing")

func (s *snappyReader) Read(p []byte) (int, error) {
	for len(s.out) == 0 {
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	return n, nil
}

func (s *snappyReader) next() error {
	for s.left == 0 {
		n, err := s.length()
		if err != nil {
			return err
		}
		s.left = n
	}
	n, err := s.length()
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	if cap(s.part) < n {
		s.part = make([]byte, n)
	}
	part := s.part[:n]
	if _, err := io.ReadFull(s.in, part); err != nil {
		return io.ErrUnexpectedEOF
	}
	size, err := s2.DecodedLen(part)
	if err != nil || size > s.left {
		return errSnappy
	}
	if s.room, err = s2.Decode(s.room[:cap(s.room)], part); err != nil {
		return err
	}
	s.out = s.room
	s.left -= size
	return nil
}

func (s *snappyReader) length() (int, error) {
	var b [4]byte
	if _, err := io.ReadFull(s.in, b[:]); err != nil {
		return 0, err
	}
	n := binary.BigEndian.Uint32(b[:])
	if n > maxSnappyBlock {
		return 0, errSnappy
	}
	return int(n), nil
}

// snappyWriter writes that framing, a block at a time.
type snappyWriter struct {
	w   io.Writer
	buf []byte
	out []byte
}

const snappyBlock = 256 << 10

func (s *snappyWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		k := min(len(p), snappyBlock-len(s.buf))
		s.buf = append(s.buf, p[:k]...)
		p = p[k:]
		if len(s.buf) == snappyBlock {
			if err := s.flush(); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

func (s *snappyWriter) flush() error {
	if len(s.buf) == 0 {
		return nil
	}
	packed := s2.EncodeSnappy(nil, s.buf)
	s.out = binary.BigEndian.AppendUint32(s.out[:0], uint32(len(s.buf)))
	s.out = binary.BigEndian.AppendUint32(s.out, uint32(len(packed)))
	s.out = append(s.out, packed...)
	s.buf = s.buf[:0]
	_, err := s.w.Write(s.out)
	return err
}

func (s *snappyWriter) Close() error { return s.flush() }
