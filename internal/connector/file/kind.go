package file

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// kind is what tells one file format from another. Everything else, from
// listing to logs, they share.
type kind struct {
	name  string // short name: json
	title string // as errors write it: JSON
	alias string // the last parts of Spark's class names
	doc   string

	options []connector.Option

	// fixed is the schema of a format that needs none from the user (text).
	fixed *plan.Type
	// reads and writes report whether a column of a type can be.
	reads, writes func(plan.Type) bool
	// shape checks the data columns together; nil when any will do.
	shape func(schema plan.Type) error
	// names reports whether a column may be called so in a written file; nil when
	// every name will do.
	names func(name string) bool
	// stated is the schema that options say, or the given one if they agree; false when they say
	// none. Nil for formats without such options.
	stated func(env *connector.Env, o plan.Options, given *plan.Type) (plan.Type, bool, error)
	// infer finds a schema; false when the files do not say one.
	infer func(ctx context.Context, job *readJob, files []dataFile) (plan.Type, bool, error)
	// check refuses options that no file can be read with, before one is opened; nil
	// when any will do.
	check func(env *connector.Env, o plan.Options) error
	// decode yields the rows of a file, columns as in job.want.
	decode func(ctx context.Context, job *readJob, name string, file vfs.Reader) chunk.Rows
	// suffix is the end of the names of written files; it checks the compression.
	suffix func(env *connector.Env, o plan.Options) (string, error)
	// encode begins a file.
	encode func(job *writeJob, w io.Writer) (encoder, error)
}

// readJob is what a decoder needs to know. It serves one goroutine.
type readJob struct {
	env     *connector.Env
	options plan.Options
	want    plan.Type // the columns to read
	schema  plan.Type // all data columns that the user or the files declare
	// attrs are the columns of want, and filters conditions over them that rows
	// may be left out for.
	attrs   []*plan.Attribute
	filters []plan.Expr
}

// writeJob is the same for an encoder.
type writeJob struct {
	env     *connector.Env
	options plan.Options
	schema  plan.Type
}

// encoder writes chunks into one file. Close ends the format, not the file.
type encoder interface {
	Write(c *chunk.Chunk) error
	Close() error
}

// readerOptions are those that every file format has when it is read.
var readerOptions = connector.Options([][3]string{
	{"path", "", "a file, a directory or a glob"},
	{"pathGlobFilter", "", "a glob that the names of files must match"},
	{"recursiveFileLookup", "false", "whether folders are read too, whatever they are called"},
	{"modifiedBefore", "", "only files that are older than this time; not for streams"},
	{"modifiedAfter", "", "only files that are newer than this time; not for streams"},
	{"ignoreCorruptFiles", "false", "whether files that cannot be read are skipped"},
	{"ignoreMissingFiles", "false", "whether files that vanish are skipped"},
	{"maxFilesPerTrigger", "", "streams: most files of a batch"},
	{"maxBytesPerTrigger", "", "streams: most bytes of a batch; one file is always taken"},
	{"latestFirst", "false", "streams: whether new files come before old ones"},
	{"maxFileAge", "7d", "streams: files this much older than the newest are left out"},
	{"fileNameOnly", "false", "streams: whether files of one name in several folders are one file"},
	{"maxCachedFiles", "10000", "streams: files of a listing that are kept for later batches"},
	{"discardCachedInputRatio", "0.2", "streams: share of a batch below which a listing is made anew"},
	{"cleanSource", "off", "streams: off, delete or archive files that were read"},
	{"sourceArchiveDir", "", "streams: where cleanSource=archive moves them"},
})

// writerOptions are those that every file format has when it is written.
var writerOptions = connector.Options([][3]string{
	{"compression", "", "written files: the codec"},
	{"maxRecordsPerFile", "0", "written files: most rows of one, 0 for any number"},
	{"partitionOverwriteMode", "static", "dynamic: an overwrite replaces only the partitions that it writes"},
	{"retention", "", "written streams: how long the sink's log keeps files, as 7d"},
})

func (k *kind) format() *connector.Format {
	return &connector.Format{
		Name: k.name,
		Aliases: []string{
			"org.apache.spark.sql.execution.datasources." + k.alias,
			"org.apache.spark.sql.execution.datasources." + k.name,
		},
		Doc:      k.doc,
		Options:  slices.Concat(readerOptions, writerOptions, k.options),
		Metadata: []plan.Field{metadata()},
		Describe: k.describe, Scan: k.scan, Source: k.openSource,
		Sink: k.openSink, SinkMode: k.checkMode, Write: k.write,
	}
}

// describe finds schema and partition columns.
func (k *kind) describe(ctx context.Context, env *connector.Env, r *plan.Read) (*plan.Relation, error) {
	paths := connector.ReadPaths(r)
	if len(paths) == 0 && r.Streaming {
		return nil, plan.NewError(plan.ClassIllegal, "_LEGACY_ERROR_TEMP_2047", "The option path is missing.")
	}
	tree, err := newTree(env, paths, r.Options)
	if err != nil {
		return nil, err
	}
	if r.Streaming {
		if err := k.checkStream(env, tree, r); err != nil {
			return nil, err
		}
	}
	files, err := tree.list(!r.Streaming)
	if err != nil {
		return nil, err
	}
	rel := &plan.Relation{Format: k.name, Options: r.Options, Paths: paths}
	if !r.Streaming {
		rel.Listing = tree.listing(files)
	}
	return rel, k.fillSchema(ctx, env, r, rel, files)
}

// checkStream is what Spark checks of a streaming read when it is loaded.
func (k *kind) checkStream(env *connector.Env, tree *tree, r *plan.Read) error {
	root := tree.roots[0]
	if !vfs.HasGlob(root.Path) {
		if _, err := root.FS.Stat(root.Path); vfs.NotFound(err) {
			e := pathNotFound(tree.text[0])
			if text := tree.text[0]; !path.IsAbs(text) && !strings.Contains(text, ":") {
				e.Hint = "It was looked for at " + root.Text(root.Path) + "."
			}
			return e
		} else if err != nil {
			return connector.PathError(tree.text[0], err)
		}
	}
	infers := connector.ConfBool(env, "spark.sql.streaming.schemaInference", false)
	if _, known, err := k.known(env, r); err != nil {
		return err
	} else if !known && !infers {
		return plan.NewError(plan.ClassIllegal, "_LEGACY_ERROR_TEMP_2048",
			"A stream of files needs a schema: give one, or let spark.read find it in files that exist already.")
	}
	return nil
}

func (k *kind) noSchema() *plan.Error {
	return plan.AnalysisError("UNABLE_TO_INFER_SCHEMA",
		fmt.Sprintf("No file says a schema for %s; give one.", k.title), "format", k.title)
}

func (k *kind) fillSchema(
	ctx context.Context, env *connector.Env, r *plan.Read, rel *plan.Relation, files []dataFile,
) error {
	look := newPartLook(env)
	var parts []plan.Field
	if recursive, _ := connector.BoolOption(r.Options, "recursiveFileLookup", false); !recursive {
		var err error
		if parts, err = discover(files, r.Schema, look); err != nil {
			return err
		}
	}
	data, err := k.dataSchema(ctx, env, r, files)
	if err != nil {
		return err
	}
	fields := slices.DeleteFunc(slices.Clone(data.AsNullable().Fields), func(f plan.Field) bool {
		return slices.ContainsFunc(parts, func(p plan.Field) bool { return look.same(p.Name, f.Name) })
	})
	if err := k.checkRead(fields); err != nil {
		return err
	}
	for _, p := range parts {
		rel.Partitions = append(rel.Partitions, p.Name)
	}
	rel.Schema = plan.Struct(append(fields, parts...)...)
	return checkDuplicates(rel.Schema, look)
}

func (k *kind) dataSchema(
	ctx context.Context, env *connector.Env, r *plan.Read, files []dataFile,
) (plan.Type, error) {
	if t, known, err := k.known(env, r); known || err != nil {
		return t, err
	}
	files = slices.DeleteFunc(slices.Clone(files), func(f dataFile) bool { return !isData(f.name()) })
	schema, ok, err := k.infer(ctx, &readJob{env: env, options: r.Options}, files)
	if err == nil && !ok {
		err = k.noSchema()
	}
	return schema, err
}

// known is the schema that is not found in files; false when there is none.
func (k *kind) known(env *connector.Env, r *plan.Read) (plan.Type, bool, error) {
	if k.stated != nil {
		if t, ok, err := k.stated(env, r.Options, r.Schema); ok || err != nil {
			return t, ok, err
		}
	}
	switch {
	case r.Schema != nil:
		return *r.Schema, true, nil
	case k.fixed != nil:
		return *k.fixed, true, nil
	}
	return plan.Type{}, false, nil
}

func (k *kind) checkRead(fields []plan.Field) error {
	for _, f := range fields {
		if !k.reads(f.Type) {
			return k.badColumn(f)
		}
	}
	return nil
}

// checkWrite refuses columns that the format cannot hold.
func (k *kind) checkWrite(schema plan.Type) error {
	if emptySchema(schema) {
		return plan.AnalysisError("EMPTY_SCHEMA_NOT_SUPPORTED_FOR_DATASOURCE",
			fmt.Sprintf("%s files need at least one column.", k.title), "format", k.title)
	}
	for _, f := range schema.Fields {
		if !k.writes(f.Type) {
			return k.badColumn(f)
		}
		if k.names != nil && !k.names(f.Name) {
			return plan.AnalysisError("INVALID_COLUMN_NAME_AS_PATH",
				fmt.Sprintf("%s files cannot have a column called %s: give it another name.", k.title, f.Name),
				"datasource", k.title+"FileFormat", "columnName", plan.QuoteParts(strings.Split(f.Name, ".")))
		}
	}
	if k.shape != nil {
		return k.shape(schema)
	}
	return nil
}

// emptySchema reports whether a struct, or a struct that is one of its fields, has no fields.
func emptySchema(t plan.Type) bool {
	return len(t.Fields) == 0 || slices.ContainsFunc(t.Fields, func(f plan.Field) bool {
		return f.Type.Kind == plan.KindStruct && emptySchema(f.Type)
	})
}

func (k *kind) badColumn(f plan.Field) *plan.Error {
	return plan.AnalysisError("UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE",
		fmt.Sprintf("%s files cannot hold the column %s of type %s.", k.title, f.Name, f.Type.Simple()),
		"columnName", plan.QuoteParts(strings.Split(f.Name, ".")), "columnType", `"`+f.Type.SQL()+`"`, "format",
		k.title)
}

func checkDuplicates(schema plan.Type, look *partLook) error {
	for i, f := range schema.Fields {
		for _, g := range schema.Fields[:i] {
			if look.same(f.Name, g.Name) {
				return plan.AnalysisError("COLUMN_ALREADY_EXISTS",
					fmt.Sprintf("The column %s occurs twice.", f.Name), "columnName", plan.Quote(strings.ToLower(g.Name)))
			}
		}
	}
	return nil
}

// scan reads all files once.
func (k *kind) scan(ctx context.Context, env *connector.Env, s *plan.Scan) chunk.Rows {
	reader, err := newReader(env, k, s)
	if err != nil {
		return chunk.Fail(err)
	}
	tree, err := newTree(env, s.Relation.Paths, s.Relation.Options)
	if err != nil {
		return chunk.Fail(err)
	}
	if s.Relation.Listing != nil {
		return reader.rows(ctx, tree.listed(s.Relation.Listing))
	}
	files, err := tree.list(true)
	if err != nil {
		return chunk.Fail(err)
	}
	return reader.rows(ctx, files)
}
