package file

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec/avro"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

func Avro() *connector.Format {
	k := &kind{
		name:  "avro",
		title: "Avro",
		alias: "avro.AvroFileFormat",
		doc:   "records, typed by the schema in each file",
		options: connector.Options([][3]string{
			{"avroSchema", "", "an Avro schema: what files are read as, or what they are written with"},
			{"positionalFieldMatching", "false", "whether columns are fields by their place, not by their names"},
			{"ignoreExtension", "true", "whether files that are not called .avro are read too"},
			{"datetimeRebaseMode", "CORRECTED", "old dates: CORRECTED, LEGACY (Julian until 1582) or EXCEPTION"},
			{"recursiveFieldMaxDepth", "-1", "how often a record is read within itself, 1 to 15; else it is refused"},
			{"enableStableIdentifiersForUnionType", "false", "whether members of unions are called by their types"},
			{"stableIdentifierPrefixForUnionType", "member_", "what stands before such a name"},
			{"recordName", "topLevelRecord", "written files: the name of the records"},
			{"recordNamespace", "", "written files: its namespace"},
		}),
		reads:  avroHolds,
		writes: avroHolds,
		names:  avroName,
		infer:  inferAvro,
		check: func(env *connector.Env, o plan.Options) error {
			_, err := avroReading(env, o)
			return err
		},
		decode: decodeAvro,
		suffix: func(env *connector.Env, o plan.Options) (string, error) { return avro.Suffix(avroCodec(env, o)) },
		encode: encodeAvro,
	}
	f := k.format()
	f.Aliases = append(f.Aliases, "org.apache.spark.sql.avro.AvroFileFormat", "com.databricks.spark.avro")
	return f
}

func avroHolds(t plan.Type) bool {
	return everyPart(t, func(t plan.Type) bool {
		return t.Kind != plan.KindCalendar && t.Kind != plan.KindVariant && t.Kind != plan.KindTime
	})
}

// avroName reports whether Java's library takes a name.
func avroName(name string) bool {
	for i, r := range name {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return name != ""
}

// avroJob is what the options of a reader say.
type avroJob struct {
	types avro.TypeOptions
	read  avro.ReadOptions
	all   bool // files without .avro too
}

// avroBool is an option as Spark's data source reads it.
func avroBool(o plan.Options, key string, otherwise bool) (bool, error) {
	b, err := connector.BoolOption(o, key, otherwise)
	if err != nil {
		text, _ := o.Get(key)
		err = avroOption(key, fmt.Sprintf("Cannot cast value '%s' to Boolean.", text))
	}
	return b, err
}

func avroOption(key, why string) error {
	return plan.AnalysisError("STDS_INVALID_OPTION_VALUE.WITH_MESSAGE",
		fmt.Sprintf("The option %s: %s", key, why), "optionName", key, "message", why)
}

func avroReading(env *connector.Env, o plan.Options) (*avroJob, error) {
	job := &avroJob{}
	job.read.Zone = env.Eval.Zone
	job.read.CaseSensitive = connector.ConfBool(env, "spark.sql.caseSensitive", false)
	var err error
	if job.read.Schema, err = avroSchema(o); err != nil {
		return nil, err
	}
	for _, b := range []struct {
		key       string
		to        *bool
		otherwise bool
	}{
		{"positionalFieldMatching", &job.read.Positional, false},
		{"ignoreExtension", &job.all, true},
		{"enableStableIdentifiersForUnionType", &job.types.StableUnions, false},
	} {
		if *b.to, err = avroBool(o, b.key, b.otherwise); err != nil {
			return nil, err
		}
	}
	if job.types.Depth, err = connector.IntOption(o, "recursiveFieldMaxDepth", -1); err != nil {
		return nil, err
	}
	if job.types.Depth > avro.MaxDepth {
		return nil, avroOption("recursiveFieldMaxDepth", "Should not be greater than 15.")
	}
	job.types.Prefix, _ = o.Get("stableIdentifierPrefixForUnionType")
	if connector.ConfBool(env, "spark.sql.legacy.avro.allowIncompatibleSchema", false) {
		return nil, plan.Unsupported("spark.sql.legacy.avro.allowIncompatibleSchema=true")
	}
	mode, ok := o.Get("datetimeRebaseMode")
	if !ok {
		mode = env.Conf("spark.sql.avro.datetimeRebaseModeInRead")
	}
	job.read.Rebase = avro.Rebase(strings.ToUpper(mode))
	return job, nil
}

// avroSchema is that of the options, nil when they have none.
func avroSchema(o plan.Options) (*avro.Schema, error) {
	if _, ok := o.Get("avroSchemaUrl"); ok {
		return nil, plan.Unsupported("the option avroSchemaUrl (the schema itself goes into avroSchema)")
	}
	text, ok := o.Get("avroSchema")
	if !ok {
		return nil, nil
	}
	return avro.ParseSchema(text)
}

func inferAvro(_ context.Context, job *readJob, files []dataFile) (plan.Type, bool, error) {
	o, err := avroReading(job.env, job.options)
	if err != nil {
		return plan.Type{}, false, err
	}
	if o.read.Schema != nil {
		t, err := o.read.Schema.Columns(o.types)
		return t, true, err
	}
	corrupt := connector.ConfBool(job.env, "spark.sql.files.ignoreCorruptFiles", false)
	if corrupt, err = connector.BoolOption(job.options, "ignoreCorruptFiles", corrupt); err != nil {
		return plan.Type{}, false, err
	}
	for _, f := range files {
		if !o.all && !strings.HasSuffix(f.name(), ".avro") {
			continue
		}
		s, err := avroSchemaOf(f)
		if err == nil {
			t, err := s.Columns(o.types)
			return t, true, err
		}
		if !corrupt {
			return plan.Type{}, false, fmt.Errorf("read %s: %w", f.uri(), err)
		}
		job.env.Warnf("The file %s is skipped: %v", f.uri(), err)
	}
	return plan.Type{}, false, &plan.Error{Class: "java.io.FileNotFoundException",
		Msg: "There is no Avro file from which to take a schema; files that are not called .avro count " +
			"with the option ignoreExtension=true."}
}

func avroSchemaOf(f dataFile) (*avro.Schema, error) {
	in, err := f.loc.FS.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	file, err := avro.OpenFile(in)
	if err != nil {
		return nil, err
	}
	return file.Schema(), nil
}

func decodeAvro(ctx context.Context, job *readJob, name string, file vfs.Reader) chunk.Rows {
	o, err := avroReading(job.env, job.options)
	if err != nil {
		return chunk.Fail(err)
	}
	if !o.all && !strings.HasSuffix(name, ".avro") {
		return func(func(*chunk.Chunk, error) bool) {}
	}
	f, err := avro.OpenFile(file)
	if err != nil {
		return chunk.Fail(err)
	}
	want := job.want
	if o.read.Positional {
		return positional(f.Rows(ctx, job.schema, o.read), job.schema, want)
	}
	return f.Rows(ctx, want, o.read)
}

// positional picks the wanted columns of rows that were read whole, because the
// place of a column among all of them says which field it is.
func positional(rows chunk.Rows, all, want plan.Type) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		for c, err := range rows {
			if err != nil {
				yield(nil, err)
				return
			}
			out := &chunk.Chunk{Rows: c.Rows}
			for _, f := range want.Fields {
				out.Cols = append(out.Cols, c.Cols[connector.FieldIndex(all, f.Name)])
			}
			if !yield(out, nil) {
				return
			}
		}
	}
}

func avroCodec(env *connector.Env, o plan.Options) string {
	name, ok := o.Get("compression")
	if !ok {
		name = env.Conf("spark.sql.avro.compression.codec")
	}
	if name == "" {
		name = "snappy"
	}
	return strings.ToLower(name)
}

func encodeAvro(job *writeJob, w io.Writer) (encoder, error) {
	opts := avro.FileOptions{Codec: avroCodec(job.env, job.options)}
	opts.CaseSensitive = connector.ConfBool(job.env, "spark.sql.caseSensitive", false)
	if mode := job.env.Conf("spark.sql.avro.datetimeRebaseModeInWrite"); mode != "" &&
		mode != string(avro.RebaseNone) {
		return nil, plan.Unsupported("spark.sql.avro.datetimeRebaseModeInWrite=" + mode)
	}
	var err error
	if opts.Schema, err = avroSchema(job.options); err != nil {
		return nil, err
	}
	if opts.Positional, err = avroBool(job.options, "positionalFieldMatching", false); err != nil {
		return nil, err
	}
	opts.Name, _ = job.options.Get("recordName")
	opts.Space, _ = job.options.Get("recordNamespace")
	if opts.Codec == "deflate" || opts.Codec == "zstandard" {
		opts.Level = int(connector.ConfInt(job.env, "spark.sql.avro."+opts.Codec+".level", 0))
	}
	if _, err := rand.Read(opts.Sync[:]); err != nil {
		return nil, fmt.Errorf("make a sync marker: %w", err)
	}
	out, err := avro.NewFileWriter(w, job.schema, opts)
	if err != nil {
		return nil, err
	}
	return out, nil
}
