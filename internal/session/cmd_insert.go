package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/catalog"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/dml"
	"github.com/weir-dev/weir/internal/session/settings"
	"github.com/weir-dev/weir/internal/sql"
)

// insert is INSERT INTO and INSERT OVERWRITE.
func insert(ctx context.Context, s *Session, c *plan.Insert) (*Result, error) {
	sc, err := s.begin()
	if err != nil {
		return nil, err
	}
	t, err := sc.tableAt(c.Table)
	if t == nil && err == nil {
		t, err = s.insertTarget(c.Table, "INSERT")
	}
	if err != nil {
		return nil, err
	}
	into := &insertion{scope: sc, table: t, overwrite: c.Overwrite || c.Replace != nil, condition: c.Replace}
	if err := into.open(ctx); err != nil {
		return nil, err
	}
	values, err := into.withDefaults(c)
	if err != nil {
		return nil, err
	}
	query, err := sc.batch(ctx, values)
	if err != nil {
		return nil, err
	}
	if err := into.static(c.Partition); err != nil {
		return nil, err
	}
	switch {
	case c.ByName:
		err = into.byName(query)
	case c.Columns != nil:
		err = into.byList(query, c.Columns)
	default:
		err = into.byPosition(query)
	}
	if err == nil {
		err = into.checkPartition(c.Partition)
	}
	if err != nil {
		return nil, err
	}
	return into.write(ctx, query)
}

// checkPartition: PARTITION (…) of a table of files names all its partition
// columns, those with a value first.
func (in *insertion) checkPartition(named []plan.PartitionValue) error {
	if len(named) == 0 || in.format.Create != nil {
		return nil
	}
	if len(named) != len(in.relation.Partitions) {
		names := make([]string, len(named))
		for i, v := range named {
			names[i] = in.columns()[in.scope.column(in.relation.Schema, v.Column)].Name
		}
		have, all := strings.Join(names, ","), strings.Join(in.relation.Partitions, ",")
		return plan.AnalysisError("_LEGACY_ERROR_TEMP_1169",
			fmt.Sprintf("the table %s is partitioned by %s, and PARTITION names %s.", in.name(), all, have),
			"tableName", in.name(), "normalizedPartSpec", have, "partColNames", all)
	}
	dynamic := false
	for _, name := range in.relation.Partitions {
		_, fixed := in.fixed[name]
		if dynamic && fixed {
			return plan.AnalysisError("_LEGACY_ERROR_TEMP_1147",
				"partition columns with a value come before those without one.",
				"partColumns", "["+strings.Join(in.relation.Partitions, ",")+"]")
		}
		dynamic = dynamic || !fixed
	}
	return nil
}

// withDefaults puts the defaults of columns, NULL where they have none, in the place of
// the word DEFAULT in VALUES.
func (in *insertion) withDefaults(c *plan.Insert) (plan.Node, error) {
	values, ok := c.Query.(*plan.InlineTable)
	if !ok {
		return c.Query, nil
	}
	m := *values
	m.Rows = make([][]plan.Expr, len(values.Rows))
	for i, row := range values.Rows {
		m.Rows[i] = slices.Clone(row)
		for j, e := range row {
			if !dml.IsDefault(e) {
				continue
			}
			var err error
			if m.Rows[i][j], err = in.defaultOf(c, j); err != nil {
				return nil, err
			}
		}
	}
	return &m, nil
}

// defaultOf is the default of the column that the value number j goes into.
func (in *insertion) defaultOf(c *plan.Insert, j int) (plan.Expr, error) {
	at := j
	if c.Columns != nil {
		if at = -1; j < len(c.Columns) {
			at = in.scope.column(in.relation.Schema, c.Columns[j])
		}
	}
	if at < 0 || at >= len(in.columns()) {
		return plan.Lit(nil, plan.Null), nil
	}
	text := in.columns()[at].Entry(plan.DefaultMark)
	if text == "" {
		return plan.Lit(nil, plan.Null), nil
	}
	return sql.ParseExpr(text)
}

// insertTarget is the table that rows go into.
func (s *Session) insertTarget(parts []string, operation string) (*catalog.Table, error) {
	t, err := s.realTable(parts, operation)
	if e, ok := err.(*plan.Error); ok && e.Condition == "TABLE_OR_VIEW_NOT_FOUND" {
		return nil, statementNotFound(parts, s.queryPath())
	}
	return t, err
}

// insertion is rows on their way into a table.
type insertion struct {
	scope     *scope
	table     *catalog.Table
	overwrite bool
	options   plan.Options
	frame     bool      // df.write rather than INSERT
	condition plan.Expr // of the rows that are replaced; nil for all

	format   *connector.Format
	relation *plan.Relation
	fixed    map[string]plan.Expr // values of PARTITION (k = v), by column
	values   []plan.Expr          // one for each of written
	written  plan.Type            // the columns but for those that the table fills
}

func (in *insertion) open(ctx context.Context) error {
	var err error
	if in.relation, err = in.scope.relationOf(ctx, in.table, nil); err != nil {
		return err
	}
	if plan.Travels(in.relation.Options) {
		return delta.HistoricalWrite(in.relation.Options)
	}
	f, ok := in.scope.format(in.table.Format)
	if !ok {
		return noSuchFormat(in.table.Format)
	}
	if f.Write == nil {
		return plan.Unsupported("Writing rows to a table of the format " + f.Name)
	}
	in.format, in.fixed, in.written = f, map[string]plan.Expr{}, plan.Struct()
	return nil
}

// name is the table in errors of Spark, which call one by its path otherwise.
func (in *insertion) name() string {
	if in.byPath() {
		return plan.QuoteParts([]string{deltaFormat, "file:" + in.table.Location})
	}
	return plan.QuoteParts(in.table.ID.Parts())
}

// byPath reports whether no catalog knows the table.
func (in *insertion) byPath() bool {
	return in.table.ID.Schema == deltaFormat && strings.Contains(in.table.ID.Name, "/")
}

func (in *insertion) columns() []plan.Field { return in.relation.Schema.Fields }

// static notes the values of PARTITION (k = v).
func (in *insertion) static(values []plan.PartitionValue) error {
	for _, v := range values {
		at := in.scope.column(in.relation.Schema, v.Column)
		if at < 0 || !slices.Contains(in.relation.Partitions, in.columns()[at].Name) {
			return plan.AnalysisError("NON_PARTITION_COLUMN",
				fmt.Sprintf("the table is not partitioned by %s.", plan.Quote(v.Column)),
				"columnName", plan.Quote(v.Column))
		}
		if v.Value != nil {
			in.fixed[in.columns()[at].Name] = v.Value
		}
	}
	return nil
}

// wanted are the columns that the query gives: those without a fixed value.
func (in *insertion) wanted() []plan.Field {
	return slices.DeleteFunc(slices.Clone(in.columns()), func(f plan.Field) bool {
		_, fixed := in.fixed[f.Name]
		return fixed
	})
}

// byPosition is INSERT INTO t. A Delta table tells of too many columns when its log
// is asked to take them up.
func (in *insertion) byPosition(query plan.Node) error {
	list, outputs := in.wanted(), query.Output()
	if !selfDescribing(in.format.Name) {
		return in.assign(list, outputs)
	}
	if len(outputs) < len(list) {
		shown := in.table.ID.String()
		if in.byPath() {
			shown = "delta.`file:" + in.table.Location + "`"
		}
		return dml.Mistake("DELTA_INSERT_COLUMN_ARITY_MISMATCH", "42802",
			fmt.Sprintf("The query gives %d columns, and %s takes %d.", len(outputs), shown, len(list)),
			"tableName", shown, "columnName", "not enough data columns", "numColumns", strconv.Itoa(len(list)),
			"insertColumns", strconv.Itoa(len(outputs)))
	}
	given := map[string]plan.Expr{}
	for i, f := range list {
		given[f.Name] = outputs[i]
	}
	return in.widen(outputs[len(list):], given)
}

// byList is INSERT INTO t (a, b): the other columns are NULL.
func (in *insertion) byList(query plan.Node, names []string) error {
	var list []plan.Field
	for _, name := range names {
		at := in.scope.column(in.relation.Schema, name)
		if at < 0 {
			return in.unknown(name)
		}
		f := in.columns()[at]
		if slices.ContainsFunc(list, func(g plan.Field) bool { return g.Name == f.Name }) {
			return columnExists(f.Name)
		}
		list = append(list, f)
	}
	return in.assign(list, query.Output())
}

func (in *insertion) unknown(name string) error {
	proposal := quotedList(fieldNames(in.relation.Schema))
	return plan.AnalysisError("UNRESOLVED_COLUMN.WITH_SUGGESTION",
		fmt.Sprintf("the table %s has no column %s.", in.name(), plan.Quote(name)),
		"objectName", plan.Quote(name), "proposal", proposal)
}

// assign gives columns the outputs of the query, in order.
func (in *insertion) assign(list []plan.Field, outputs []*plan.Attribute) error {
	if len(list) != len(outputs) {
		sub, word := "NOT_ENOUGH_DATA_COLUMNS", "fewer"
		if len(outputs) > len(list) {
			sub, word = "TOO_MANY_DATA_COLUMNS", "more"
		}
		return plan.AnalysisError("INSERT_COLUMN_ARITY_MISMATCH."+sub,
			fmt.Sprintf("the query gives %s columns than %s takes.", word, in.name()),
			"tableName", in.name(), "tableColumns", quotedList(fieldNames(plan.Struct(list...))),
			"dataColumns", quotedList(attributeNames(outputs)))
	}
	given := map[string]plan.Expr{}
	for i, f := range list {
		given[f.Name] = outputs[i]
	}
	return in.complete(given)
}

func attributeNames(attrs []*plan.Attribute) []string {
	names := make([]string, len(attrs))
	for i, a := range attrs {
		names[i] = a.Name
	}
	return names
}

// byName matches columns by their names; those the query lacks are NULL.
func (in *insertion) byName(query plan.Node) error {
	given := map[string]plan.Expr{}
	var extra []*plan.Attribute
	for _, a := range query.Output() {
		at := in.scope.column(in.relation.Schema, a.Name)
		if at < 0 {
			extra = append(extra, a)
			continue
		}
		f := in.columns()[at]
		if given[f.Name] != nil {
			return plan.AnalysisError("INCOMPATIBLE_DATA_FOR_TABLE.AMBIGUOUS_COLUMN_NAME",
				fmt.Sprintf("the query gives the column %s of %s twice.", plan.Quote(f.Name), in.name()),
				"tableName", in.name(), "colName", plan.Quote(f.Name))
		}
		given[f.Name] = a
	}
	if selfDescribing(in.format.Name) {
		return in.widen(extra, given)
	}
	if len(extra) > 0 {
		return plan.AnalysisError("INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_COLUMNS",
			fmt.Sprintf("the table %s has no columns %s.", in.name(), quotedList(attributeNames(extra))),
			"tableName", in.name(), "extraColumns", quotedList(attributeNames(extra)))
	}
	return in.complete(given)
}

// sameColumns refuses a query whose columns are not those of the table, in
// whatever order.
func (in *insertion) sameColumns(query plan.Node) error {
	have, given := in.relation.Schema, plan.SchemaOf(query.Output())
	if err := in.scope.distinctColumns(given); err != nil {
		return err
	}
	table := in.table.ID.String()
	if len(have.Fields) != len(given.Fields) {
		return plan.AnalysisError("_LEGACY_ERROR_TEMP_1161",
			fmt.Sprintf("The table %s has %d columns, and the frame %d.", table, len(have.Fields), len(given.Fields)),
			"tableName", table, "existingTableSchema", have.Simple(), "querySchema", given.Simple())
	}
	for _, f := range have.Fields {
		if in.scope.column(given, f.Name) < 0 {
			return plan.AnalysisError("_LEGACY_ERROR_TEMP_1162",
				fmt.Sprintf("The frame has no column %s, which the table %s has.", plan.Quote(f.Name), table),
				"col", f.Name, "inputColumns", strings.Join(fieldNames(given), ", "))
		}
	}
	return nil
}

// widen adds the columns that the table lacks to what is written; the table's
// log takes them up, or refuses them.
func (in *insertion) widen(extra []*plan.Attribute, given map[string]plan.Expr) error {
	fields := slices.Clone(in.columns())
	for _, a := range extra {
		fields = append(fields, plan.Field{Name: a.Name, Type: a.Of.AsNullable(), Nullable: true})
		given[a.Name] = a
	}
	r := *in.relation
	r.Schema = plan.Struct(fields...)
	in.relation = &r
	return in.complete(given)
}

// complete casts what is given and puts NULL where nothing is.
func (in *insertion) complete(given map[string]plan.Expr) error {
	assign := in.scope.assigner(in.table.ID)
	assign.casts = selfDescribing(in.format.Name)
	for _, f := range in.columns() {
		e := given[f.Name]
		if fixed, ok := in.fixed[f.Name]; ok {
			e = fixed
		}
		if e == nil && slices.Contains(in.relation.Filled, f.Name) {
			continue
		}
		if e == nil && !f.Nullable {
			return in.missing(f.Name)
		}
		if e == nil {
			e = plan.Lit(nil, plan.Null)
		}
		if literal, ok := e.(*plan.Literal); ok && in.fixed[f.Name] != nil {
			e = partitionLiteral(literal, f)
		}
		value, err := assign.column(e, f)
		if err != nil {
			return err
		}
		in.values = append(in.values, value)
		in.written.Fields = append(in.written.Fields, f)
	}
	return nil
}

// missing refuses rows without a column that takes no NULL.
func (in *insertion) missing(column string) error {
	why := fmt.Sprintf("the column %s of %s takes no NULL, and the rows have no such column.", column, in.name())
	if in.frame {
		return delta.Refused("DELTA_MISSING_NOT_NULL_COLUMN_VALUE", why, "columnName", column)
	}
	return delta.Mistake("DELTA_INSERT_COLUMN_MISMATCH", why, "columnName", column)
}

// partitionLiteral casts the text of PARTITION (k = 'v') to the column's type,
// which the store assignment rules would refuse.
func partitionLiteral(l *plan.Literal, f plan.Field) plan.Expr {
	if !l.Of.IsString() || f.Type.IsString() {
		return l
	}
	return &plan.Cast{Child: l, To: f.Type, Mode: plan.CastANSI}
}

// write runs the query into the table.
func (in *insertion) write(ctx context.Context, query plan.Node) (*Result, error) {
	sc := in.scope
	if in.overwrite && !selfDescribing(in.format.Name) && readsTable(query, in.table.ID) {
		return nil, plan.AnalysisError("UNSUPPORTED_OVERWRITE.TABLE",
			fmt.Sprintf("the table %s cannot be overwritten with rows read from it.", in.name()),
			"table", in.name())
	}
	r, err := sc.run(ctx, plan.NewProject(query, in.values...))
	if err != nil {
		return nil, err
	}
	spec := connector.WriteSpec{
		Schema: in.written.Unbounded(), Mode: plan.SaveAppend, Path: in.table.Location,
		Options: maps.Clone(in.relation.Options), Partitions: in.relation.Partitions,
	}
	if selfDescribing(in.format.Name) {
		spec.Partitions = nil // nobody named them
	}
	maps.Copy(spec.Options, in.options)
	if in.overwrite {
		spec.Mode = plan.SaveOverwrite
		if len(in.fixed) > 0 || in.dynamic() {
			spec.Options[overwriteOption] = "dynamic"
		}
	}
	if spec.Replaces, err = in.replaced(ctx); err != nil {
		return nil, err
	}
	rows := checked(r.Rows, in.written)
	if in.format.Create == nil {
		rows = fitted(rows, in.written) // formats with a log see to it themselves
	}
	if err := in.format.Write(ctx, sc.files, spec, rows); err != nil {
		return nil, err
	}
	return &Result{Schema: plan.Struct(), Rows: empty().Rows, Observed: r.Observed}, nil
}

// overwriteOption limits an overwrite to the partitions that get rows.
const overwriteOption = "partitionOverwriteMode"

func (in *insertion) dynamic() bool {
	mode, ok := in.options.Get(overwriteOption)
	if !ok {
		mode = in.scope.conf.Value(settings.OverwriteKey)
	}
	return strings.EqualFold(mode, "dynamic") && len(in.relation.Partitions) > 0
}

// readsTable reports whether a resolved plan scans a table.
func readsTable(n plan.Node, id plan.TableID) bool {
	return !plan.WalkNodes(n, func(m plan.Node) bool {
		scan, ok := m.(*plan.Scan)
		return !ok || scan.Relation.Table == nil || *scan.Relation.Table != id
	})
}
