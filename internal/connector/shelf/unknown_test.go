package shelf

import (
	"testing"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
)

func TestUnknownOptions(t *testing.T) {
	for _, c := range []struct {
		name, format string
		options      plan.Options
		want         []string
		err          string
	}{
		{name: "none", format: "json"},
		{name: "known ones in any case", format: "json",
			options: plan.Options{"MAXFILESPERTRIGGER": "1", "path": "x", "checkpointlocation": "y", "queryname": "q"}},
		{name: "groups", format: "kafka", options: plan.Options{"kafka.sasl.mechanism": "PLAIN", "subscribe": "t"}},
		{name: "table properties", format: "delta", options: plan.Options{"delta.appendOnly": "true"}},
		{name: "one that is misspelt", format: "json", options: plan.Options{"maxFilePerTrigger": "1"},
			want: []string{"the option maxFilePerTrigger has no effect: json does not know it; " +
				"the nearest is maxFilesPerTrigger"}},
		{name: "one of another format", format: "rate", options: plan.Options{"subscribe": "t", "rowsPerSecond": "1"},
			want: []string{"the option subscribe has no effect: rate does not know it"}},
		{name: "a misspelt one of weir's", format: "delta", options: plan.Options{"weir.delta.upsrt": "true"},
			err: "weir.delta.upsrt is no option of delta; the nearest is weir.delta.upsert."},
		{name: "one of weir's where there is none", format: "rate", options: plan.Options{"weir.delta.upsert": "true"},
			err: "weir.delta.upsert is no option of rate, which has none of weir's own."},
	} {
		f, _ := Lookup(c.format)
		got, err := f.UnknownOptions(c.options)
		testkit.Diff(t, c.name, got, c.want)
		text := ""
		if err != nil {
			text = err.Error()
		}
		testkit.Diff(t, c.name, text, c.err)
	}
}
