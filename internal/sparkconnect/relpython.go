package sparkconnect

import (
	"fmt"
	"strings"

	"github.com/weir-dev/weir/internal/analyze"
	"github.com/weir-dev/weir/internal/plan"
	pb "github.com/weir-dev/weir/internal/sparkpb"
)

// calledUDF decodes a Python function and its arguments: of values, rows, groups or batches.
func (d *decoder) calledUDF(m *pb.CommonInlineUserDefinedFunction) (*plan.PythonUDF, error) {
	args, err := d.expressionList(m.GetArguments())
	if err != nil {
		return nil, err
	}
	return d.pythonUDF(m, args)
}

func (d *decoder) mapPartitions(m *pb.MapPartitions) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	f, err := d.calledUDF(m.GetFunc())
	if err != nil {
		return nil, err
	}
	return plan.NewMapPython(in, f, m.GetIsBarrier()), nil
}

func (d *decoder) groupMap(m *pb.GroupMap) (plan.Node, error) {
	if m.GetTransformWithStateInfo() != nil {
		return d.transformWithState(m)
	}
	if len(m.GetSortingExpressions()) > 0 || m.GetInitialInput() != nil || m.GetIsMapGroupsWithState() {
		return nil, plan.Unsupported("A function of groups that are sorted or have a state")
	}
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	keys, err := d.expressionList(m.GetGroupingExpressions())
	if err != nil {
		return nil, err
	}
	f, err := d.calledUDF(m.GetFunc())
	if err != nil {
		return nil, err
	}
	return plan.NewGroupPython(in, keys, f), nil
}

// cogroupMap decodes a function of pairs of groups.
func (d *decoder) cogroupMap(m *pb.CoGroupMap) (plan.Node, error) {
	if len(m.GetInputSortingExpressions())+len(m.GetOtherSortingExpressions()) > 0 {
		return nil, plan.Unsupported("A function of groups that are sorted")
	}
	n := &plan.CogroupPython{}
	var err error
	if n.Left, err = d.relation(m.GetInput()); err != nil {
		return nil, err
	}
	if n.Right, err = d.relation(m.GetOther()); err != nil {
		return nil, err
	}
	if n.LeftKeys, err = d.expressionList(m.GetInputGroupingExpressions()); err != nil {
		return nil, err
	}
	if n.RightKeys, err = d.expressionList(m.GetOtherGroupingExpressions()); err != nil {
		return nil, err
	}
	n.Func, err = d.calledUDF(m.GetFunc())
	return n, err
}

// applyWithState decodes applyInPandasWithState: a function of groups and of the state
// that it keeps for each.
func (d *decoder) applyWithState(m *pb.ApplyInPandasWithState) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	keys, err := d.expressionList(m.GetGroupingExpressions())
	if err != nil {
		return nil, err
	}
	f, err := d.calledUDF(m.GetFunc())
	if err != nil {
		return nil, err
	}
	if f.Returns, err = parseSchema(m.GetOutputSchema()); err != nil {
		return nil, err
	}
	n := plan.NewStatePython(in, keys, f)
	if n.State, err = parseSchema(m.GetStateSchema()); err != nil {
		return nil, err
	}
	if n.Mode, err = functionMode(m.GetOutputMode()); err != nil {
		return nil, err
	}
	n.Timeout, err = groupTimeout(m.GetTimeoutConf())
	return n, err
}

// transformWithState decodes a stateful processor.
func (d *decoder) transformWithState(m *pb.GroupMap) (plan.Node, error) {
	n := &plan.TransformPython{EventColumn: m.GetTransformWithStateInfo().GetEventTimeColumnName()}
	var err error
	if n.Input, err = d.relation(m.GetInput()); err != nil {
		return nil, err
	}
	if n.Keys, err = d.expressionList(m.GetGroupingExpressions()); err != nil {
		return nil, err
	}
	if n.Func, err = d.calledUDF(m.GetFunc()); err != nil {
		return nil, err
	}
	if m.GetInitialInput() != nil {
		if n.Initial, err = d.relation(m.GetInitialInput()); err != nil {
			return nil, err
		}
		if n.InitialKeys, err = d.expressionList(m.GetInitialGroupingExpressions()); err != nil {
			return nil, err
		}
	}
	if n.Time, err = timeMode(m.GetTransformWithStateInfo().GetTimeMode()); err != nil {
		return nil, err
	}
	n.Mode, err = analyze.ParseOutputMode(m.GetOutputMode())
	return n, err
}

func timeMode(text string) (plan.TimeMode, error) {
	switch strings.ToLower(text) {
	case "none":
		return plan.NoTime, nil
	case "processingtime":
		return plan.ProcessorTime, nil
	case "eventtime":
		return plan.EventTime, nil
	default:
		return 0, plan.NewError(plan.ClassIllegal, "STATEFUL_PROCESSOR_UNKNOWN_TIME_MODE",
			fmt.Sprintf("%q is no time mode; there are none, processingTime and eventTime.", text), "timeMode", text)
	}
}

// functionMode is the output mode of a function of groups with a state.
func functionMode(text string) (plan.OutputMode, error) {
	mode, err := analyze.ParseOutputMode(text)
	if err == nil && mode == plan.CompleteMode {
		err = plan.IllegalArgument("The output mode of function should be append or update")
	}
	return mode, err
}

func groupTimeout(text string) (plan.GroupTimeout, error) {
	for t := plan.NoTimeout; t <= plan.EventTimeTimeout; t++ {
		if text == t.String() {
			return t, nil
		}
	}
	return 0, &plan.Error{Class: plan.ClassJavaState, Msg: "Invalid string for GroupStateTimeout: " + text}
}

// inlineUDTF decodes a call of a table function that travels with the plan.
func (d *decoder) inlineUDTF(m *pb.CommonInlineUserDefinedTableFunction) (plan.Node, error) {
	args, err := d.expressionList(m.GetArguments())
	if err != nil {
		return nil, err
	}
	f, err := d.pythonUDTF(m)
	if err != nil {
		return nil, err
	}
	return &plan.TableFunction{Name: []string{f.Name}, Args: args, Python: f}, nil
}

// pythonUDTF decodes a table function. One without a type of its rows is asked for it
// in each call.
func (d *decoder) pythonUDTF(m *pb.CommonInlineUserDefinedTableFunction) (*plan.PythonUDF, error) {
	p := m.GetPythonUdtf()
	if p == nil {
		return nil, plan.Unsupported("A table function that is not written in Python")
	}
	f := &plan.PythonUDF{
		Name: m.GetFunctionName(), EvalType: int(p.GetEvalType()), Command: p.GetCommand(),
		PythonVersion: p.GetPythonVer(), Deterministic: m.GetDeterministic(),
	}
	if p.ReturnType == nil {
		return f, nil
	}
	var err error
	if u := p.GetReturnType().GetUnparsed(); u != nil {
		f.Returns, err = parseSchema(u.GetDataTypeString())
	} else {
		f.Returns, err = d.dataType(p.GetReturnType())
	}
	if err != nil {
		return nil, err
	}
	if f.Returns.Kind != plan.KindStruct {
		return nil, plan.NewError(plan.ClassInvalidPlan, "INVALID_SCHEMA_TYPE_NON_STRUCT",
			"A table function yields rows, and "+f.Returns.Simple()+" is no type of rows.",
			"dataType", `"`+f.Returns.SQL()+`"`)
	}
	return f, nil
}

// registerTable gives a table function a name in FROM.
func (x *execution) registerTable(m *pb.CommonInlineUserDefinedTableFunction) error {
	f, err := x.decoder().pythonUDTF(m)
	if err != nil {
		return err
	}
	x.session.RegisterFunction(f)
	return nil
}

// registerFunction gives a function a name in SQL.
func (x *execution) registerFunction(m *pb.CommonInlineUserDefinedFunction) error {
	f, err := x.decoder().pythonUDF(m, nil)
	if err != nil {
		return err
	}
	x.session.RegisterFunction(f)
	return nil
}
