package statereader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/state"
	"github.com/weir-dev/weir/internal/vfs"
)

// Metadata lists the stateful operators of a checkpoint.
func Metadata() *connector.Format {
	schema := plan.Struct(
		plan.Col("operatorId", plan.Long), plan.Col("operatorName", plan.String),
		plan.Col("stateStoreName", plan.String), plan.Col("numPartitions", plan.Int),
		plan.Col("minBatchId", plan.Long), plan.Col("maxBatchId", plan.Long),
		plan.Col("operatorProperties", plan.String),
	)
	return &connector.Format{
		Name: "state-metadata",
		Doc:  "the stateful operators of a checkpoint and the batches they can be read at",
		Describe: func(_ context.Context, env *connector.Env, r *plan.Read) (*plan.Relation, error) {
			if _, err := checkpointOf(env, r.Options, r.Paths); err != nil {
				return nil, err
			}
			return &plan.Relation{
				Format: "state-metadata", Schema: schema, Options: r.Options, Paths: r.Paths,
			}, nil
		},
		Scan: func(_ context.Context, env *connector.Env, s *plan.Scan) chunk.Rows {
			all, err := listOperators(env, s.Relation)
			if err != nil {
				return chunk.Fail(err)
			}
			return chunk.One(pickColumns(chunk.FromRows(schema, all...), schema, s.Attrs))
		},
	}
}

// pickColumns picks the columns of attributes by name.
func pickColumns(c *chunk.Chunk, schema plan.Type, attrs []*plan.Attribute) *chunk.Chunk {
	out := &chunk.Chunk{Rows: c.Rows}
	for _, a := range attrs {
		at := slices.IndexFunc(schema.Fields, func(f plan.Field) bool { return f.Name == a.Name })
		out.Cols = append(out.Cols, c.Cols[at])
	}
	return out
}

// checkpointOf is the checkpoint that a read of its state names.
func checkpointOf(env *connector.Env, o plan.Options, paths []string) (connector.Place, error) {
	given, _ := o.Get("path")
	if len(paths) > 0 {
		given = paths[0]
	}
	if given == "" || len(paths) > 1 {
		return connector.Place{}, plan.NewError(plan.ClassIllegal, "STDS_REQUIRED_OPTION_UNSPECIFIED",
			"the state of one checkpoint is read: name its directory by path.", "optionName", "path")
	}
	loc, err := env.Files.Resolve(given)
	return connector.Place{FS: loc.FS, Dir: loc.Path}, err
}

func listOperators(env *connector.Env, r plan.Relation) ([][]plan.Value, error) {
	checkpoint, err := checkpointOf(env, r.Options, r.Paths)
	if err != nil {
		return nil, err
	}
	operators, err := operatorsOf(checkpoint)
	if err != nil {
		return nil, err
	}
	commits, err := commitsOf(checkpoint)
	if err != nil {
		return nil, err
	}
	if len(commits) == 0 {
		return nil, noCommit(checkpoint)
	}
	var rows [][]plan.Value
	for _, op := range operators {
		var properties plan.Value
		if op.Properties != "" {
			properties = op.Properties
		}
		for _, store := range op.Stores {
			rows = append(rows, []plan.Value{
				int64(op.Info.ID), op.Info.Name, store.Name, int64(op.Partitions()),
				commits[0], commits[len(commits)-1], properties,
			})
		}
	}
	return rows, nil
}

// operatorMetadata is an operator, with what its name tells.
type operatorMetadata struct{ state.Operator }

func (m *operatorMetadata) isJoin() bool    { return m.Info.Name == "symmetricHashJoin" }
func (m *operatorMetadata) isSession() bool { return strings.HasPrefix(m.Info.Name, "sessionWindow") }
func (m *operatorMetadata) isApply() bool   { return m.Info.Name == "applyInPandasWithState" }
func (m *operatorMetadata) isProcessor() bool {
	return strings.HasPrefix(m.Info.Name, "transformWithState")
}
func (m *operatorMetadata) isLimit() bool { return m.Info.Name == "globalLimit" }

// operatorsOf reads the metadata of the operators, by number.
func operatorsOf(checkpoint connector.Place) ([]*operatorMetadata, error) {
	dir := path.Join(checkpoint.Dir, "state")
	infos, err := checkpoint.FS.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	var out []*operatorMetadata
	for _, info := range infos {
		id, err := strconv.Atoi(info.Name)
		if err != nil {
			continue
		}
		file := state.OperatorFile(dir, id)
		data, err := vfs.ReadFile(checkpoint.FS, file)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		_, body, _ := strings.Cut(string(data), "\n")
		o, err := state.ParseOperator(body)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		out = append(out, &operatorMetadata{o})
	}
	slices.SortFunc(out, func(a, b *operatorMetadata) int { return a.Info.ID - b.Info.ID })
	return out, nil
}

// commitsOf lists the committed batches of a checkpoint that it still names,
// ascending.
func commitsOf(checkpoint connector.Place) ([]int64, error) {
	return connector.BatchIDs(connector.Place{FS: checkpoint.FS, Dir: path.Join(checkpoint.Dir, "commits")})
}
