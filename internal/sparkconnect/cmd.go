package sparkconnect

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weir-dev/weir/internal/plan"
	pb "github.com/weir-dev/weir/internal/sparkpb"
	"github.com/weir-dev/weir/internal/sql"
)

// commandTable lists the commands that weir executes.
func commandTable() map[protoreflect.Name]func(*execution, *pb.Command) error {
	type c = pb.Command
	type d = decoder
	type x = execution
	return map[protoreflect.Name]func(*execution, *pb.Command) error{
		"checkpoint_command":                    commandArm((*c).GetCheckpointCommand, (*x).checkpoint),
		"create_dataframe_view":                 decodedArm((*c).GetCreateDataframeView, (*d).createView),
		"extension":                             decodedArm((*c).GetExtension, (*d).deltaCommand),
		"get_resources_command":                 commandArm((*c).GetGetResourcesCommand, (*x).getResources),
		"merge_into_table_command":              decodedArm((*c).GetMergeIntoTableCommand, (*d).mergeInto),
		"ml_command":                            commandArm((*c).GetMlCommand, (*x).mlCommand),
		"register_table_function":               commandArm((*c).GetRegisterTableFunction, (*x).registerTable),
		"register_function":                     commandArm((*c).GetRegisterFunction, (*x).registerFunction),
		"remove_cached_remote_relation_command": commandArm(removeCached, (*x).removeCached),
		"sql_command":                           commandArm((*c).GetSqlCommand, (*x).sqlCommand),
		"streaming_query_command":               commandArm((*c).GetStreamingQueryCommand, (*x).queryCommand),
		"streaming_query_listener_bus_command":  commandArm(listenerBus, (*x).listenerBus),
		"streaming_query_manager_command":       commandArm(queryManager, (*x).managerCommand),
		"write_operation":                       decodedArm((*c).GetWriteOperation, (*d).write),
		"write_operation_v2":                    decodedArm((*c).GetWriteOperationV2, (*d).writeV2),
		"write_stream_operation_start":          commandArm(streamStart, (*x).startStream),
	}
}

// commandArm makes an entry for a command that answers in its own way.
func commandArm[M any](get func(*pb.Command) M, run func(*execution, M) error,
) func(*execution, *pb.Command) error {
	return func(x *execution, c *pb.Command) error { return run(x, get(c)) }
}

// decodedArm makes an entry for a command that session runs and that answers
// with result_complete alone.
func decodedArm[M any](get func(*pb.Command) M, decode func(*decoder, M) (plan.Command, error),
) func(*execution, *pb.Command) error {
	return func(x *execution, c *pb.Command) error {
		command, err := decode(x.decoder(), get(c))
		if err != nil {
			return err
		}
		result, err := x.session.Command(x.op.ctx, command)
		if err != nil {
			return err
		}
		return x.sendObserved(result)
	}
}

func removeCached(c *pb.Command) *pb.RemoveCachedRemoteRelationCommand {
	return c.GetRemoveCachedRemoteRelationCommand()
}

func listenerBus(c *pb.Command) *pb.StreamingQueryListenerBusCommand {
	return c.GetStreamingQueryListenerBusCommand()
}

func queryManager(c *pb.Command) *pb.StreamingQueryManagerCommand {
	return c.GetStreamingQueryManagerCommand()
}

func streamStart(c *pb.Command) *pb.WriteStreamOperationStart {
	return c.GetWriteStreamOperationStart()
}

func (d *decoder) createView(m *pb.CreateDataFrameViewCommand) (plan.Command, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	// A schema before the name goes unheard.
	name, err := sql.ParseName(m.GetName())
	if err != nil || len(name) > 2 {
		return nil, plan.AnalysisError("_LEGACY_ERROR_TEMP_1321",
			fmt.Sprintf("The text %q is no name of a view.", m.GetName()), "viewName", m.GetName())
	}
	return &plan.CreateView{
		Name: name[len(name)-1:], Temporary: true, Global: m.GetIsGlobal(), Replace: m.GetReplace(), Query: in,
	}, nil
}

var saveModes = map[pb.WriteOperation_SaveMode]plan.SaveMode{
	pb.WriteOperation_SAVE_MODE_UNSPECIFIED: plan.SaveError, pb.WriteOperation_SAVE_MODE_APPEND: plan.SaveAppend,
	pb.WriteOperation_SAVE_MODE_OVERWRITE:       plan.SaveOverwrite,
	pb.WriteOperation_SAVE_MODE_IGNORE:          plan.SaveIgnore,
	pb.WriteOperation_SAVE_MODE_ERROR_IF_EXISTS: plan.SaveError,
}

func (d *decoder) write(m *pb.WriteOperation) (plan.Command, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	mode, ok := saveModes[m.GetMode()]
	switch {
	case !ok:
		return nil, unknownEnum(m.GetMode())
	case m.GetBucketBy() != nil || len(m.GetSortColumnNames()) > 0:
		return nil, plan.Unsupported("Bucketing of tables")
	case m.GetWithSchemaEvolution():
		return nil, plan.Unsupported("Writing with schema evolution")
	}
	w := &plan.Write{
		Input: in, Format: m.GetSource(), Mode: mode, Partitions: m.GetPartitioningColumns(),
		Options: m.GetOptions(),
	}
	switch t := m.GetSaveType().(type) {
	case *pb.WriteOperation_Path:
		w.Path = t.Path
	case *pb.WriteOperation_Table:
		if w.Table, err = sql.ParseName(t.Table.GetTableName()); err != nil {
			return nil, err
		}
		switch t.Table.GetSaveMethod() {
		case pb.WriteOperation_SaveTable_TABLE_SAVE_METHOD_SAVE_AS_TABLE:
		case pb.WriteOperation_SaveTable_TABLE_SAVE_METHOD_INSERT_INTO:
			w.InsertInto = true
		default:
			return nil, unknownEnum(t.Table.GetSaveMethod())
		}
	}
	return w, nil
}

var writeModes = map[pb.WriteOperationV2_Mode]plan.WriteV2{
	pb.WriteOperationV2_MODE_CREATE: plan.V2Create, pb.WriteOperationV2_MODE_OVERWRITE: plan.V2Overwrite,
	pb.WriteOperationV2_MODE_OVERWRITE_PARTITIONS: plan.V2OverwritePartitions,
	pb.WriteOperationV2_MODE_APPEND:               plan.V2Append,
	pb.WriteOperationV2_MODE_REPLACE:              plan.V2Replace,
	pb.WriteOperationV2_MODE_CREATE_OR_REPLACE:    plan.V2CreateOrReplace,
}

func (d *decoder) writeV2(m *pb.WriteOperationV2) (plan.Command, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	verb, ok := writeModes[m.GetMode()]
	if !ok {
		return nil, unknownEnum(m.GetMode())
	}
	name, err := sql.ParseName(m.GetTableName())
	if err != nil {
		return nil, err
	}
	w := &plan.Write{
		Input: in, Format: m.GetProvider(), Table: name, V2: verb, Options: m.GetOptions(),
		Properties: m.GetTableProperties(),
	}
	for _, p := range m.GetPartitioningColumns() {
		e, err := d.expression(p)
		if err != nil {
			return nil, err
		}
		col, ok := e.(*plan.UnresolvedAttribute)
		if !ok || len(col.Parts) != 1 {
			return nil, plan.Unsupported("Partitioning by an expression")
		}
		w.Partitions = append(w.Partitions, col.Parts[0])
	}
	if m.GetOverwriteCondition() != nil {
		w.Condition, err = d.expression(m.GetOverwriteCondition())
	}
	return w, err
}

func (d *decoder) streamStart(m *pb.WriteStreamOperationStart) (*plan.StartStream, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	s := &plan.StartStream{
		Input: in, Format: m.GetFormat(), Options: m.GetOptions(), Partitions: m.GetPartitioningColumnNames(),
		Clustering: m.GetClusteringColumnNames(), OutputMode: m.GetOutputMode(), QueryName: m.GetQueryName(),
	}
	switch t := m.GetTrigger().(type) {
	case nil:
		if unknown := m.ProtoReflect().GetUnknown(); len(unknown) > 0 {
			return nil, notSet(m, "TRIGGER_NOT_SET")
		}
	case *pb.WriteStreamOperationStart_ProcessingTimeInterval:
		s.Interval = t.ProcessingTimeInterval
	case *pb.WriteStreamOperationStart_AvailableNow:
		s.Trigger = plan.AvailableNow
	case *pb.WriteStreamOperationStart_Once:
		s.Trigger = plan.Once
	case *pb.WriteStreamOperationStart_ContinuousCheckpointInterval:
		s.Trigger, s.Interval = plan.Continuous, t.ContinuousCheckpointInterval
	case *pb.WriteStreamOperationStart_RealTimeBatchDuration:
		s.Trigger, s.Interval = plan.RealTime, t.RealTimeBatchDuration
	}
	switch t := m.GetSinkDestination().(type) {
	case *pb.WriteStreamOperationStart_Path:
		s.Path = t.Path
	case *pb.WriteStreamOperationStart_TableName:
		if s.Table, err = sql.ParseName(t.TableName); err != nil {
			return nil, err
		}
	}
	if s.Foreach, err = pythonFunction(m.GetForeachWriter()); err != nil {
		return nil, err
	}
	s.ForeachAll, err = pythonFunction(m.GetForeachBatch())
	return s, err
}

func pythonFunction(f *pb.StreamingForeachFunction) (*plan.PythonFunction, error) {
	if f == nil {
		return nil, nil
	}
	p := f.GetPythonFunction()
	if p == nil {
		return nil, plan.Unsupported("A callback that is not written in Python")
	}
	return &plan.PythonFunction{Command: p.GetCommand(), PythonVersion: p.GetPythonVer()}, nil
}
