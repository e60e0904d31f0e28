package file

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

func Parquet() *connector.Format {
	k := &kind{
		name:  "parquet",
		title: "Parquet",
		alias: "parquet.ParquetFileFormat",
		doc:   "columns, typed by the files themselves",
		options: connector.Options([][3]string{
			{"mergeSchema", "false", "whether the schema is that of all files; else that of one"},
		}),
		reads:  func(t plan.Type) bool { return everyPart(t, notCalendar) },
		writes: parquetWrites,
		infer:  inferParquet,
		decode: decodeParquet,
		suffix: func(env *connector.Env, o plan.Options) (string, error) {
			name := parquetCodec(env, o)
			// Only the codec's name is of interest here.
			_, err := codec.NewParquetWriter(io.Discard, oneColumn, codec.ParquetOptions{Compression: name})
			return parquetSuffixes[name] + ".parquet", err
		},
		encode: func(job *writeJob, w io.Writer) (encoder, error) {
			out, err := codec.NewParquetWriter(w, job.schema,
				codec.ParquetOptions{Compression: parquetCodec(job.env, job.options)})
			return &parquetEncoder{out}, err
		},
	}
	return k.format()
}

var oneColumn = plan.Struct(plan.Col("x", plan.Int))

func notCalendar(t plan.Type) bool { return t.Kind != plan.KindCalendar && t.Kind != plan.KindNull }

func parquetWrites(t plan.Type) bool {
	return everyPart(t, func(t plan.Type) bool { return notCalendar(t) && t.Kind != plan.KindVariant })
}

// parquetSuffixes stand before .parquet in the names of files.
var parquetSuffixes = map[string]string{
	"none": "", "uncompressed": "", "snappy": ".snappy", "gzip": ".gz", "zstd": ".zstd", "brotli": ".br",
	"lz4_raw": ".lz4raw",
}

func parquetCodec(env *connector.Env, o plan.Options) string {
	for _, key := range []string{"compression", "parquet.compression"} {
		if name, ok := o.Get(key); ok {
			return strings.ToLower(name)
		}
	}
	if name := env.Conf("spark.sql.parquet.compression.codec"); name != "" {
		return strings.ToLower(name)
	}
	return "snappy"
}

type parquetEncoder struct{ out *codec.ParquetWriter }

func (e *parquetEncoder) Write(c *chunk.Chunk) error { return e.out.Append(c) }

func (e *parquetEncoder) Close() error {
	_, err := e.out.Close()
	return err
}

func decodeParquet(ctx context.Context, job *readJob, name string, file vfs.Reader) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		parquet, err := openParquet(name, file)
		if err != nil {
			yield(nil, err)
			return
		}
		defer parquet.Close()
		for c, err := range parquet.Read(ctx, job.want) {
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

func openParquet(name string, file vfs.Reader) (*codec.ParquetFile, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return codec.OpenParquet(file, info.Size, name)
}

// inferParquet takes the schema of the first file, or with mergeSchema the
// columns of all.
func inferParquet(ctx context.Context, job *readJob, files []dataFile) (plan.Type, bool, error) {
	merge, err := connector.BoolOption(job.options, "mergeSchema",
		connector.ConfBool(job.env, "spark.sql.parquet.mergeSchema", false))
	if err != nil {
		return plan.Type{}, false, err
	}
	schema, found := plan.Struct(), false
	for _, f := range files {
		if ctx.Err() != nil {
			return schema, false, context.Cause(ctx)
		}
		t, err := parquetSchema(f)
		if err != nil {
			return schema, false, err
		}
		if err := mergeColumns(&schema, t); err != nil {
			return schema, false, err
		}
		found = true
		if !merge {
			break
		}
	}
	return schema, found, nil
}

func parquetSchema(f dataFile) (plan.Type, error) {
	file, err := f.loc.FS.Open(f.path)
	if err != nil {
		return plan.Type{}, fmt.Errorf("read %s: %w", f.uri(), err)
	}
	defer file.Close()
	parquet, err := openParquet(f.name(), file)
	if err != nil {
		e := plan.NewError(plan.ClassSpark, "FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER",
			fmt.Sprintf("The footer of %s cannot be read; it may be no Parquet file.", f.uri()), "path", f.uri())
		e.Cause = err
		return plan.Type{}, e
	}
	defer parquet.Close()
	return parquet.Schema(), nil
}

// mergeColumns adds to a schema the columns that it lacks.
func mergeColumns(schema *plan.Type, other plan.Type) error {
	for _, f := range other.Fields {
		at := connector.FieldIndex(*schema, f.Name)
		if at < 0 {
			schema.Fields = append(schema.Fields, f)
			continue
		}
		if have := schema.Fields[at].Type; !have.EqualIgnoringNull(f.Type) {
			return plan.NewError(plan.ClassSpark, "CANNOT_MERGE_INCOMPATIBLE_DATA_TYPE",
				fmt.Sprintf("The column %s is %s in one file and %s in another.", f.Name, have.Simple(), f.Type.Simple()),
				"left", `"`+have.SQL()+`"`, "right", `"`+f.Type.SQL()+`"`)
		}
	}
	return nil
}
