package file

import (
	"errors"
	"fmt"
	"io"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/plan"
)

// decompressed reads a text file, whose name tells how it is compressed.
func decompressed(name string, src io.Reader, read func(io.Reader) chunk.Rows) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		in, err := codec.Decompress(name, src)
		if err != nil {
			yield(nil, err)
			return
		}
		defer in.Close()
		for c, err := range read(in) {
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// lineSuffix is the ending of a written text file's name.
func lineSuffix(o plan.Options, ext string) (string, error) {
	name, _ := o.Get("compression")
	suffix, err := codec.CompressedSuffix(name)
	return ext + suffix, err
}

// lineEncoder writes rows as text, compressed as the options say.
type lineEncoder struct {
	out    io.WriteCloser
	text   []byte
	append func(dst []byte, c *chunk.Chunk) ([]byte, error)
}

func newLineEncoder(
	o plan.Options, w io.Writer, appendRows func(dst []byte, c *chunk.Chunk) ([]byte, error),
) (*lineEncoder, error) {
	name, _ := o.Get("compression")
	out, err := codec.Compress(name, w)
	return &lineEncoder{out: out, append: appendRows}, err
}

func (e *lineEncoder) Write(c *chunk.Chunk) error {
	var err error
	if e.text, err = e.append(e.text[:0], c); err != nil {
		return fmt.Errorf("print rows: %w", err)
	}
	_, err = e.out.Write(e.text)
	return err
}

func (e *lineEncoder) Close() error { return e.out.Close() }

// inferLines feeds the text of every file to an inference.
func inferLines(files []dataFile, read func(io.Reader) error) error {
	for _, f := range files {
		if err := inferFile(f, read); err != nil {
			return fmt.Errorf("read %s: %w", f.uri(), err)
		}
	}
	return nil
}

func inferFile(f dataFile, read func(io.Reader) error) error {
	file, err := f.loc.FS.Open(f.path)
	if err != nil {
		return err
	}
	defer file.Close()
	in, err := codec.Decompress(f.name(), file)
	if err != nil {
		return err
	}
	return errors.Join(read(in), in.Close())
}
