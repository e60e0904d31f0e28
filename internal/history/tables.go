package history

import (
	"github.com/weir-dev/weir/internal/plan"
)

// A column is one of a table: its unit is "" where the type says it all.
type column struct {
	name          string
	typ           plan.Type
	unit, meaning string
}

// A table is described once, here; docs/history.md is held to it.
type table struct {
	name, comment string
	columns       []column
}

// The tables, by their places in tables.
const (
	queriesTable = iota
	runsTable
	progressTable
	sourcesTable
	stateTable
	operatorsTable
	freshnessTable
	healthTable
	alertsTable
	tableCount
)

// Columns that several tables have.
var (
	dayColumn   = column{"day", plan.Date, "", "UTC day of the row"}
	queryColumn = []column{
		{"query_id", plan.String, "", "id of the query, the same over restarts"},
		{"run_id", plan.String, "", "id of the run, a new one at each start"},
		{"query_name", plan.String, "", "name of the query; NULL without one"},
	}
	batchColumns = []column{
		{"batch_id", plan.Long, "", "batch; the last one of a row of several"},
		{"batches", plan.Long, "batches", "how many batches the row sums up: 1 up to ten a second"},
	}
)

// of puts columns behind those that say when and of which query a row is.
func of(when column, more ...[]column) []column {
	out := append([]column{dayColumn, when}, queryColumn...)
	for _, m := range more {
		out = append(out, m...)
	}
	return out
}

func ended() column { return column{"ended_at", plan.Timestamp, "", "when the batch was committed"} }

// tables lists all of them, in the order of the constants.
func tables() [tableCount]table {
	return [tableCount]table{
		{"queries", "a row for each run, when its sources are known", of(
			column{"at", plan.Timestamp, "", "when the row was made"}, []column{
				{"application", plan.String, "", "name of the program; NULL when it has none"},
				{"sources", plan.String, "", "the inputs, one a line"},
				{"sink", plan.String, "", "the output"},
				{"engine", plan.String, "", "what runs it, with its version"},
				{"settings", plan.String, "",
					"JSON: what the run was started with, by name, without secrets; NULL when not known"},
				{"plan", plan.String, "", "its operators, one a line; NULL when not known"},
			})},
		{"runs", "a row when a run starts, ends or is dismissed; the newest of a run_id counts", of(
			column{"at", plan.Timestamp, "", "when the row was made"}, []column{
				{"state", plan.String, "", "`running`, `stopped` or `failed`"},
				{"started_at", plan.Timestamp, "", "start of the run"},
				{"ended_at", plan.Timestamp, "", "its end; NULL while it runs"},
				{"end_reason", plan.String, "", "why weir stopped it; NULL when its user did or it failed"},
				{"error_condition", plan.String, "", "error condition of a failure"},
				{"error_message", plan.String, "", "message of a failure"},
				{"dismissed_at", plan.Timestamp, "", "when somebody said that its end need not be told; NULL before"},
			})},
		{"progress", "a row for each batch", of(ended(), batchColumns, progressColumns())},
		{"sources", "a row for each source of a batch", of(ended(), batchColumns, []column{
			{"position", plan.Int, "", "place of the source in the plan, from 0"},
			{"description", plan.String, "", "the source as Spark describes it"},
			{"start_offset", plan.String, "", "JSON: where the batch began"},
			{"end_offset", plan.String, "", "JSON: where it ended"},
			{"latest_offset", plan.String, "", "JSON: how far the source reached then"},
			{"input_rows", plan.Long, "rows", "read"},
		})},
		{"state_operators", "a row for each stateful operator of a batch", of(ended(), batchColumns, []column{
			{"position", plan.Int, "", "place of the operator in the plan, from 0 at the sink"},
			{"operator", plan.String, "", "name of the operator, as in Spark"},
			{"rows_total", plan.Long, "rows", "kept after the batch"},
			{"rows_updated", plan.Long, "rows", "changed by the batch"},
			{"rows_removed", plan.Long, "rows", "given up by the batch"},
			{"late_rows", plan.Long, "rows", "that came behind the watermark"},
			{"memory_bytes", plan.Long, "bytes", "held after the batch"},
			{"update_ms", plan.Long, "ms", "summed over tasks"},
			{"removal_ms", plan.Long, "ms", "summed over tasks"},
			{"commit_ms", plan.Long, "ms", "summed over tasks"},
		})},
		{"operators", "a row for each operator of a batch", of(ended(), batchColumns, []column{
			{"position", plan.Int, "", "place of the operator in the plan, from 0"},
			{"operator", plan.String, "", "name of the operator"},
			{"works_on", plan.String, "", "what it works on; NULL where the name says it all"},
			{"time_ms", plan.Double, "ms", "its own time"},
			{"rows", plan.Long, "rows", "that came out of it"},
			{"partitions", plan.Int, "", "how many partitions were timed"},
			{"slowest_partition_ms", plan.Double, "ms", "the longest of them; NULL without any"},
		})},
		{"freshness_1m", "a row for each run and minute in which something was known", freshnessColumns()},
		{"health_events", "a row when the verdict on a query changes", of(
			column{"at", plan.Timestamp, "", "when it was seen"}, []column{
				{"from_state", plan.String, "", "verdict before; NULL for the first"},
				{"to_state", plan.String, "", "verdict from now on"},
				{"reason", plan.String, "", "the cause in a sentence"},
				{"evidence", plan.String, "", "JSON: `why` and `todo`, lists of sentences"},
			})},
		{"alerts", "a row when the state of an alert changes; the newest of an alert_id counts", alertColumns()},
	}
}

func progressColumns() []column {
	return []column{
		{"first_batch_id", plan.Long, "", "the first batch of the row"},
		{"started_at", plan.Timestamp, "", "start of its trigger"},
		{"input_rows", plan.Long, "rows", "read, over all sources"},
		{"output_rows", plan.Long, "rows", "given to the sink; NULL for one that does not count"},
		{"input_rows_per_second", plan.Double, "rows/s", "Spark's rate; NULL in a row of several batches"},
		{"processed_rows_per_second", plan.Double, "rows/s", "input_rows by duration_ms"},
		{"duration_ms", plan.Long, "ms", "of the trigger; the sum in a row of several batches, as below"},
		{"latest_offset_ms", plan.Double, "ms", "asking the sources how far they reach"},
		{"query_planning_ms", plan.Double, "ms", "planning"},
		{"read_ms", plan.Double, "ms", "reading the sources"},
		{"compute_ms", plan.Double, "ms", "computing"},
		{"state_commit_ms", plan.Double, "ms", "making state durable"},
		{"sink_write_ms", plan.Double, "ms", "writing the sink"},
		{"log_commit_ms", plan.Double, "ms", "writing the offset and commit logs"},
		{"late_rows", plan.Long, "rows", "dropped because they came behind the watermark"},
		{"state_bytes", plan.Long, "bytes", "held by stateful operators; NULL without any"},
		{"watermark", plan.Timestamp, "", "in force in the batch; NULL without one"},
		{"capped", plan.Boolean, "", "a read limit kept rows back"},
		{"no_data", plan.Boolean, "", "the batch only cleaned up state"},
	}
}

func freshnessColumns() []column {
	return of(column{"minute", plan.Timestamp, "", "begin of the minute"}, []column{
		{"rows", plan.Long, "rows", "whose age at their commit is known"},
		{"p50_ms", plan.Double, "ms", "median age of these rows when they were committed; NULL without any"},
		{"p95_ms", plan.Double, "ms", "95th percentile"},
		{"p99_ms", plan.Double, "ms", "99th percentile"},
		{"max_ms", plan.Double, "ms", "the oldest"},
		{"sketch", plan.String, "",
			"JSON: `[[seconds, rows], …]`, whose sums over minutes give percentiles of longer times"},
		{"newest_age_ms", plan.Double, "ms", "age of the newest committed row, the worst of the minute"},
		{"oldest_unread_age_ms", plan.Double, "ms", "age of the oldest unread row, the worst of the minute"},
		{"backlog_rows", plan.Double, "rows", "unread rows, the most of the minute"},
		{"arrival_rows_per_second", plan.Double, "rows/s", "newest of the minute"},
	})
}

func alertColumns() []column {
	return []column{
		dayColumn,
		{"at", plan.Timestamp, "", "when the row was made"},
		{"alert_id", plan.String, "", "id of the alert"},
		{"state", plan.String, "", "`pending`, `firing`, `acknowledged` (silenced) or `resolved`"},
		{"severity", plan.String, "", "`critical`, `warning` or `info`"},
		{"rule", plan.String, "", "name of the rule"},
		{"query_id", plan.String, "", "query that it is about"},
		{"query_name", plan.String, "", "its name; NULL without one"},
		{"application", plan.String, "", "its program; NULL when it has no name"},
		{"text", plan.String, "", "the cause in a sentence"},
		{"held_at", plan.Timestamp, "", "since when the condition holds"},
		{"fired_at", plan.Timestamp, "", "when it fired; NULL before"},
		{"ended_at", plan.Timestamp, "", "when it was over; NULL before"},
	}
}

// schema is a table's columns.
func (t *table) schema() plan.Type {
	fields := make([]plan.Field, len(t.columns))
	for i, c := range t.columns {
		comment := c.meaning
		if c.unit != "" {
			comment = c.unit + ": " + c.meaning
		}
		fields[i] = plan.Col(c.name, c.typ).WithComment(comment)
	}
	return plan.Struct(fields...)
}
