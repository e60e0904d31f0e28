package operators

import (
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// datetime binds an operator that has a date, a timestamp or an interval on a
// side. done is false when the operator is one over numbers (or over two
// intervals), which goes the ordinary way.
func (op operator) datetime(b *fn.Binding, l, r plan.Expr) (e plan.Expr, done bool, err error) {
	if !isTemporal(l.Type()) && !isTemporal(r.Type()) {
		return nil, false, nil
	}
	switch op.name {
	case "+":
		e, err = op.addTime(b, l, r)
	case "-":
		e, err = op.subtractTime(b, l, r)
	case "*", "/":
		e, err = op.scaleInterval(b, l, r)
	}
	return e, e != nil || err != nil, err
}

func isTemporal(t plan.Type) bool {
	return fn.IsDatetime(t) || t.IsInterval() || t.Kind == plan.KindTime
}

func isDayOnly(t plan.Type) bool {
	return t.Kind == plan.KindDayTime && t.Start == plan.FieldDay && t.End == plan.FieldDay
}

// timeOp binds one of the hidden functions; text is the template of how it shows.
func (op operator) timeOp(b *fn.Binding, name, text string, args ...plan.Expr) (plan.Expr, error) {
	if op.tries {
		name = "try " + name
	}
	return b.NestAs(name, text, args...)
}

// addTime is + with a date, timestamp or interval on a side, nil when the sides
// add up as they are.
func (op operator) addTime(b *fn.Binding, l, r plan.Expr) (plan.Expr, error) {
	lt, rt := l.Type(), r.Type()
	if lt.Kind == plan.KindNull && fn.IsDatetime(rt) || fn.IsANSIInterval(lt) && fn.IsDatetime(rt) ||
		lt.Kind == plan.KindCalendar && rt.Kind != plan.KindCalendar || isIntervalBesideOther(lt, rt) {
		l, r, lt, rt = r, l, rt, lt
	}
	switch {
	case fn.IsDatetime(lt) && rt.Kind == plan.KindNull:
		return op.addInterval(b, l, b.Cast(r, plan.DayTime), "$1 + $2")
	case lt.Kind == plan.KindNull && fn.IsANSIInterval(rt):
		return b.Nest(op.named(), b.Cast(l, rt), r)
	case fn.IsANSIInterval(lt) && rt.Kind == plan.KindNull:
		return b.Nest(op.named(), l, b.Cast(r, lt))
	case lt.Kind == rt.Kind && lt.IsInterval():
		return nil, nil
	case rt.IsInterval() && (fn.IsDatetime(lt) || rt.Kind != plan.KindYearMonth):
		return op.addInterval(b, l, r, "$1 + $2")
	case lt.Kind == plan.KindDate && !rt.IsString():
		return op.timeOp(b, "date_add", "", l, r)
	case rt.Kind == plan.KindDate && !lt.IsString():
		return op.timeOp(b, "date_add", "", r, l)
	default:
		return nil, nil
	}
}

// isIntervalBesideOther: a day-time interval first and something else second.
func isIntervalBesideOther(lt, rt plan.Type) bool {
	return lt.Kind == plan.KindDayTime && rt.Kind != plan.KindDayTime && rt.Kind != plan.KindCalendar &&
		rt.Kind != plan.KindNull
}

func (op operator) named() string {
	if op.tries {
		return op.try
	}
	return op.name
}

// addInterval adds an interval to a date, a timestamp, or a string that is one.
func (op operator) addInterval(b *fn.Binding, l, r plan.Expr, text string) (plan.Expr, error) {
	lt, rt := l.Type(), r.Type()
	switch {
	case lt.Kind == plan.KindDate && isDayOnly(rt):
		return op.timeOp(b, "date + days", "date_add($1, extractansiintervaldays($2))", l, r)
	case lt.Kind == plan.KindDate && rt.Kind == plan.KindDayTime:
		return op.timeOp(b, "timestamp + interval", text, b.Cast(l, plan.Timestamp), r)
	case lt.Kind == plan.KindDate && rt.Kind == plan.KindYearMonth:
		return op.timeOp(b, "date + months", text, l, r)
	case lt.Kind == plan.KindDate:
		return op.timeOp(b, "date + interval", text, l, r)
	case rt.Kind == plan.KindYearMonth:
		return op.timeOp(b, "timestamp + months", text, l, r)
	case lt.IsString():
		e, err := op.timeOp(b, "timestamp + interval", text, b.Cast(l, plan.Timestamp), r)
		if err != nil {
			return nil, err
		}
		return b.Cast(e, lt), nil
	default:
		return op.timeOp(b, "timestamp + interval", text, l, r)
	}
}

// subtractTime is - with a date, timestamp or interval on a side.
func (op operator) subtractTime(b *fn.Binding, l, r plan.Expr) (plan.Expr, error) {
	lt, rt := l.Type(), r.Type()
	switch {
	case fn.IsDatetime(lt) && rt.Kind == plan.KindNull && lt.Kind == plan.KindDate:
		return op.addInterval(b, l, b.Cast(r, plan.DayTime), "$1 - $2")
	case lt.Kind == rt.Kind && lt.IsInterval():
		return nil, nil
	case lt.Kind == plan.KindNull && fn.IsANSIInterval(rt):
		return b.Nest(op.named(), b.Cast(l, rt), r)
	case fn.IsANSIInterval(lt) && rt.Kind == plan.KindNull:
		return b.Nest(op.named(), l, b.Cast(r, lt))
	case rt.IsInterval() && (fn.IsDatetime(lt) || rt.Kind != plan.KindYearMonth):
		return op.subtractInterval(b, l, r)
	case fn.IsTimestamp(lt) || fn.IsTimestamp(rt):
		return op.timestampDifference(b, l, r)
	case rt.Kind == plan.KindDate:
		return op.timeOp(b, "date - date", "($1 - $2)", dateOf(b, l), r)
	case lt.Kind == plan.KindDate && rt.IsString():
		return op.timeOp(b, "date - date", "($1 - $2)", l, dateOf(b, r))
	case lt.Kind == plan.KindDate:
		return op.timeOp(b, "date_sub", "", l, r)
	default:
		return nil, nil
	}
}

func dateOf(b *fn.Binding, e plan.Expr) plan.Expr {
	if e.Type().IsString() {
		return b.Cast(e, plan.Date)
	}
	return e
}

func (op operator) subtractInterval(b *fn.Binding, l, r plan.Expr) (plan.Expr, error) {
	minus, err := b.Nest("negative", r)
	if err != nil {
		return nil, err
	}
	if isDayOnly(r.Type()) && l.Type().Kind == plan.KindDate {
		text := "date_add($1, (- extractansiintervaldays(" + fn.Escaped(b.SQL(r)) + ")))"
		return op.timeOp(b, "date + days", text, l, minus)
	}
	return op.addInterval(b, l, minus, fn.Escaped(b.SQL(l)+" - "+b.SQL(r)))
}

// timestampDifference is the interval between two times. Sides that differ meet
// in the type of the one that is a timestamp, or in TIMESTAMP_NTZ.
func (op operator) timestampDifference(b *fn.Binding, l, r plan.Expr) (plan.Expr, error) {
	meets := func(t plan.Type) bool { return t.Kind == plan.KindDate || t.IsString() || t.Kind == plan.KindNull }
	lt, rt := l.Type(), r.Type()
	switch {
	case meets(lt):
		l = b.Cast(l, rt)
	case meets(rt):
		r = b.Cast(r, lt)
	case fn.IsTimestamp(lt) && fn.IsTimestamp(rt) && lt.Kind != rt.Kind:
		l, r = b.Cast(l, plan.TimestampNTZ), b.Cast(r, plan.TimestampNTZ)
	}
	return op.timeOp(b, "timestamp - timestamp", "($1 - $2)", l, r)
}

// scaleInterval is * and / of an interval and a number.
func (op operator) scaleInterval(b *fn.Binding, l, r plan.Expr) (plan.Expr, error) {
	lt, rt := l.Type(), r.Type()
	if op.name == "*" && !lt.IsInterval() && rt.IsInterval() {
		l, r, lt = r, l, rt
	}
	if !lt.IsInterval() {
		return nil, nil
	}
	kind := map[plan.Kind]string{plan.KindYearMonth: "months", plan.KindDayTime: "interval",
		plan.KindCalendar: "calendar"}
	return op.timeOp(b, kind[lt.Kind]+" "+op.name, "($1 "+op.name+" $2)", l, r)
}
