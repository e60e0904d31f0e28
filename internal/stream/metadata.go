package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/google/uuid"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

const metadataName = "metadata"

// openMetadata returns the query's id, which the checkpoint keeps for ever:
// sinks tell repeated batches by it. A new checkpoint gets a fresh id; with
// verify, one that has logs but lost its metadata is refused, because a fresh
// id would make idempotent sinks write its last batch again.
func openMetadata(place connector.Place, verify bool) (string, error) {
	name := path.Join(place.Dir, metadataName)
	data, err := connector.ReadChecked(place.FS, name)
	switch {
	case err == nil:
		return parseMetadata(name, data)
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	if verify {
		if err := refuseOrphanLogs(place); err != nil {
			return "", err
		}
	}
	return createMetadata(place, name)
}

func createMetadata(place connector.Place, name string) (string, error) {
	if err := vfs.MkdirDurable(place.FS, place.Dir); err != nil {
		return "", err
	}
	if err := vfs.RemoveChecksum(place.FS, name); err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	id := uuid.NewString()
	data := []byte(`{"id":"` + id + `"}`)
	err := vfs.WriteNew(place.FS, name, data)
	if errors.Is(err, fs.ErrNotExist) { // another start has cleaned up
		err = vfs.WriteNew(place.FS, name, data)
	}
	if errors.Is(err, fs.ErrExist) { // another start was faster
		if data, err = connector.ReadChecked(place.FS, name); err == nil {
			return parseMetadata(name, data)
		}
	}
	if err != nil {
		return "", err
	}
	return id, connector.WriteChecksum(place.FS, name, data)
}

func parseMetadata(name string, data []byte) (string, error) {
	var meta struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal(data, &meta); err != nil {
		return "", damagedMetadata(badJSON(name, err))
	}
	id := strings.Trim(string(meta.ID), `"`)
	switch {
	case meta.ID == nil:
		none := badJSON(name, errors.New("it holds no id"))
		none.Class = "org.json4s.MappingException"
		return "", damagedMetadata(none)
	case uuid.Validate(id) != nil:
		return "", damagedMetadata(plan.IllegalArgument("Invalid UUID string: %s. So %s is damaged", id, name))
	}
	return id, nil
}

// damagedMetadata says what to do about it: nobody knows which query the checkpoint is
// of.
func damagedMetadata(e *plan.Error) *plan.Error {
	e.Hint = `Put the file back from a copy, or write {"id":"…"} with the query's id, which its events and ` +
		"pages showed, into it; a new checkpointLocation starts over."
	return e
}

func refuseOrphanLogs(place connector.Place) error {
	for _, log := range []string{offsetsName, commitsName} {
		ids, err := connector.BatchIDs(below(place, log))
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			continue
		}
		return plan.NewError(plan.ClassRuntime, "STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
			fmt.Sprintf("the checkpoint %s has %s but its metadata file is gone: "+
				"restore the file or use a new checkpoint.", locationText(place), log),
			"checkpointLocation", locationText(place),
		)
	}
	return nil
}
