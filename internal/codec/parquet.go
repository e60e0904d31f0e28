package codec

import (
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

const (
	// rowMetadata is where Spark keeps its own schema in a Parquet footer, with
	// what Parquet's types cannot say (char lengths, interval fields).
	rowMetadata = "org.apache.spark.sql.parquet.row.metadata"
	// maxRowGroupRows ends a row group: with Spark's rows of about a hundred
	// bytes that is its own 128 MiB.
	maxRowGroupRows = 1 << 20
)

// ParquetOptions say how a Parquet file is written.
type ParquetOptions struct {
	Compression string // snappy (the default), none, uncompressed, gzip, zstd, brotli, lz4_raw
}

var parquetCodecs = map[string]compress.Compression{
	"": compress.Codecs.Snappy, "snappy": compress.Codecs.Snappy, "none": compress.Codecs.Uncompressed,
	"uncompressed": compress.Codecs.Uncompressed, "gzip": compress.Codecs.Gzip, "zstd": compress.Codecs.Zstd,
	"brotli": compress.Codecs.Brotli, "lz4_raw": compress.Codecs.Lz4Raw,
}

// ParquetWriter writes one file.
type ParquetWriter struct {
	schema plan.Type
	arrow  *arrow.Schema
	file   *pqarrow.FileWriter
	stats  []*columnStats
	rows   int64
	begin  func(dictionaries []parquet.ColumnPath) (*pqarrow.FileWriter, error)

	// early are the first chunks, kept until it is known which columns repeat
	// their values; file is nil until then.
	early     []*chunk.Chunk
	earlyRows int
}

// NewParquetWriter begins a file of a schema on w, which stays the caller's.
func NewParquetWriter(w io.Writer, schema plan.Type, o ParquetOptions) (*ParquetWriter, error) {
	c, ok := parquetCodecs[o.Compression]
	if !ok {
		return nil, plan.NewError(plan.ClassIllegal, "CODEC_NOT_AVAILABLE.WITH_AVAILABLE_CODECS_SUGGESTION",
			"Parquet files cannot be compressed by "+o.Compression+".",
			"codecName", o.Compression,
			"availableCodecs", "brotli, gzip, lz4_raw, none, snappy, uncompressed, zstd")
	}
	if err := checkParquetType(schema, ""); err != nil {
		return nil, err
	}
	as := identified(chunk.ArrowSchema(stored(schema), chunk.ArrowOptions{Zone: "UTC"}), schema)
	p := &ParquetWriter{schema: schema, arrow: as}
	p.begin = func(dictionaries []parquet.ColumnPath) (*pqarrow.FileWriter, error) {
		props := []parquet.WriterProperty{
			parquet.WithCompression(c), parquet.WithVersion(parquet.V2_LATEST),
			parquet.WithStoreDecimalAsInteger(true), parquet.WithCreatedBy("weir"),
			parquet.WithMaxRowGroupLength(maxRowGroupRows), parquet.WithRootName("spark_schema"),
			parquet.WithDictionaryDefault(false),
		}
		for _, path := range dictionaries {
			props = append(props, parquet.WithDictionaryPath(path, true))
		}
		return pqarrow.NewFileWriter(p.arrow, w, parquet.NewWriterProperties(props...),
			pqarrow.NewArrowWriterProperties())
	}
	for _, f := range schema.Fields {
		p.stats = append(p.stats, newColumnStats(f.Type))
	}
	return p, nil
}

// stored is a schema with the types that stand in a file: Spark keeps day-time
// intervals as bigint and year-month ones as int.
func stored(t plan.Type) plan.Type {
	switch t.Kind {
	case plan.KindDayTime:
		return plan.Long
	case plan.KindYearMonth:
		return plan.Int
	case plan.KindArray:
		return plan.Array(stored(*t.Elem), t.ContainsNull)
	case plan.KindMap:
		return plan.Map(stored(*t.Key), stored(*t.Elem), t.ContainsNull)
	case plan.KindStruct:
		fields := make([]plan.Field, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = plan.Field{Name: f.Name, Type: stored(f.Type), Nullable: f.Nullable}
		}
		return plan.Struct(fields...)
	default:
		return t
	}
}

// checkParquetType refuses what Spark cannot write either.
func checkParquetType(t plan.Type, column string) error {
	switch t.Kind {
	case plan.KindNull, plan.KindCalendar, plan.KindVariant:
		return plan.AnalysisError("UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE",
			fmt.Sprintf("Parquet files cannot hold the column %s of type %s.", plan.Quote(column), t.SQL()),
			"columnName", plan.Quote(column), "columnType", "\""+t.SQL()+"\"", "format", "Parquet")
	case plan.KindArray:
		return checkParquetType(*t.Elem, column)
	case plan.KindMap:
		if err := checkParquetType(*t.Key, column); err != nil {
			return err
		}
		return checkParquetType(*t.Elem, column)
	case plan.KindStruct:
		for _, f := range t.Fields {
			name := column
			if name == "" {
				name = f.Name
			}
			if err := checkParquetType(f.Type, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// Append writes the rows of a chunk, which must not change before Close.
func (p *ParquetWriter) Append(c *chunk.Chunk) error {
	if c.Rows == 0 {
		return nil
	}
	for i, v := range c.Cols {
		p.stats[i].add(v)
	}
	p.rows += int64(c.Rows)
	if p.file != nil {
		return p.write(c)
	}
	p.early = append(p.early, c)
	p.earlyRows += c.Rows
	if p.earlyRows < sampleRows {
		return nil
	}
	return p.open()
}

// open begins the file with what has come so far.
func (p *ParquetWriter) open() error {
	var err error
	if p.file, err = p.begin(repetitive(p.schema, p.early)); err != nil {
		return fmt.Errorf("begin a Parquet file: %w", err)
	}
	for _, c := range p.early {
		if err := p.write(c); err != nil {
			return err
		}
	}
	p.early = nil
	return nil
}

func (p *ParquetWriter) write(c *chunk.Chunk) error {
	rec := c.ToArrow(p.arrow)
	defer rec.Release()
	if err := p.file.WriteBuffered(rec); err != nil {
		return fmt.Errorf("write Parquet rows: %w", err)
	}
	return nil
}

// Close ends the file and says what it holds. The underlying writer stays open.
func (p *ParquetWriter) Close() (ParquetSummary, error) {
	if p.file == nil {
		if err := p.open(); err != nil {
			return ParquetSummary{}, err
		}
	}
	err := errors.Join(
		p.file.AppendKeyValueMetadata("org.apache.spark.version", "4.3.0"),
		p.file.AppendKeyValueMetadata(rowMetadata, p.schema.JSON()),
		p.file.Close())
	if err != nil {
		return ParquetSummary{}, fmt.Errorf("end a Parquet file: %w", err)
	}
	s := ParquetSummary{Rows: p.rows}
	for _, c := range p.stats {
		s.Columns = append(s.Columns, c.summary())
	}
	return s, nil
}
