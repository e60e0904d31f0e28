package session

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/analyze"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/connector/deltatable"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/dml"
	"github.com/weir-dev/weir/internal/session/spool"
)

// upsert makes the sink of a query in mode update whose groups take the place of what a
// Delta table has of them (weir.delta.upsert).
func (b *streamStart) upsert(resolved plan.Node) error {
	wanted, err := optionFlag(b.spec.Options, deltatable.UpsertOption)
	if err != nil || !wanted || b.format.Name != deltaFormat {
		return err
	}
	if b.spec.Mode != plan.UpdateMode {
		return plan.IllegalArgument("The option %s is for the output mode update.", deltatable.UpsertOption)
	}
	keys, err := analyze.GroupKeys(resolved, "The option "+deltatable.UpsertOption)
	if err != nil {
		return err
	}
	made, scope := *b.format, b.scope
	open := made.Sink
	made.Sink = func(ctx context.Context, env *connector.Env, spec connector.SinkSpec) (connector.Sink, error) {
		table, err := deltatable.Table(env, spec.Path)
		if err != nil {
			return nil, err
		}
		inner, err := open(ctx, env, spec)
		if err != nil {
			return nil, err
		}
		first := inner.(deltaSink)
		return &upsertSink{deltaSink: first, scope: scope, spec: spec, table: table, keys: keys}, nil
	}
	b.format = &made
	return nil
}

// deltaSink is what connector opens for a Delta table.
type deltaSink interface {
	connector.Sink
	connector.Skipper
}

// upsertSink merges batches into a table, one commit each that names query and batch.
type upsertSink struct {
	deltaSink // makes the table with the first batch, and knows which ones it has
	scope     *scope
	spec      connector.SinkSpec
	table     delta.Table
	keys      []string // of the groups
}

func (k *upsertSink) Write(ctx context.Context, batch connector.Batch) (int64, error) {
	there, err := k.table.Exists()
	if err != nil || !there {
		if err == nil {
			_, err = k.deltaSink.Write(ctx, batch)
		}
		return uncounted, err
	}
	rows, err := k.scope.session.engine.spooled(k.spec.Schema, batch.Rows, k.scope.eval.Memory)
	if err != nil {
		return 0, err
	}
	for range upsertAttempts {
		if err = k.merge(ctx, rows, batch.ID); !outpaced(err) {
			break
		}
	}
	return uncounted, errors.Join(err, rows.Remove())
}

// upsertAttempts bounds how often a batch is merged anew because another writer changed
// the table meanwhile.
const upsertAttempts = 10

// outpaced reports whether another writer came first, so that the same rows can be
// merged into what the table is now.
func outpaced(err error) bool {
	var e *plan.Error
	if !errors.As(err, &e) {
		return false
	}
	condition, _, _ := strings.Cut(e.Condition, ".")
	return slices.Contains([]string{
		"DELTA_CONCURRENT_APPEND", "DELTA_CONCURRENT_DELETE_READ", "DELTA_CONCURRENT_DELETE_DELETE",
		"DELTA_CONCURRENT_WRITE", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED",
	}, condition)
}

func (k *upsertSink) merge(ctx context.Context, rows *spool.Spool, batch int64) error {
	sc := *k.scope
	sc.formats = nil
	c, err := k.statement(rows)
	if err != nil {
		return err
	}
	txn := &delta.Txn{AppID: k.spec.QueryID, Version: batch, LastUpdated: sc.files.Now().UnixMilli()}
	return dml.MergeBatch(ctx, sc.statement(), c, rows, txn)
}

// Names of the two sides of the MERGE.
const (
	upsertTable = "table"
	upsertBatch = "batch"
)

// statement is the MERGE of a batch.
func (k *upsertSink) statement(rows *spool.Spool) (*plan.Merge, error) {
	evolves, err := optionFlag(k.spec.Options, "mergeSchema")
	c := &plan.Merge{
		Table: plan.NewAlias(&plan.Read{Format: deltaFormat, Paths: []string{k.spec.Path}}, upsertTable),
		Source: plan.NewAlias(&plan.Scan{Relation: plan.Relation{Format: spoolTable, Schema: rows.Schema}},
			upsertBatch),
		Matched:    []plan.MergeClause{{Action: plan.MergeUpdate, All: true}},
		NotMatched: []plan.MergeClause{{Action: plan.MergeInsert, All: true}},
		Evolves:    evolves,
	}
	for _, key := range k.keys {
		var same plan.Expr = &plan.UnresolvedFunction{Name: []string{"<=>"}, Args: []plan.Expr{
			&plan.UnresolvedAttribute{Parts: []string{upsertTable, key}},
			&plan.UnresolvedAttribute{Parts: []string{upsertBatch, key}},
		}}
		if c.Cond != nil {
			same = &plan.UnresolvedFunction{Name: []string{"and"}, Args: []plan.Expr{c.Cond, same}}
		}
		c.Cond = same
	}
	return c, err
}
