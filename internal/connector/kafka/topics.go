package kafka

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/connector/kafka/client"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

const topicIDsFile = "topic-ids"

func sortPartitions(list []client.Partition) { slices.SortFunc(list, client.Compare) }

// parseInitial reads the offsets that a query began with. Spark writes a
// zero byte before the version.
func parseInitial(name string, data []byte) (client.Offsets, error) {
	if len(data) == 0 {
		return nil, connector.UnreadableLog(name, connector.IllegalState("Incomplete log file"))
	}
	text := string(data[1:])
	if !strings.HasPrefix(text, "v") {
		return parseOffsets(text) // of Spark 2.1
	}
	lines, err := connector.LogLines(name, text)
	if err != nil {
		return nil, err
	}
	return parseOffsets(strings.Join(lines, "\n"))
}

// KeepIn reads the ids of the topics that the query has read. A checkpoint of
// Spark's has none.
func (k *source) KeepIn(place connector.Place) error {
	k.keep = place
	name := path.Join(place.Dir, topicIDsFile)
	data, err := vfs.ReadFile(place.FS, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if err := json.Unmarshal(data, &k.ids); err != nil {
		return connector.UnreadableLog(name, connector.IllegalState("it holds no ids of topics: %s", err))
	}
	return nil
}

// remade finds the topics of ranges that are not those that were read before,
// but others of their names, and remembers the ids of all. What was left of the
// former ones is lost.
func (k *source) remade(ctx context.Context, ranges []client.Range) ([]*plan.Error, error) {
	ids := map[string]string{}
	maps.Copy(ids, k.ids)
	var losses []*plan.Error
	for _, r := range ranges {
		topic := k.cluster.Known(r.Topic)
		if topic == nil {
			if _, err := k.cluster.Topics(ctx, []string{r.Topic}); err != nil {
				return nil, failed(err)
			}
			if topic = k.cluster.Known(r.Topic); topic == nil {
				continue // reading it says so
			}
		}
		if topic.ID == [16]byte{} {
			continue
		}
		id := hex.EncodeToString(topic.ID[:])
		if before, ok := k.ids[r.Topic]; ok && before != id {
			losses = append(losses, madeAgain(r.Partition, r.From))
		}
		ids[r.Topic] = id
	}
	if len(losses) > 0 && k.settings.failOnDataLoss || maps.Equal(ids, k.ids) {
		return losses, nil
	}
	k.ids = ids
	return losses, k.writeIDs()
}

func (k *source) writeIDs() error {
	data, err := json.Marshal(k.ids)
	if err != nil {
		return err
	}
	if k.keep.FS == nil {
		return nil
	}
	if err := vfs.MkdirDurable(k.keep.FS, k.keep.Dir); err != nil {
		return err
	}
	return vfs.WriteReplace(k.keep.FS, path.Join(k.keep.Dir, topicIDsFile), data)
}
