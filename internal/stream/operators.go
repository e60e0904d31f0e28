package stream

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/exec"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/state"
	"github.com/weir-dev/weir/internal/vfs"
)

// stateFormat is in the file that tells weir's state from Spark's.
const (
	formatName  = "format"
	stateFormat = "weir state 1\n"
)

// checkOperators compares the query's stateful operators with those of the
// checkpoint, in which a first batch writes them down: going on with others
// would mix up or leave behind what they keep.
func (r *run) checkOperators(ops []*exec.StateOperator) error {
	dir := below(r.config.Checkpoint, stateName)
	stored, err := readOperators(dir)
	if err != nil {
		return err
	}
	wanted := make([]state.OperatorInfo, len(ops))
	for id, op := range ops {
		wanted[id] = state.OperatorInfo{ID: id, Name: op.Name}
	}
	switch {
	case r.batch == 0 && len(wanted) > 0:
		return r.writeOperators(dir, ops)
	case len(stored) == 0 && len(wanted) == 0:
		return nil
	case len(stored) == 0:
		return plan.NewError(plan.ClassRuntime, "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY",
			fmt.Sprintf("the query keeps the state of %s, and %s holds none: it was deleted, or the query had no "+
				"such operator before. Restore it, or begin with a new checkpoint.", operatorList(wanted), dir.Dir),
			"OpsInCurBatchSeq", operatorList(wanted))
	case !slices.Equal(stored, wanted):
		return plan.NewError(plan.ClassRuntime, "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA",
			fmt.Sprintf("the checkpoint has the state of %s, and the query keeps that of %s: "+
				"a changed query needs a new checkpoint.", operatorList(stored), operatorList(wanted)),
			"OpsInMetadataSeq", operatorList(stored), "OpsInCurBatchSeq", operatorList(wanted))
	}
	if err := checkFormat(dir); err != nil {
		return err
	}
	return r.agreeProperties(dir, ops)
}

// checkProvider refuses stateful processors with a state store that Spark refuses
// them with: the same program would fail there.
func (r *run) checkProvider() error {
	provider := r.confs[providerKey]
	if strings.HasSuffix(provider, wantedProvider) || !exec.HasProcessor(r.config.Plan) {
		return nil
	}
	return plan.NewError(plan.ClassUnsupported, "UNSUPPORTED_FEATURE.STORE_BACKEND_NOT_SUPPORTED_FOR_TWS",
		fmt.Sprintf("transformWithState does not go with the state store %s: set %s to "+
			"org.apache.spark.sql.execution.streaming.state.%s.", provider, providerKey, wantedProvider),
		"stateStoreProvider", provider)
}

// agreeProperties compares what operators say of themselves with what they said
// before, and writes it down anew where it has grown.
func (r *run) agreeProperties(dir connector.Place, ops []*exec.StateOperator) error {
	for id, op := range ops {
		if op.Properties == nil {
			continue
		}
		file := state.OperatorFile(dir.Dir, id)
		stored, err := readOperator(dir.FS, file)
		if err != nil {
			return err
		}
		if err := op.Properties.Follow(stored.Properties); err != nil {
			return err
		}
		if data := r.operatorMetadata(id, op); op.Properties.Encode() != stored.Properties {
			if err := vfs.WriteReplace(dir.FS, file, data); err != nil {
				return err
			}
		}
	}
	return nil
}

func operatorList(ops []state.OperatorInfo) string {
	names := make([]string, len(ops))
	for i, op := range ops {
		names[i] = fmt.Sprintf("(OperatorId: %d -> OperatorName: %s)", op.ID, op.Name)
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// readOperators lists the operators that a checkpoint names, by id.
func readOperators(dir connector.Place) ([]state.OperatorInfo, error) {
	infos, err := dir.FS.List(dir.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir.Dir, err)
	}
	var ops []state.OperatorInfo
	for _, info := range infos {
		id, err := strconv.Atoi(info.Name)
		if err != nil {
			continue
		}
		op, err := readOperator(dir.FS, state.OperatorFile(dir.Dir, id))
		if err != nil {
			return nil, err
		}
		if op != nil {
			ops = append(ops, op.Info)
		}
	}
	slices.SortFunc(ops, func(a, b state.OperatorInfo) int { return a.ID - b.ID })
	return ops, nil
}

// writeOperators names the operators as Spark does.
func (r *run) writeOperators(dir connector.Place, ops []*exec.StateOperator) error {
	if err := vfs.MkdirDurable(dir.FS, dir.Dir); err != nil {
		return err
	}
	if err := vfs.WriteReplace(dir.FS, path.Join(dir.Dir, formatName), []byte(stateFormat)); err != nil {
		return err
	}
	for id, op := range ops {
		file := state.OperatorFile(dir.Dir, id)
		if err := vfs.MkdirDurable(dir.FS, path.Dir(file)); err != nil {
			return err
		}
		if err := vfs.WriteReplace(dir.FS, file, r.operatorMetadata(id, op)); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) operatorMetadata(id int, op *exec.StateOperator) []byte {
	o := state.Operator{Info: state.OperatorInfo{ID: id, Name: op.Name}}
	partitions := r.partitions()
	if op.Single {
		partitions = 1
	}
	for _, name := range op.StoreNames {
		o.Stores = append(o.Stores, state.StoreInfo{Name: name, Partitions: partitions})
	}
	if op.Properties != nil {
		o.Properties = op.Properties.Encode()
	}
	return o.Encode()
}

// checkState refuses state of stateful operators that weir did not write, before
// anything of the query runs.
func checkState(dir connector.Place) error {
	infos, err := dir.FS.List(dir.Dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", dir.Dir, err)
	}
	if !slices.ContainsFunc(infos, func(i vfs.Info) bool { _, err := strconv.Atoi(i.Name); return err == nil }) {
		return nil
	}
	return checkFormat(dir)
}

// checkFormat refuses state that weir did not write.
func checkFormat(dir connector.Place) error {
	file := path.Join(dir.Dir, formatName)
	data, err := vfs.ReadFile(dir.FS, file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e := plan.Unsupported("Going on with the state of Apache Spark, which is below " + dir.Dir +
			" (there is no file " + formatName + " as weir writes it),")
		e.Hint = "Only queries without stateful operators go on from Spark's checkpoint. Let Spark go on with " +
			"this one, or give the query a new checkpointLocation: it then reads its sources from their " +
			"beginning, or from where their options say, and gathers its state anew."
		return e
	case err != nil:
		return fmt.Errorf("read %s: %w", file, err)
	case string(data) != stateFormat:
		return illegalState("%s says %.40q, this weir reads %q", file, data, stateFormat)
	default:
		return nil
	}
}

// readOperator returns nil when there is no such file.
func readOperator(fsys vfs.FS, file string) (*state.Operator, error) {
	data, err := connector.ReadChecked(fsys, file)
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
	o, err := state.ParseOperator(strings.Join(lines, "\n"))
	if err != nil {
		return nil, badJSON(file, err)
	}
	return &o, nil
}
