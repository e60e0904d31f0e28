package connector

import (
	"strings"
	"sync"
)

// shelf lists every format, sorted by name.
var shelf = sync.OnceValue(func() []*Format {
	return []*Format{
		avroFormat(),
		consoleFormat(),
		csvFormat(),
		deltaFormat(),
		jsonFormat(),
		kafkaFormat(),
		memoryFormat(),
		noopFormat(),
		parquetFormat(),
		rateFormat(),
		ratePerBatchFormat(),
		socketFormat(),
		stateMetadataFormat(),
		stateFormat(),
		textFormat(),
	}
})

// Formats is every format that weir knows, sorted by name.
func Formats() []*Format { return shelf() }

// Lookup finds a format by its short name or by the name of Spark's class, in
// any case.
func Lookup(name string) (*Format, bool) {
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
