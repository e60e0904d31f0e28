package session

import (
	"fmt"
	"path"
	"strings"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/connector/deltatable"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/dml"
)

// place finds the checkpoint, and checks what lies below it.
func (b *streamStart) place(query plan.Node) (connector.Place, bool, error) {
	place, temporary, err := b.checkpoint()
	if err == nil {
		err = b.checkSchemaLogs(query, place)
	}
	return place, temporary, err
}

// checkSchemaLogs refuses schema logs of a query's Delta sources outside of its checkpoint,
// and one that two of them would write.
func (b *streamStart) checkSchemaLogs(query plan.Node, checkpoint connector.Place) error {
	seen := map[string]int{} // the source that writes a log
	var err error
	plan.WalkNodes(query, func(n plan.Node) bool {
		scan, ok := n.(*plan.Scan)
		if err != nil || !ok || !scan.Streaming || scan.Relation.Format != deltaFormat {
			return err == nil
		}
		text := deltatable.SchemaLogOf(scan.Relation.Options)
		if text == "" {
			return true
		}
		err = b.checkSchemaLog(scan, text, checkpoint, seen)
		return err == nil
	})
	return err
}

func (b *streamStart) checkSchemaLog(scan *plan.Scan, text string, checkpoint connector.Place,
	seen map[string]int,
) error {
	loc, err := b.scope.files.Files.Resolve(text)
	if err != nil {
		return err
	}
	table, err := deltatable.Table(b.scope.files, scan.Relation.Paths[0])
	if err != nil {
		return err
	}
	// Delta names the log by the table's path here, not by its id.
	named := deltatable.SchemaLogName(scan.Relation.Options, strings.ReplaceAll(table.Dir, "/", "_"))
	log := path.Join(loc.Path, named)
	switch {
	case !strings.HasPrefix(log, checkpoint.Dir+"/"):
		return dml.Mistake("DELTA_STREAMING_SCHEMA_LOCATION_NOT_UNDER_CHECKPOINT", "22000",
			fmt.Sprintf("The schema log %s has to lie below the query's checkpoint, %s.", text,
				checkpoint.Dir),
			"schemaTrackingLocation", log, "checkpointLocation", "file:"+checkpoint.Dir)
	case seen[log] != 0 && seen[log] != scan.Source:
		return dml.Mistake("DELTA_STREAMING_SCHEMA_LOCATION_CONFLICT", "22000",
			fmt.Sprintf("Two sources of the query have the schema log %s; give each its own, or a "+
				"streamingSourceTrackingId.", text), "loc", log, "table", table.Dir)
	}
	seen[log] = scan.Source
	return nil
}
