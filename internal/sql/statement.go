package sql

import "github.com/weir-dev/weir/internal/plan"

// statement reads one statement.
func (p *parser) statement() plan.Node { return p.query() }

// properties reads (key = value, …).
func (p *parser) properties() plan.Options { return nil }
