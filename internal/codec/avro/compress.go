package avro

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"github.com/weir-dev/weir/internal/plan"
)

// decompressor is the content of a block, in dst's memory if it fits.
type decompressor func(dst, src []byte) ([]byte, error)

var errBomb = fmt.Errorf("it is more than %d bytes when it is decompressed", MaxBlock)

func decompressorOf(name string) (decompressor, error) {
	switch name {
	case "", "null":
		return func(dst, src []byte) ([]byte, error) { return append(dst, src...), nil }, nil
	case "deflate":
		r := flate.NewReader(bytes.NewReader(nil))
		return func(dst, src []byte) ([]byte, error) {
			if err := r.(flate.Resetter).Reset(bytes.NewReader(src), nil); err != nil {
				return nil, err
			}
			return drain(dst, r)
		}, nil
	case "snappy":
		return unsnappy, nil
	case "zstandard":
		r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxBlock))
		return func(dst, src []byte) ([]byte, error) {
			out, err := r.DecodeAll(src, dst)
			if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
				err = errBomb
			}
			return out, err
		}, err
	case "bzip2":
		return func(dst, src []byte) ([]byte, error) {
			return drain(dst, bzip2.NewReader(bytes.NewReader(src)))
		}, nil
	case "xz":
		return nil, plan.Unsupported("reading Avro files compressed by xz")
	}
	return nil, fmt.Errorf("the Avro file is compressed by %q, which is no codec of Avro", name)
}

// drain reads r to its end, but not more than a block may hold.
func drain(dst []byte, r io.Reader) ([]byte, error) {
	out := bytes.NewBuffer(dst)
	n, err := io.Copy(out, io.LimitReader(r, MaxBlock+1))
	if n > MaxBlock {
		err = errBomb
	}
	return out.Bytes(), err
}

// unsnappy decompresses a block behind which stands the CRC of its content.
func unsnappy(dst, src []byte) ([]byte, error) {
	if len(src) < 4 {
		return nil, errors.New("the checksum behind the compressed bytes is missing")
	}
	body, sum := src[:len(src)-4], binary.BigEndian.Uint32(src[len(src)-4:])
	size, err := s2.DecodedLen(body)
	if err != nil {
		return nil, err
	}
	if size > MaxBlock {
		return nil, errBomb
	}
	if size > 64*len(body)+64 { // Snappy never shrinks more; do not make room for a lie
		return nil, errors.New("the compressed bytes promise more than they can hold")
	}
	out, err := s2.Decode(dst[:cap(dst)], body)
	if err == nil && crc32.ChecksumIEEE(out) != sum {
		err = errors.New("its checksum is not that of its bytes")
	}
	return out, err
}

// compressor appends a compressed block to dst.
type compressor func(dst, src []byte) ([]byte, error)

// codecs are Spark's names of compressions, with the names that files have.
var codecs = map[string]string{
	"uncompressed": "null", "deflate": "deflate", "snappy": "snappy", "zstandard": "zstandard", "bzip2": "bzip2",
	"xz": "xz",
}

// Suffix is what stands before .avro in the name of a file of that compression,
// and an error when there is none or it is only read.
func Suffix(codec string) (string, error) {
	if _, err := codecName(codec); err != nil {
		return "", err
	}
	if codec == "uncompressed" {
		return ".avro", nil
	}
	return "." + codec + ".avro", nil
}

func codecName(codec string) (string, error) {
	name, ok := codecs[codec]
	if !ok {
		return "", plan.NewError(plan.ClassIllegal, "CODEC_SHORT_NAME_NOT_FOUND",
			"There is no compression of Avro named "+codec+"; there are uncompressed, deflate, snappy and zstandard.",
			"codecName", codec)
	}
	if codec == "bzip2" || codec == "xz" {
		return "", plan.Unsupported("writing Avro files compressed by " + codec)
	}
	return name, nil
}

func compressorOf(name string, level int) (compressor, error) {
	switch name {
	case "deflate":
		var buf bytes.Buffer
		w, err := flate.NewWriter(&buf, level)
		if err != nil {
			return nil, plan.IllegalArgument("%d is no level of deflate: give one from 1 to 9, or -1.", level)
		}
		return func(dst, src []byte) ([]byte, error) {
			buf.Reset()
			w.Reset(&buf)
			_, err := w.Write(src)
			if err = errors.Join(err, w.Close()); err != nil {
				return nil, err
			}
			return append(dst, buf.Bytes()...), nil
		}, nil
	case "snappy":
		return func(dst, src []byte) ([]byte, error) {
			dst = append(dst, s2.EncodeSnappy(nil, src)...)
			return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(src)), nil
		}, nil
	case "zstandard":
		w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)))
		return func(dst, src []byte) ([]byte, error) { return w.EncodeAll(src, dst), nil }, err
	}
	return func(dst, src []byte) ([]byte, error) { return append(dst, src...), nil }, nil
}
