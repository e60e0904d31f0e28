package sql

import (
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// timeLiteral is the value of TIME 'h:m[:s[.fraction]][ AM|PM]', in ns.
func (p *parser) timeLiteral(start int, text string) plan.Expr {
	clock := strings.TrimSpace(text)
	half := ""
	if n := len(clock); n > 2 {
		half = strings.ToUpper(clock[n-2:])
	}
	if half == "AM" || half == "PM" {
		clock = strings.TrimSpace(clock[:len(clock)-2])
	} else {
		half = ""
	}
	parts := strings.Split(strings.TrimPrefix(clock, "T"), ":")
	if len(parts) < 2 || len(parts) > 3 {
		return p.badLiteral(start, "TIME", text)
	}
	var fraction string
	if len(parts) == 3 {
		parts[2], fraction, _ = strings.Cut(parts[2], ".")
	}
	if len(fraction) > 9 && strings.Trim(fraction, "0123456789") == "" {
		if p.fault == nil {
			p.fault = plan.NewError(plan.ClassParse, "INVALID_TIME_LITERAL_PRECISION",
				"The time "+sqlQuoted(text)+" is finer than nanoseconds.", "value", sqlQuoted(text)).At(p.origin(start))
		}
		return nothing()
	}
	limits, total := [...]int{24, 60, 60}, int64(0)
	for i, part := range append(parts, "0")[:3] {
		n, err := strconv.ParseUint(part, 10, 8)
		if err == nil && i == 0 && half != "" {
			n, err = halfDay(n, half)
		}
		if err != nil || len(part) > 2 || int(n) >= limits[i] {
			return p.badLiteral(start, "TIME", text)
		}
		total = total*60 + int64(n)
	}
	precision := 6
	nanos, err := strconv.ParseUint((fraction + "000000000")[:9], 10, 32)
	if err != nil {
		return p.badLiteral(start, "TIME", text)
	}
	if len(fraction) > precision {
		precision = len(fraction)
	}
	return plan.Lit(total*1_000_000_000+int64(nanos), plan.Time(precision))
}

// halfDay is the hour that one of a twelve-hour clock stands for.
func halfDay(hour uint64, half string) (uint64, error) {
	switch {
	case hour == 0 || hour > 12:
		return 0, strconv.ErrRange
	case half == "AM":
		return hour % 12, nil
	default:
		return hour%12 + 12, nil
	}
}
