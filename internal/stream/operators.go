package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// stateOperator is a stateful operator as a checkpoint names it, in
// state/ID/_metadata/metadata. Checkpoints of Spark before 4.0 name none.
type stateOperator struct {
	OperatorID   int    `json:"operatorId"`
	OperatorName string `json:"operatorName"`
}

// refuseOperators refuses a checkpoint with state under a plan without: going
// on would leave the state behind for good.
func refuseOperators(checkpoint connector.Place) error {
	state := below(checkpoint, "state")
	infos, err := state.FS.List(state.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", state.Dir, err)
	}
	var names []string
	for _, info := range infos {
		op, err := readOperator(state.FS, path.Join(state.Dir, info.Name, "_metadata", "metadata"))
		if err != nil {
			return err
		}
		if op != nil {
			names = append(names, fmt.Sprintf("(OperatorId: %d -> OperatorName: %s)", op.OperatorID, op.OperatorName))
		}
	}
	if len(names) == 0 {
		return nil
	}
	known := "[" + strings.Join(names, ", ") + "]"
	return plan.NewError(plan.ClassRuntime, "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA",
		fmt.Sprintf("the checkpoint has the state of %s, and the query keeps none: "+
			"a changed query needs a new checkpoint.", known),
		"OpsInMetadataSeq", known, "OpsInCurBatchSeq", "[]")
}

// readOperator returns nil when there is no such file.
func readOperator(fsys vfs.FS, file string) (*stateOperator, error) {
	data, err := readChecked(fsys, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	_, lines, err := splitLog(file, data, 1)
	if err != nil {
		return nil, err
	}
	var body struct {
		OperatorInfo stateOperator `json:"operatorInfo"`
	}
	if err := json.Unmarshal([]byte(strings.Join(lines, "\n")), &body); err != nil {
		return nil, badJSON(file, err)
	}
	return &body.OperatorInfo, nil
}
