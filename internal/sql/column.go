package sql

import (
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// ParseColumn splits a column's name as Spark's UnresolvedAttribute does: only
// backquotes protect dots, and names need not be identifiers (col("a b")).
func ParseColumn(name string) ([]string, error) {
	bad := func() ([]string, error) {
		return nil, plan.AnalysisError("INVALID_ATTRIBUTE_NAME_SYNTAX",
			"The column name "+name+" has unbalanced backquotes or empty parts.", "name", name)
	}
	var parts []string
	for rest := name; ; {
		part, tail := "", ""
		if strings.HasPrefix(rest, "`") {
			end, ok := closingQuote(rest)
			if !ok {
				return bad()
			}
			part, tail = strings.ReplaceAll(rest[1:end], "``", "`"), rest[end+1:]
			if tail != "" && tail[0] != '.' {
				return bad()
			}
		} else {
			end := strings.IndexByte(rest, '.')
			if end < 0 {
				end = len(rest)
			}
			part, tail = rest[:end], rest[end:]
			if strings.Contains(part, "`") {
				return bad()
			}
		}
		if part == "" && (len(parts) > 0 || tail != "") {
			return bad()
		}
		parts = append(parts, part)
		if tail == "" {
			return parts, nil
		}
		rest = tail[1:]
	}
}

// closingQuote is the index of the backquote that ends a quoted part.
func closingQuote(s string) (int, bool) {
	for i := 1; i < len(s); i++ {
		if s[i] != '`' {
			continue
		}
		if i+1 < len(s) && s[i+1] == '`' {
			i++
			continue
		}
		return i, true
	}
	return 0, false
}
