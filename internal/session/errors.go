package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/catalog"
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

const (
	classTempExists    = "org.apache.spark.sql.catalyst.analysis.TempTableAlreadyExistsException"
	classTableExists   = "org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException"
	classNoSuchCatalog = "org.apache.spark.sql.connector.catalog.CatalogNotFoundException"
)

// said gives errors about paths the form of users' mistakes, which they are.
func said(err error) error {
	var e *plan.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	var scheme *vfs.SchemeError
	var bad *vfs.PathError
	var confined *vfs.ConfinedError
	var volume *vfs.VolumeError
	switch {
	case errors.As(err, &scheme):
		e = plan.Unsupported("The file system of " + scheme.Path)
		e.Hint = mountHint
	case errors.As(err, &bad), errors.As(err, &volume):
		e = plan.IllegalArgument("%s.", err)
	case errors.As(err, &confined):
		e = &plan.Error{Class: "java.lang.SecurityException", Msg: err.Error() + "."}
	default:
		return err
	}
	e.Cause = err
	return e
}

// saidRows is said for the errors of rows.
func saidRows(rows chunk.Rows) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		for c, err := range rows {
			if !yield(c, said(err)) || err != nil {
				return
			}
		}
	}
}

// mountHint is the way to the files of other file systems; docs/NON-GOALS.md says why.
const mountHint = "Mount it, or copy its files to a local disk."

// sparksFormats are those that Apache Spark brings along and weir has not: the
// program is right, only not here.
var sparksFormats = []string{"binaryfile", "image", "jdbc", "libsvm", "orc", "xml"}

func noSuchFormat(name string) *plan.Error {
	if strings.EqualFold(name, "cloudFiles") {
		e := plan.Unsupported("The source cloudFiles, which lists cloud stores,")
		e.Hint = mountHint + " The sources json, csv, parquet and the others find new files there."
		return e
	}
	if slices.Contains(sparksFormats, strings.ToLower(name)) {
		return plan.Unsupported("The format " + name)
	}
	return plan.NewError(plan.ClassClassNotFound, "DATA_SOURCE_NOT_FOUND",
		fmt.Sprintf("weir knows no format %q.", name), "provider", name)
}

// noSuchSink is noSuchFormat for a streaming sink: of Spark's own formats some
// cannot be streamed to there either.
func noSuchSink(name string) *plan.Error {
	if slices.Contains([]string{"binaryfile", "image", "jdbc", "libsvm"}, strings.ToLower(name)) {
		return notStreamed(name, "writing")
	}
	return noSuchFormat(name)
}

// notStreamed refuses a format that cannot be streamed from or to; operator is
// reading or writing.
func notStreamed(format, operator string) *plan.Error {
	return plan.NewError(plan.ClassUnsupported, "_LEGACY_ERROR_TEMP_2049",
		fmt.Sprintf("The format %s does not support streamed %s.", format, operator),
		"className", format, "operator", operator)
}

// singlePart refuses a name of more parts than spark_catalog has.
func singlePart(parts []string) *plan.Error {
	return plan.AnalysisError("REQUIRES_SINGLE_PART_NAMESPACE",
		fmt.Sprintf("%s is no name of %s: it needs one schema and one name.",
			plan.QuoteParts(parts), catalog.SparkCatalog),
		"sessionCatalog", catalog.SparkCatalog, "identifier", plan.QuoteParts(parts))
}

func catalogNotFound(name string) *plan.Error {
	return plan.NewError(classNoSuchCatalog, "CATALOG_NOT_FOUND",
		fmt.Sprintf("There is no catalog %s.", plan.Quote(name)), "catalogName", plan.Quote(name))
}

func tempViewExists(name []string) *plan.Error {
	return plan.NewError(classTempExists, "TEMP_TABLE_OR_VIEW_ALREADY_EXISTS",
		fmt.Sprintf("There is a temporary view %s already.", plan.QuoteParts(name)),
		"relationName", plan.QuoteParts(name))
}

func tableExists(id plan.TableID) *plan.Error { return nameExists(id.Parts()) }

func nameExists(name []string) *plan.Error {
	return plan.NewError(classTableExists, "TABLE_OR_VIEW_ALREADY_EXISTS",
		fmt.Sprintf("There is a table or view %s already.", plan.QuoteParts(name)),
		"relationName", plan.QuoteParts(name))
}

// forgive drops an error of one of the conditions where the statement says IF [NOT]
// EXISTS. Looking first would not do: another session may be faster.
func forgive(err error, forgiven bool, conditions ...string) error {
	var e *plan.Error
	if forgiven && errors.As(err, &e) && slices.Contains(conditions, e.Condition) {
		return nil
	}
	return err
}

func columnExists(name string) *plan.Error {
	return plan.AnalysisError("COLUMN_ALREADY_EXISTS",
		fmt.Sprintf("The column %s occurs twice.", plan.Quote(name)), "columnName", plan.Quote(name))
}
