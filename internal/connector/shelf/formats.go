package shelf

import (
	"strings"
	"sync"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/connector/deltatable"
	"github.com/weir-dev/weir/internal/connector/file"
	"github.com/weir-dev/weir/internal/connector/kafka"
	"github.com/weir-dev/weir/internal/connector/statereader"
)

// shelf lists every format, sorted by name.
var shelf = sync.OnceValue(func() []*connector.Format {
	return []*connector.Format{
		file.Avro(),
		consoleFormat(),
		file.CSV(),
		deltatable.Format(),
		file.JSON(),
		kafka.Format(),
		memoryFormat(),
		noopFormat(),
		file.Parquet(),
		rateFormat(),
		ratePerBatchFormat(),
		socketFormat(),
		statereader.Metadata(),
		statereader.Store(),
		file.Text(),
	}
})

// Formats is every format that weir knows, sorted by name.
func Formats() []*connector.Format { return shelf() }

// Lookup finds a format by its short name or by the name of Spark's class, in
// any case.
func Lookup(name string) (*connector.Format, bool) {
	for _, f := range shelf() {
		if strings.EqualFold(f.Name, name) {
			return f, true
		}
		for _, alias := range f.Aliases {
			if strings.EqualFold(alias, name) {
				return f, true
			}
		}
	}
	return nil, false
}
