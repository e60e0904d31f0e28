package sparkconnect

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
)

// deltaTables are the calls of DeltaTable, of the package delta-spark, by their
// number in the oneof of delta.connect.DeltaRelation and delta.connect.DeltaCommand
// as Delta Lake 4.4 numbers them. What answers rows is a relation, even where it
// changes a table: such a one becomes a command here.
type deltaTables struct {
	relations []func(*decoder, *extended) (plan.Node, error)
	commands  []func(*decoder, *extended) (plan.Command, error)
}

func newDeltaTables() deltaTables {
	type d = decoder
	return deltaTables{
		relations: []func(*decoder, *extended) (plan.Node, error){
			(*d).deltaScan, (*d).deltaHistory, (*d).deltaDetail, (*d).deltaConvert, (*d).deltaRestore,
			(*d).isDelta, (*d).deltaDelete, (*d).deltaUpdate, (*d).deltaMerge, (*d).deltaOptimize,
		},
		commands: []func(*decoder, *extended) (plan.Command, error){
			(*d).deltaClone, (*d).deltaVacuum, (*d).deltaUpgrade, (*d).deltaGenerate, (*d).deltaCreate,
			(*d).deltaAddFeature, (*d).deltaDropFeature,
		},
	}
}

func (d *decoder) deltaRelation(a *anypb.Any) (n plan.Node, err error) {
	err = d.extension(a, "delta.connect.DeltaRelation", func(m *extended) error {
		n, err = deltaArm(d, m, d.delta.relations)
		return err
	})
	return n, err
}

func (d *decoder) deltaCommand(a *anypb.Any) (c plan.Command, err error) {
	err = d.extension(a, "delta.connect.DeltaCommand", func(m *extended) error {
		c, err = deltaArm(d, m, d.delta.commands)
		return err
	})
	return c, err
}

func deltaArm[T any](d *decoder, m *extended, list []func(*decoder, *extended) (T, error)) (T, error) {
	var none T
	n, err := m.arm(len(list))
	if err != nil {
		return none, err
	}
	call, err := m.message(n)
	if err != nil {
		return none, err
	}
	return list[n-1](d, call)
}

// deltaRef is the table that a call is about, from its field 1: a path, or a name.
func (d *decoder) deltaRef(m *extended) (path string, name []string, err error) {
	table, err := m.message(1)
	if err != nil {
		return "", nil, err
	}
	if !table.has(1) {
		name, err = sql.ParseName(table.text(2))
		return "", name, err
	}
	place, err := table.message(1)
	if err != nil {
		return "", nil, err
	}
	if path = place.text(1); path == "" {
		err = plan.IllegalArgument("DeltaTable.forPath needs a path, and this one is empty.")
	}
	return path, nil, err
}

// deltaName is the table of a call as statements name it.
func (d *decoder) deltaName(m *extended) ([]string, error) {
	path, name, err := d.deltaRef(m)
	if err != nil || name != nil {
		return name, err
	}
	return deltaPath(path), nil
}

// deltaPath is the name of the table at a path.
func deltaPath(path string) []string {
	if !strings.Contains(path, "/") {
		path = "./" + path // a name without one would be a table of the schema delta
	}
	return []string{"delta", path}
}

// onDelta is a command on the table of a call.
func (d *decoder) onDelta(m *extended, command func(name []string) plan.Command) (*plan.OnDelta, error) {
	name, err := d.deltaName(m)
	if err != nil {
		return nil, err
	}
	return &plan.OnDelta{Table: name, Then: command(name)}, nil
}

func (d *decoder) deltaScan(m *extended) (plan.Node, error) {
	path, name, err := d.deltaRef(m)
	switch {
	case err != nil:
		return nil, err
	case name != nil:
		return &plan.NamedTable{Name: name, Delta: true}, nil
	}
	return &plan.Read{Format: "delta", Paths: []string{path}, Delta: true}, nil
}

func (d *decoder) deltaHistory(m *extended) (plan.Node, error) {
	return d.onDelta(m, func(name []string) plan.Command {
		return &plan.Describe{What: plan.DescribeHistory, Name: name}
	})
}

func (d *decoder) deltaDetail(m *extended) (plan.Node, error) {
	return d.onDelta(m, func(name []string) plan.Command {
		return &plan.Describe{What: plan.DescribeDetail, Name: name}
	})
}

func (d *decoder) deltaConvert(*extended) (plan.Node, error) {
	return nil, plan.Unsupported("CONVERT TO DELTA")
}

func (d *decoder) deltaRestore(m *extended) (plan.Node, error) {
	return d.onDelta(m, func(name []string) plan.Command {
		return &plan.Restore{Table: name, Options: deltaVersion(m, 2, 3)}
	})
}

// deltaVersion is a version or a time, from the fields of these numbers.
func deltaVersion(m *extended, version, timestamp protowire.Number) plan.Options {
	switch {
	case m.has(version):
		return plan.Options{plan.VersionAsOf: strconv.FormatInt(m.number(version), 10)}
	case m.has(timestamp):
		return plan.Options{plan.TimestampAsOf: m.text(timestamp)}
	}
	return nil
}

func (d *decoder) isDelta(m *extended) (plan.Node, error) {
	return &plan.IsDelta{Path: m.text(1)}, nil
}

func (d *decoder) deltaDelete(m *extended) (plan.Node, error) {
	table, err := m.relation(1)
	if err != nil {
		return nil, err
	}
	cond, err := m.expression(2)
	return &plan.Delete{Table: table, Cond: cond}, err
}

func (d *decoder) deltaUpdate(m *extended) (plan.Node, error) {
	table, err := m.relation(1)
	if err != nil {
		return nil, err
	}
	cond, err := m.expression(2)
	if err != nil {
		return nil, err
	}
	set, err := d.deltaSet(m, 3)
	return &plan.Update{Table: table, Set: set, Cond: cond}, err
}

// deltaSet are the assignments in a field.
func (d *decoder) deltaSet(m *extended, n protowire.Number) (set []plan.Assignment, err error) {
	err = m.each(n, func(a *extended) error {
		key, err := a.expression(1)
		if err != nil {
			return err
		}
		column, ok := key.(*plan.UnresolvedAttribute)
		if !ok {
			return plan.Unsupported("An assignment to what is no column")
		}
		value, err := a.expression(2)
		if err == nil && value == nil {
			err = emptyField("delta.connect.Assignment", "value")
		}
		set = append(set, plan.Assignment{Column: column, Value: value})
		return err
	})
	return set, err
}

func (d *decoder) deltaMerge(m *extended) (plan.Node, error) {
	c := &plan.Merge{Evolves: m.flag(7)}
	var err error
	if c.Table, err = m.relation(1); err != nil {
		return nil, err
	}
	if c.Source, err = m.relation(2); err != nil {
		return nil, err
	}
	if c.Cond, err = m.expression(3); err == nil && c.Cond == nil {
		err = emptyField("delta.connect.MergeIntoTable", "condition")
	}
	if err != nil {
		return nil, err
	}
	for _, kind := range []struct {
		field protowire.Number
		name  string
		to    *[]plan.MergeClause
	}{{4, "MATCHED", &c.Matched}, {5, "NOT_MATCHED", &c.NotMatched}, {6, "NOT_MATCHED_BY_SOURCE", &c.BySource}} {
		err := m.each(kind.field, func(a *extended) error {
			clause, err := d.deltaClause(a)
			*kind.to = append(*kind.to, clause)
			return err
		})
		if err != nil {
			return nil, err
		}
		for i, clause := range *kind.to {
			if clause.Cond == nil && i < len(*kind.to)-1 {
				return nil, deltaRefusal("DELTA_NON_LAST_"+kind.name+"_CLAUSE_OMIT_CONDITION", "42601",
					"Only the last clause of a kind may be without a condition: those behind it would do nothing.")
			}
		}
	}
	if len(c.Matched)+len(c.NotMatched)+len(c.BySource) == 0 {
		return nil, deltaRefusal("DELTA_MERGE_MISSING_WHEN", "42601",
			"merge() needs at least one of whenMatched…, whenNotMatched… and whenNotMatchedBySource….")
	}
	return c, nil
}

func deltaRefusal(condition, state, msg string) error {
	e := plan.NewError("org.apache.spark.sql.delta.DeltaAnalysisException", condition, msg)
	e.State = state
	return e
}

// deltaIllegal is an argument that Delta refuses.
func deltaIllegal(condition, state, msg string, args ...string) error {
	e := plan.NewError("org.apache.spark.sql.delta.DeltaIllegalArgumentException", condition, msg, args...)
	e.State = state
	return e
}

// deltaClause is a clause of a merge; its fields 2 to 6 say what it does.
func (d *decoder) deltaClause(m *extended) (c plan.MergeClause, err error) {
	if c.Cond, err = m.expression(1); err != nil {
		return c, err
	}
	var set protowire.Number
	switch {
	case m.has(2):
		c.Action = plan.MergeDelete
	case m.has(3):
		c.Action, set = plan.MergeUpdate, 3
	case m.has(4):
		c.Action, c.All = plan.MergeUpdate, true
	case m.has(5):
		c.Action, set = plan.MergeInsert, 5
	case m.has(6):
		c.Action, c.All = plan.MergeInsert, true
	default:
		return c, plan.Unsupported("A clause of merge() of a newer Delta Lake package")
	}
	if set == 0 {
		return c, nil
	}
	action, err := m.message(set)
	if err != nil {
		return c, err
	}
	c.Set, err = d.deltaSet(action, 1)
	return c, err
}

func (d *decoder) deltaOptimize(m *extended) (plan.Node, error) {
	o := &plan.Optimize{}
	for _, text := range m.texts(2) {
		cond, err := sql.ParseExpr(text)
		if err != nil {
			return nil, err
		}
		o.Where = append(o.Where, cond)
	}
	for _, column := range m.texts(3) {
		parts, err := sql.ParseColumn(column)
		if err != nil {
			return nil, err
		}
		o.ZOrder = append(o.ZOrder, parts)
	}
	return d.onDelta(m, func(name []string) plan.Command {
		o.Table = name
		return o
	})
}

func (d *decoder) deltaClone(m *extended) (plan.Command, error) {
	if !m.flag(5) {
		return nil, deltaIllegal("DELTA_UNSUPPORTED_DEEP_CLONE", "0A000",
			"Clones are shallow: clone(target, isShallow=True).")
	}
	target, err := sql.ParseName(m.text(2))
	if err != nil {
		return nil, err
	}
	properties, err := m.entries(7)
	if err != nil {
		return nil, err
	}
	c := &plan.Clone{Name: target, Replace: m.flag(6), Options: deltaVersion(m, 3, 4)}
	for key, value := range properties {
		c.Properties = append(c.Properties, plan.Property{Key: key, Value: value})
	}
	return d.onDelta(m, func(name []string) plan.Command {
		c.Source = name
		return c
	})
}

func (d *decoder) deltaVacuum(m *extended) (plan.Command, error) {
	return d.onDelta(m, func(name []string) plan.Command {
		v := &plan.Vacuum{Table: name}
		if m.has(2) {
			hours := math.Float64frombits(m.bits(2))
			v.Hours = &hours
		}
		return v
	})
}

// deltaUpgrade is ALTER TABLE … SET TBLPROPERTIES, which is what Delta makes of it.
func (d *decoder) deltaUpgrade(m *extended) (plan.Command, error) {
	return d.altersDelta(m, plan.TableChange{SetProperties: []plan.Property{
		{Key: "delta.minReaderVersion", Value: strconv.FormatInt(m.number(2), 10)},
		{Key: "delta.minWriterVersion", Value: strconv.FormatInt(m.number(3), 10)},
	}})
}

func (d *decoder) altersDelta(m *extended, change plan.TableChange) (plan.Command, error) {
	return d.onDelta(m, func(name []string) plan.Command {
		return &plan.AlterTable{Table: name, Change: change}
	})
}

func (d *decoder) deltaAddFeature(m *extended) (plan.Command, error) {
	name := m.text(2)
	return d.altersDelta(m, plan.TableChange{AddFeature: &name})
}

func (d *decoder) deltaDropFeature(*extended) (plan.Command, error) {
	return nil, plan.Unsupported("ALTER TABLE DROP FEATURE")
}

// manifestMode is all that generate() makes.
const manifestMode = "symlink_format_manifest"

func (d *decoder) deltaGenerate(m *extended) (plan.Command, error) {
	if mode := m.text(2); mode != manifestMode {
		return nil, deltaIllegal("DELTA_MODE_NOT_SUPPORTED", "0AKDC",
			"There is nothing of the kind "+mode+" to generate.", "mode", mode, "supportedModes", manifestMode)
	}
	return nil, plan.Unsupported("GENERATE " + manifestMode)
}

// deltaCreate is DeltaTable.create and its siblings.
func (d *decoder) deltaCreate(m *extended) (plan.Command, error) {
	c := &plan.CreateTable{
		Schema: plan.Struct(), Format: "delta", Location: m.text(3), Comment: m.text(4),
		Partitions: m.texts(6), Clustering: m.texts(8),
	}
	switch mode := m.number(1); mode {
	case 1:
	case 2:
		c.IfNotExists = true
	case 3:
		c.Replace = true
	case 4:
		c.Replace, c.OrCreate = true, true
	default:
		return nil, plan.Unsupported("The mode " + strconv.FormatInt(mode, 10) + " of a table to create")
	}
	var err error
	if c.Properties, err = m.entries(7); err != nil {
		return nil, err
	}
	err = m.each(5, func(column *extended) error {
		f, err := d.deltaColumn(column)
		c.Schema.Fields = append(c.Schema.Fields, f)
		return err
	})
	if err == nil {
		err = checkDeltaLayout(c)
	}
	switch {
	case err != nil:
		return nil, err
	case m.has(2):
		c.Name, err = sql.ParseName(m.text(2))
	case m.has(3):
		c.Name, c.Location = deltaPath(c.Location), ""
	default:
		err = deltaRefusal("DELTA_CREATE_TABLE_MISSING_TABLE_NAME_OR_LOCATION", "42601",
			"A table needs tableName(…) or location(…).")
	}
	return &plan.OnDelta{Then: c}, err
}

// checkDeltaLayout refuses what the builder cannot lay a table out by.
func checkDeltaLayout(c *plan.CreateTable) error {
	if len(c.Partitions) > 0 && len(c.Clustering) > 0 {
		return deltaRefusal("DELTA_CLUSTER_BY_WITH_PARTITIONED_BY", "42613",
			"A table is clustered or partitioned, not both.")
	}
	for _, name := range c.Partitions {
		has := slices.ContainsFunc(c.Schema.Fields, func(f plan.Field) bool {
			return strings.EqualFold(f.Name, name)
		})
		if !has && len(c.Schema.Fields) > 0 {
			return plan.AnalysisError("_LEGACY_ERROR_TEMP_3060", "There is no column "+name+" to partition by.",
				"i", name, "schema", plan.TreeString(c.Schema, 0))
		}
	}
	return nil
}

// deltaColumn is a column of the builder.
func (d *decoder) deltaColumn(m *extended) (f plan.Field, err error) {
	f = plan.Field{Name: m.text(1), Nullable: m.flag(3)}
	if f.Type, err = m.dataType(2); err != nil {
		return f, err
	}
	if m.has(5) {
		f = f.With("comment", plan.JSONText(m.text(5)))
	}
	if m.has(4) {
		f = f.With(plan.GeneratedMark, plan.JSONText(m.text(4)))
	}
	if !m.has(6) {
		return f, nil
	}
	identity, err := m.message(6)
	return f.With(plan.IdentityStart, strconv.FormatInt(identity.number(1), 10)).
		With(plan.IdentityStep, strconv.FormatInt(identity.number(2), 10)).
		With(plan.IdentityExplicit, strconv.FormatBool(identity.flag(3))), err
}
