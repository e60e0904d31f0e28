package analyze

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
)

// The table functions of Delta tables that read a change feed.
const (
	changesOfTable = "table_changes"
	changesOfPath  = "table_changes_by_path"
)

const deltaAnalysis = "org.apache.spark.sql.delta.DeltaAnalysisException"

func deltaMistake(condition, state, msg string, args ...string) *plan.Error {
	e := plan.NewError(deltaAnalysis, condition, msg, args...)
	e.State = state
	return e
}

// tableChanges resolves table_changes(name, from, to) and table_changes_by_path(…): a
// read of the table with the options of its change feed. Numbers are versions, texts
// and timestamps are times.
func (r *resolver) tableChanges(n *plan.TableFunction, name string, args []plan.Expr) (plan.Node, error) {
	if len(args) < 2 || len(args) > 3 {
		failure := "not enough args"
		if len(args) > 3 {
			failure = "too many args"
		}
		return nil, deltaMistake("INCORRECT_NUMBER_OF_ARGUMENTS", "42605",
			fmt.Sprintf("%s takes a table, where to begin and perhaps where to end: %s.", name, failure),
			"failure", failure, "functionName", name, "minArgs", "2", "maxArgs", "3")
	}
	target, ok := unnamed(args[0]).(*plan.Literal)
	text, isText := "", false
	if ok {
		text, isText = target.Value.(string)
	}
	if !isText {
		return nil, r.unsuited("table name", "StringType literal", args[0])
	}
	options := plan.Options{"readChangeFeed": "true"}
	for i, which := range []string{"starting", "ending"} {
		if i+1 >= len(args) {
			break
		}
		if err := r.feedBound(options, which, unnamed(args[i+1])); err != nil {
			return nil, err
		}
	}
	if name == changesOfPath {
		return r.node(&plan.Read{Format: "delta", Options: options, Paths: []string{text}})
	}
	parts, err := sql.ParseName(text)
	if err != nil {
		return nil, err
	}
	found, err := r.node(&plan.NamedTable{Name: parts, Options: options, Origin: n.Origin})
	if err != nil {
		return nil, err
	}
	scan := scanOf(found)
	if scan != nil && scan.Relation.Format != "delta" && scan.Relation.Table != nil {
		id := plan.QuoteParts(scan.Relation.Table.Parts())
		return nil, deltaMistake("DELTA_TABLE_ONLY_OPERATION", "0AKDD",
			id+" is no Delta table; only those have a change feed.", "tableName", id, "operation", name)
	}
	return found, nil
}

// scanOf is the scan that a relation is under its names, nil when it is something else.
func scanOf(n plan.Node) *plan.Scan {
	switch n := n.(type) {
	case *aliased:
		return scanOf(n.input)
	case *fileScan:
		return n.scan
	case *plan.Scan:
		return n
	}
	return nil
}

// feedBound puts a bound of the feed into the options of the read.
func (r *resolver) feedBound(o plan.Options, which string, e plan.Expr) error {
	switch kind := e.Type().Kind; kind {
	case plan.KindInt, plan.KindLong, plan.KindString, plan.KindTimestamp, plan.KindNull:
	default:
		return r.unsuited(which+" option", "IntegerType,LongType,StringType,TimestampType", e)
	}
	if len(plan.References(e)) > 0 {
		return plan.Unsupported("a bound of a change feed that is no constant")
	}
	v, err := eval.Const(&plan.Cast{Child: e, To: plan.String, Mode: plan.CastANSI}, r.Eval)
	switch {
	case err != nil:
		return err
	case v == nil:
		null := plan.NewError("org.apache.spark.sql.delta.DeltaIllegalArgumentException",
			"DELTA_CDC_READ_NULL_RANGE_BOUNDARY", "A bound of a change feed is NULL.")
		null.State = "22004"
		return null
	case e.Type().IsIntegral():
		o[which+"Version"] = v.(string)
	default:
		o[which+"Timestamp"] = v.(string)
	}
	return nil
}

func (r *resolver) unsuited(what, wanted string, e plan.Expr) error {
	kind := e.Type().Tree()
	kind = strings.ToUpper(kind[:1]) + kind[1:] + "Type"
	if t := e.Type(); t.Kind == plan.KindDecimal {
		kind = "DecimalType(" + strconv.Itoa(t.Precision) + "," + strconv.Itoa(t.Scale) + ")"
	}
	return deltaMistake("DELTA_UNSUPPORTED_EXPRESSION", "0A000",
		fmt.Sprintf("%s cannot be the %s of a change feed; it is %s.", r.sqlText(e), what, wanted),
		"expType", kind, "causedBy", what, "supportedTypes", wanted)
}
