package sparkconnect

import "github.com/weir-dev/weir/internal/plan"

// parents is the superclass of each Java class that errors are sent with; the
// client picks its exception by the first name of the chain that it knows.
var parents = map[string]string{
	plan.ClassAnalysis:         "java.lang.Exception",
	plan.ClassExtendedAnalysis: plan.ClassAnalysis,
	plan.ClassParse:            plan.ClassAnalysis,
	plan.ClassArithmetic:       "java.lang.ArithmeticException",
	plan.ClassNumberFormat:     "java.lang.NumberFormatException",
	plan.ClassDateTime:         "java.time.DateTimeException",
	plan.ClassArrayIndex:       "java.lang.ArrayIndexOutOfBoundsException",
	plan.ClassRuntime:          "java.lang.RuntimeException",
	plan.ClassSpark:            "java.lang.Exception",
	plan.ClassIllegal:          plan.ClassJavaIllegal,
	plan.ClassUnsupported:      plan.ClassJavaUnsupported,
	plan.ClassNoSuchElement:    "java.util.NoSuchElementException",
	plan.ClassUpgrade:          "java.lang.RuntimeException",
	plan.ClassClassNotFound:    "java.lang.ClassNotFoundException",
	plan.ClassInvalidPlan:      "java.lang.Exception",
	plan.ClassInvalidCommand:   "java.lang.Exception",
	plan.ClassStreamingQuery:   "java.lang.Exception",
	plan.ClassSparkSQL:         "java.sql.SQLException",
	plan.ClassPython:           "java.lang.RuntimeException",
	plan.ClassJavaIllegal:      "java.lang.RuntimeException",
	plan.ClassJavaState:        "java.lang.RuntimeException",
	plan.ClassJavaUnsupported:  "java.lang.RuntimeException",

	"org.apache.spark.sql.catalyst.analysis.DatabaseAlreadyExistsException": namespaceExists,
	namespaceExists: plan.ClassAnalysis,
	"org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException": noSuchDatabase,
	noSuchDatabase: plan.ClassAnalysis,
	"org.apache.spark.sql.catalyst.analysis.TempTableAlreadyExistsException": plan.ClassAnalysis,
	"org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException":     plan.ClassAnalysis,
	"org.apache.spark.sql.catalyst.analysis.NoSuchTableException":            plan.ClassAnalysis,
	"org.apache.spark.sql.connector.catalog.CatalogNotFoundException":        plan.ClassSpark,
	classConcurrent: concurrentModification,
	"org.apache.spark.sql.kafka010.KafkaIllegalStateException":    plan.ClassJavaState,
	"org.apache.spark.sql.kafka010.KafkaIllegalArgumentException": plan.ClassJavaIllegal,
	"org.apache.kafka.common.config.ConfigException":              "org.apache.kafka.common.KafkaException",
	"org.apache.kafka.common.KafkaException":                      "java.lang.RuntimeException",
	"java.util.regex.PatternSyntaxException":                      plan.ClassJavaIllegal,
	"org.apache.spark.SparkFileNotFoundException":                 "java.io.FileNotFoundException",
	"org.apache.spark.SparkFileAlreadyExistsException":            fileExists,

	deltaPackage + "DeltaAnalysisException":                  plan.ClassAnalysis,
	deltaPackage + "DeltaAnalysisExceptionWithSubErrors":     plan.ClassAnalysis,
	deltaPackage + "DeltaIllegalStateException":              plan.ClassJavaState,
	deltaPackage + "DeltaIllegalArgumentException":           plan.ClassJavaIllegal,
	deltaPackage + "DeltaUnsupportedOperationException":      plan.ClassJavaUnsupported,
	deltaPackage + "DeltaUnsupportedTableFeatureException":   plan.ClassJavaUnsupported,
	deltaPackage + "ColumnMappingUnsupportedException":       plan.ClassJavaUnsupported,
	deltaPackage + "schema.DeltaInvariantViolationException": "java.lang.RuntimeException",
	deltaPackage + "DeltaArithmeticException":                "java.lang.ArithmeticException",
	"io.delta.exceptions.ConcurrentAppendException":          concurrentModification,
	"io.delta.exceptions.ConcurrentDeleteDeleteException":    concurrentModification,
	"io.delta.exceptions.ConcurrentDeleteReadException":      concurrentModification,
	"io.delta.exceptions.ConcurrentWriteException":           concurrentModification,
	"io.delta.exceptions.ConcurrentTransactionException":     concurrentModification,
	"io.delta.exceptions.MetadataChangedException":           concurrentModification,
	"io.delta.exceptions.ProtocolChangedException":           concurrentModification,

	"java.lang.ArithmeticException":            "java.lang.RuntimeException",
	"java.lang.NumberFormatException":          plan.ClassJavaIllegal,
	"java.lang.ArrayIndexOutOfBoundsException": "java.lang.IndexOutOfBoundsException",
	"java.lang.IndexOutOfBoundsException":      "java.lang.RuntimeException",
	"java.lang.ClassNotFoundException":         "java.lang.ReflectiveOperationException",
	"java.lang.ReflectiveOperationException":   "java.lang.Exception",
	"java.lang.RuntimeException":               "java.lang.Exception",
	"java.lang.AssertionError":                 "java.lang.Error",
	"java.lang.Error":                          "java.lang.Throwable",
	"java.time.DateTimeException":              "java.lang.RuntimeException",
	"java.util.NoSuchElementException":         "java.lang.RuntimeException",
	concurrentModification:                     "java.lang.RuntimeException",
	"java.sql.SQLException":                    "java.lang.Exception",
	"java.io.FileNotFoundException":            "java.io.IOException",
	fileExists:                                 "java.io.IOException",
	"java.io.IOException":                      "java.lang.Exception",
	"java.lang.Exception":                      "java.lang.Throwable",
	"java.lang.Throwable":                      "java.lang.Object",
}

const (
	deltaPackage           = "org.apache.spark.sql.delta."
	namespaceExists        = "org.apache.spark.sql.catalyst.analysis.NamespaceAlreadyExistsException"
	classConcurrent        = "org.apache.spark.SparkConcurrentModificationException"
	fileExists             = "org.apache.hadoop.fs.FileAlreadyExistsException"
	concurrentModification = "java.util.ConcurrentModificationException"
	noSuchDatabase         = "org.apache.spark.sql.catalyst.analysis.NoSuchDatabaseException"
)

// hierarchy is a class and all its superclasses. A class that is not listed is
// taken for a direct Exception.
func hierarchy(class string) []string {
	chain := []string{class}
	for class != "java.lang.Object" {
		next, ok := parents[class]
		if !ok {
			next = "java.lang.Exception"
		}
		chain = append(chain, next)
		class = next
	}
	return chain
}
