package session

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/dml"
)

// handler runs the commands of one type.
type handler struct {
	of     reflect.Type
	schema func(plan.Command) plan.Type
	run    func(context.Context, *Session, plan.Command) (*Result, error)
}

// handlers lists every command that a session executes, sorted by name.
func handlers() []handler {
	return []handler{
		on(nothing, alterTable),
		on(catalogCallSchema, catalogCall),
		on(cloneSchema, clone),
		on(nothing, createCatalog),
		on(nothing, createSchema),
		on(nothing, createTable),
		on(nothing, createView),
		on(nothing, createVolume),
		on(affectedSchema, deleteRows),
		on(describeSchema, describe),
		on(nothing, dropCatalog),
		on(nothing, dropSchema),
		on(nothing, dropTable),
		on(nothing, dropVolume),
		on(explainSchema, explain),
		on(nothing, insert),
		on(isDeltaSchema, isDelta),
		on(mergeSchema, mergeRows),
		on(nothing, noOp),
		on(nothing, onDelta),
		on(dml.OptimizeSchema, optimize),
		on(nothing, reset),
		on(restoreSchema, restore),
		on(setSchema, set),
		on(showSchema, show),
		on(nothing, startStream),
		on(nothing, truncateTable),
		on(affectedSchema, updateRows),
		on(nothing, use),
		on(vacuumSchema, vacuum),
		on(nothing, write),
	}
}

// on makes the entry of a command's type.
func on[C plan.Command](schema func(C) plan.Type, run func(context.Context, *Session, C) (*Result, error),
) handler {
	return handler{
		of:     reflect.TypeFor[C](),
		schema: func(c plan.Command) plan.Type { return schema(c.(C)) },
		run: func(ctx context.Context, s *Session, c plan.Command) (*Result, error) {
			return run(ctx, s, c.(C))
		},
	}
}

// nothing is the schema of commands that answer nothing.
func nothing[C plan.Command](C) plan.Type { return plan.Struct() }

// handlersByType is the list as a table, made once for an engine.
func handlersByType() map[reflect.Type]handler {
	table := map[reflect.Type]handler{}
	for _, h := range handlers() {
		table[h.of] = h
	}
	return table
}

func (e *Engine) handlerOf(c plan.Command) handler {
	h, ok := e.handlers[reflect.TypeOf(c)]
	if !ok {
		panic(fmt.Sprintf("%T has no handler", c))
	}
	return h
}

// schemaOf is the schema of a command's answer.
func (e *Engine) schemaOf(c plan.Command) plan.Type {
	if o, ok := c.(*plan.OnDelta); ok {
		c = o.Then
	}
	return e.handlerOf(c).schema(c)
}

// Command executes a command; its rows are made when it returns.
func (s *Session) Command(ctx context.Context, c plan.Command) (*Result, error) {
	r, err := s.engine.handlerOf(c).run(ctx, s, c)
	if err != nil {
		return nil, said(err)
	}
	return r, s.afterWrite(c)
}

// Settings of the transaction that statements of a session are in.
const (
	txnVersionKey = "spark.databricks.delta.write.txnVersion"
	txnResetKey   = "spark.databricks.delta.write.txnVersion.autoReset.enabled"
)

// afterWrite ends the transaction that a session's settings name, where they say so.
func (s *Session) afterWrite(c plan.Command) error {
	switch c.(type) {
	case *plan.Insert, *plan.Write, *plan.Delete, *plan.Update, *plan.Merge:
	default:
		return nil
	}
	if _, ok := s.conf.Explicit(txnVersionKey); !ok || !strings.EqualFold(s.conf.Value(txnResetKey), "true") {
		return nil
	}
	return s.conf.Unset(txnVersionKey)
}

func text(name string) plan.Field { return plan.Field{Name: name, Type: plan.String} }

func nullText(name string) plan.Field { return plan.Col(name, plan.String) }

func yesNo(name string) plan.Field { return plan.Field{Name: name, Type: plan.Boolean} }
