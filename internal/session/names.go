package session

import (
	"context"
	"maps"
	"strings"

	"github.com/weir-dev/weir/internal/catalog"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/connector/deltatable"
	"github.com/weir-dev/weir/internal/exec"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/pyworker"
	"github.com/weir-dev/weir/internal/session/settings"
	"github.com/weir-dev/weir/internal/sql"
	"github.com/weir-dev/weir/internal/vfs"
)

// names answers what analysis asks about the world of one statement.
type names struct{ sc *scope }

// Table finds a temporary view, a table or view of the catalog, or files that
// are read in place (parquet.`/path`), in this order.
func (n names) Table(ctx context.Context, t *plan.NamedTable) (plan.Node, error) {
	s := n.sc.session
	if t.Delta {
		if err := n.sc.mustBeDelta(t.Name); err != nil {
			return nil, err
		}
	}
	if v := s.findView(t.Name); v != nil {
		if t.Streaming && !v.streaming {
			return nil, notAStream(t.Name)
		}
		if plan.Travels(t.Options) {
			return nil, noTimeTravel(t.Name)
		}
		return aliased(v.plan, t.Name), nil
	}
	id, idErr := s.tableID(t.Name)
	if idErr == nil {
		if found := s.engine.find(id); found != nil {
			return n.entry(ctx, found, t)
		}
	}
	if len(t.Name) == 2 {
		if f, ok := n.sc.format(t.Name[0]); ok && f.Describe != nil {
			if err := n.sc.exists(f, t); err != nil {
				return nil, err
			}
			return &plan.Read{
				Format: f.Name, Options: t.Options, Paths: []string{t.Name[1]}, Streaming: t.Streaming,
			}, nil
		}
	}
	if idErr != nil {
		return nil, idErr
	}
	e := catalog.TableNotFound(t.Name, s.queryPath())
	e.Class = plan.ClassExtendedAnalysis
	return nil, e.At(t.Origin)
}

// exists refuses a path of a statement where there is nothing. Formats of files
// say so themselves.
func (sc *scope) exists(f *connector.Format, t *plan.NamedTable) error {
	if f.Create == nil || t.Streaming {
		return nil
	}
	path, err := deltatable.Path(sc.files, t.Name[1])
	if err != nil {
		return err
	}
	place, err := sc.session.engine.files.Resolve(path)
	if err != nil {
		return err
	}
	if _, err := place.FS.Stat(place.Path); !vfs.NotFound(err) {
		return nil
	}
	e := plan.AnalysisError("PATH_NOT_FOUND", "There is nothing at "+t.Name[1]+".", "path", t.Name[1])
	return e.At(t.Origin)
}

// entry is a table or view of the catalog as a relation.
func (n names) entry(ctx context.Context, t *catalog.Table, use *plan.NamedTable) (plan.Node, error) {
	if t.IsView() && plan.Travels(use.Options) {
		return nil, noTimeTravel(t.ID.Parts())
	}
	if t.IsView() {
		return n.view(t)
	}
	if !selfDescribing(t.Format) && plan.Travels(use.Options) {
		return nil, noTimeTravel(t.ID.Parts())
	}
	relation, err := n.sc.relationOf(ctx, t, use)
	if err != nil {
		return nil, err
	}
	if f, _ := n.sc.format(t.Format); use.Streaming && f.Source == nil {
		return nil, notStreamed(f.Name, "reading")
	}
	return &plan.Scan{Relation: *relation, Streaming: use.Streaming}, nil
}

func noTimeTravel(name []string) error {
	return plan.AnalysisError("UNSUPPORTED_FEATURE.TIME_TRAVEL",
		plan.QuoteParts(name)+" has no older versions that could be read; Delta tables have.",
		"relationId", plan.QuoteParts(name))
}

// view reads the text of a view under the names it was made with.
func (n names) view(t *catalog.Table) (plan.Node, error) {
	parsed, err := sql.Parse(t.ViewText)
	if err != nil {
		return nil, err
	}
	b := &binder{session: n.sc.session, catalog: t.ViewCatalog, schema: t.ViewSchema}
	bound := b.node(parsed)
	schema, err := t.Schema()
	if err != nil {
		return nil, err
	}
	// The columns keep the names that they had when the view was made.
	return plan.NewAlias(plan.NewRenameAll(bound, fieldNames(schema)), t.ID.Parts()...), nil
}

// relationOf is what a connector needs to read or write a table.
func (sc *scope) relationOf(ctx context.Context, t *catalog.Table, use *plan.NamedTable,
) (*plan.Relation, error) {
	options := plan.Options(maps.Clone(t.Options))
	if options == nil {
		options = plan.Options{}
	}
	if use != nil {
		maps.Copy(options, use.Options)
	}
	schema, err := t.Schema()
	if err != nil {
		return nil, err
	}
	id := t.ID
	r := &plan.Relation{
		Format: t.Format, Schema: schema.AsNullable(), Partitions: t.Partitions, Options: options,
		Table: &id,
	}
	if t.Location != "" {
		r.Paths = []string{t.Location}
	}
	f, ok := sc.format(t.Format)
	if !ok {
		return nil, noSuchFormat(t.Format)
	}
	r.Metadata = f.Metadata
	if !selfDescribing(t.Format) && len(schema.Fields) > 0 || f.Describe == nil {
		return r, nil
	}
	read := &plan.Read{
		Format: t.Format, Options: options, Paths: r.Paths, Streaming: use != nil && use.Streaming,
	}
	found, err := describedBy(ctx, f, sc.files, read)
	if err != nil {
		return nil, err
	}
	found.Table, found.Listing = &id, nil
	return found, nil
}

// selfDescribing formats keep their schema with the rows, which may have
// changed since the catalog learned it.
func selfDescribing(format string) bool { return format == deltaFormat }

// charAsStringKey lets a reader take CHAR and VARCHAR for strings.
const charAsStringKey = "spark.sql.legacy.charVarcharAsString"

// Relation finds the schema of what a reader names.
func (n names) Relation(ctx context.Context, r *plan.Read) (*plan.Relation, error) {
	if r.Delta {
		if err := n.sc.mustBeDelta([]string{deltaFormat, r.Paths[0]}); err != nil {
			return nil, err
		}
	}
	m := *r
	if r.Schema != nil {
		schema := *r.Schema
		if strings.EqualFold(n.sc.conf.Value(charAsStringKey), "true") {
			schema = schema.Unbounded()
		}
		if err := schema.CharAsString(); err != nil {
			return nil, err
		}
		m.Schema = &schema
	}
	if m.Format == "" {
		m.Format = n.sc.conf.Value(settings.FormatKey)
	}
	f, ok := n.sc.format(m.Format)
	if !ok {
		return nil, noSuchFormat(m.Format)
	}
	if m.Streaming && f.Source == nil {
		return nil, notStreamed(f.Name, "reading")
	}
	if f.Describe == nil || f.Scan == nil && !m.Streaming {
		return nil, notReadable(f)
	}
	notes, err := f.UnknownOptions(m.Options)
	if err != nil {
		return nil, err
	}
	if !m.Streaming { // a query has its own events
		n.sc.session.tell(notes)
	}
	m.Format = f.Name
	if p, ok := m.Options.Get("path"); ok && len(m.Paths) == 0 {
		m.Paths = []string{p}
	}
	return describedBy(ctx, f, n.sc.files, &m)
}

// listed makes the reads of a plan find now which files they read, and keep to
// those.
func (n names) listed(ctx context.Context, in plan.Node) (plan.Node, error) {
	return plan.TransformNodes(in, func(m plan.Node) (plan.Node, error) {
		read, ok := m.(*plan.Read)
		if !ok || read.Streaming {
			return m, nil
		}
		relation, err := n.Relation(ctx, read)
		if err != nil || relation.Listing == nil {
			return m, err
		}
		return &plan.Scan{Relation: *relation}, nil
	})
}

// describedBy asks a format for what it would read, its hidden columns included.
func describedBy(ctx context.Context, f *connector.Format, env *connector.Env, r *plan.Read,
) (*plan.Relation, error) {
	found, err := f.Describe(ctx, env, r)
	if err != nil {
		return nil, err
	}
	found.Metadata = f.Metadata
	return found, nil
}

func notReadable(f *connector.Format) *plan.Error {
	return plan.AnalysisError("_LEGACY_ERROR_TEMP_1135",
		"The format "+f.Name+" cannot be read.", "className", f.Name)
}

// Cached finds a frame that the session keeps by id.
func (n names) Cached(id string) (plan.Node, error) {
	s := n.sc.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.cached[id]; found != nil {
		return found, nil
	}
	return nil, plan.NewError(plan.ClassInvalidPlan, "CONNECT_INVALID_PLAN.DATAFRAME_NOT_FOUND",
		"The session keeps no frame "+id+".", "dfId", id, "sessionId", s.id)
}

// Function finds a function that the session registered.
func (n names) Function(name string) *plan.PythonUDF {
	s := n.sc.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.functions[fold(name)]; f != nil && f.EvalType < pyworker.EvalTable {
		return f
	}
	return nil
}

// TableFunction finds a table function that the session registered.
func (n names) TableFunction(name string) *plan.PythonUDF {
	s := n.sc.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.functions[fold(name)]; f != nil && f.EvalType >= pyworker.EvalTable {
		return f
	}
	return nil
}

// AnalyzeTable asks a table function about a call of it.
func (n names) AnalyzeTable(ctx context.Context, c *plan.TableCall) (*plan.TableAnalysis, error) {
	return exec.AskTable(ctx, n.sc.python(), n.sc.eval, c)
}

// SearchPath is the list of namespaces that errors about unknown names show.
func (n names) SearchPath() string { return n.sc.session.queryPath() }

func notAStream(name []string) *plan.Error {
	quoted := plan.QuoteIfNeeded(name[len(name)-1])
	return plan.AnalysisError("_LEGACY_ERROR_TEMP_1008",
		"The view "+quoted+" is no stream; read it with spark.read.table.", "quoted", quoted)
}
