package stream

import (
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/plan"
)

// observe keeps the metrics of one df.observe for the progress of the batch.
func (r *run) observe(name string, schema plan.Type, row []plan.Value) {
	observed := monitor.Observation{Name: name, Row: observedRow(schema, row, r.config.Env.Eval.Zone)}
	r.seen.Lock()
	defer r.seen.Unlock()
	r.observed = append(r.observed, observed)
}

func observedRow(schema plan.Type, row []plan.Value, zone *time.Location) monitor.Row {
	out := monitor.Row{Schema: schema.JSON(), Fields: make([]monitor.Field, len(row))}
	for i, f := range schema.Fields {
		out.Fields[i] = monitor.Field{Name: f.Name, Value: observedValue(f.Type, row[i], zone)}
	}
	return out
}

// observedValue turns a value of a type into what progress shows of it.
func observedValue(t plan.Type, v plan.Value, zone *time.Location) monitor.Value {
	if v == nil {
		return monitor.Value{}
	}
	switch v := v.(type) {
	case bool:
		return monitor.Bool(v)
	case float64:
		return monitor.Double(v)
	case float32:
		return monitor.Float(v)
	case string:
		return monitor.String(v)
	case []byte:
		return monitor.Binary(v)
	case decimal128.Num:
		return monitor.Decimal(string(codec.AppendDecimalExp(nil, v, t.Scale)))
	case int32:
		return observedDays(t, v, zone)
	case int64:
		return observedInteger(t, v, zone)
	case plan.MapValue:
		pairs := make([]monitor.Value, 0, 2*len(v.Keys))
		for i, key := range v.Keys {
			pairs = append(pairs, observedValue(*t.Key, key, zone), observedValue(*t.Elem, v.Values[i], zone))
		}
		return monitor.Map(pairs...)
	case []plan.Value:
		if t.Kind == plan.KindStruct {
			return monitor.Struct(observedRow(t, v, zone))
		}
		items := make([]monitor.Value, len(v))
		for i, item := range v {
			items[i] = observedValue(*t.Elem, item, zone)
		}
		return monitor.Array(items...)
	default:
		return monitor.Opaque(fmt.Sprint(v))
	}
}

// observedDays is a DATE, or an interval of months.
func observedDays(t plan.Type, v int32, zone *time.Location) monitor.Value {
	if t.Kind != plan.KindDate {
		return monitor.Opaque(string(codec.AppendYearMonth(nil, v, t)))
	}
	year, month, day := codec.Civil(int64(v))
	midnight := time.Date(year, time.Month(month), day, 0, 0, 0, 0, zone)
	return monitor.Instant(string(codec.AppendDate(nil, v)), midnight.UnixMilli())
}

// observedInteger is one of the types that Go holds in 64 bits.
func observedInteger(t plan.Type, v int64, zone *time.Location) monitor.Value {
	switch t.Kind {
	case plan.KindTimestamp:
		at := time.UnixMicro(v)
		return monitor.Instant(at.In(zone).Format(time.DateTime), at.UnixMilli())
	case plan.KindTimestampNTZ:
		return monitor.LocalTime(time.UnixMicro(v).UTC().Format("2006-01-02T15:04:05.999999"))
	case plan.KindDayTime:
		return monitor.Opaque(string(codec.AppendDayTime(nil, v, t)))
	case plan.KindTime:
		return monitor.Opaque(string(codec.AppendTime(nil, v)))
	default:
		return monitor.Int(v)
	}
}
