package session

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/weir-dev/weir/internal/analyze"
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/dml"
	"github.com/weir-dev/weir/internal/session/settings"
	"github.com/weir-dev/weir/internal/session/spool"
	"github.com/weir-dev/weir/internal/sql"
)

func newID() string { return uuid.NewString() }

// fold is a name as it is looked up: names do not differ by case.
func fold(name string) string { return strings.ToLower(name) }

// scope is what one statement sees of its session: the settings and the
// instant of its start (S3).
type scope struct {
	session *Session
	conf    *settings.Conf
	eval    *function.Env
	files   *connector.Env
	formats map[string]*connector.Format // that only this statement knows
}

// begin fixes what a statement sees.
func (s *Session) begin() (*scope, error) {
	conf := s.conf.Frozen()
	zone, err := codec.Zone(conf.Value(settings.ZoneKey))
	if err != nil {
		return nil, err
	}
	catalogName, schema := s.current()
	searchPath := s.queryPath()
	lookup := func(key string) string {
		switch key {
		case function.ConfCatalog:
			return catalogName
		case function.ConfSchema:
			return schema
		case function.ConfUser:
			return s.user
		case function.SearchPath:
			return searchPath
		}
		return conf.Value(key)
	}
	sc := &scope{session: s, conf: conf, eval: &function.Env{
		ANSI: conf.Flag(settings.AnsiKey), Zone: zone, Now: time.Now().UnixMicro(), Conf: lookup,
		Schema: sql.ParseSchemaText, Memory: s.engine.queryBudget(conf),
	}}
	sc.files = &connector.Env{
		Files: s.engine.files, Eval: sc.eval, Conf: lookup, Parallelism: s.engine.parallelism,
		Now: time.Now, Console: s.engine.options.Console, Snapshots: &s.engine.snapshots,
		Warn: func(text string) { s.engine.log.Warn(text, "session", s.id) },
		Condition: func(cond plan.Expr, columns []*plan.Attribute) (func(*chunk.Chunk) (chunk.Sel, error), error) {
			return eval.Condition(cond, columns, sc.eval)
		},
	}
	sc.files.Compute = sc.compute
	if w := s.batchWrites(); w != nil {
		sc.files.NextWrite = w.next
	}
	return sc, nil
}

func (sc *scope) analyzer() *analyze.Analyzer {
	return &analyze.Analyzer{
		Names: names{sc}, From: names{sc}, Eval: sc.eval, IDs: sc.session.engine.ids,
		CaseSensitive: sc.conf.Flag(settings.CaseKey),
		Column:        sc.onlyColumn, PivotMost: sc.number("spark.sql.pivotMaxValues"),
		TransposeMost: sc.number("spark.sql.transposeMaxValues"),
	}
}

// statement is what a statement that changes a table sees.
func (sc *scope) statement() *dml.Statement {
	f, _ := sc.session.engine.format(deltaFormat)
	a := sc.analyzer()
	return &dml.Statement{
		Analyzer: a, Eval: sc.eval, Files: sc.files, Conf: sc.conf.Value, Delta: f,
		Partitions: sc.partitions(), Own: sc.own,
		Query: func(ctx context.Context, n plan.Node) (chunk.Rows, error) { return sc.query(ctx, a, n) },
		Spool: func(schema plan.Type, rows chunk.Rows) (*spool.Spool, error) {
			return sc.session.engine.spooled(schema, rows, sc.eval.Memory)
		},
	}
}

// own makes a format that only this statement knows.
func (sc *scope) own(f *connector.Format) {
	if sc.formats == nil {
		sc.formats = map[string]*connector.Format{}
	}
	sc.formats[f.Name] = f
}

// query runs a plan over resolved relations and expressions.
func (sc *scope) query(ctx context.Context, a *analyze.Analyzer, n plan.Node) (chunk.Rows, error) {
	n, err := a.Finish(n)
	if err != nil {
		return nil, err
	}
	if err := sc.checkPython(n); err != nil {
		return nil, err
	}
	r, err := sc.run(ctx, n)
	if err != nil {
		return nil, err
	}
	return r.Rows, nil
}

// partitions is spark.sql.shuffle.partitions.
func (sc *scope) partitions() int {
	n, err := strconv.Atoi(strings.TrimSpace(sc.conf.Value(settings.PartitionsKey)))
	if err != nil || n < 1 {
		return 0 // the default of exec
	}
	return n
}

// format finds a source or sink by name. The tables of memory sinks and the
// batches of foreachBatch are read as formats of their own.
func (sc *scope) format(name string) (*connector.Format, bool) {
	if f := sc.formats[name]; f != nil {
		return f, true
	}
	switch name {
	case memoryTable:
		return &connector.Format{Name: memoryTable, Scan: sc.session.scanMemory}, true
	case spoolTable:
		return &connector.Format{Name: spoolTable, Scan: sc.session.scanSpool}, true
	}
	return sc.session.engine.format(name)
}

// open yields the rows of a scan in a batch query.
func (sc *scope) open(ctx context.Context, scan *plan.Scan) chunk.Rows {
	f, ok := sc.format(scan.Relation.Format)
	if !ok {
		return chunk.Fail(noSuchFormat(scan.Relation.Format))
	}
	if f.Scan == nil {
		return chunk.Fail(plan.Unsupported("Reading " + f.Name + " in a batch query"))
	}
	return padded(f.Scan(ctx, sc.files, scan), scan)
}
