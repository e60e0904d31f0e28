package alert

import (
	"math"

	"github.com/weir-dev/weir/internal/monitor/health"
)

// truth is what a condition says: yes, no, or not known (A2).
type truth int8

const (
	no truth = iota
	yes
	unsure
)

func (t truth) not() truth {
	switch t {
	case no:
		return yes
	case yes:
		return no
	default:
		return unsure
	}
}

// both is SQL's AND, either its OR.
func both(a, b truth) truth {
	switch {
	case a == no || b == no:
		return no
	case a == unsure || b == unsure:
		return unsure
	default:
		return yes
	}
}

func either(a, b truth) truth { return both(a.not(), b.not()).not() }

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// compare compares two numbers, of which an unknown one leaves the answer open.
func compare(op string, a, b float64) truth {
	if !health.Known(a) || !health.Known(b) {
		return unsure
	}
	switch op {
	case "=":
		return truthOf(a == b)
	case "!=":
		return truthOf(a != b)
	case "<":
		return truthOf(a < b)
	case "<=":
		return truthOf(a <= b)
	case ">":
		return truthOf(a > b)
	default:
		return truthOf(a >= b)
	}
}

func unknown() float64 { return math.NaN() }
