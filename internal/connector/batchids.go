package connector

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
)

// BatchIDs lists the batch ids that the files of a log are named by, ascending; a
// missing directory has none. Other names are ignored, as Spark does.
func BatchIDs(place Place) ([]int64, error) {
	infos, err := place.FS.List(place.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", place.Dir, err)
	}
	var ids []int64
	for _, info := range infos {
		if id, ok := BatchID(info.Name); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// BatchID reads the name of a log file.
func BatchID(name string) (int64, bool) {
	id, err := strconv.ParseInt(name, 10, 64)
	return id, err == nil && id >= 0 && strconv.FormatInt(id, 10) == name
}
