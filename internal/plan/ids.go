package plan

import "sync/atomic"

// IDs hands out ExprIDs. One per server is enough; it may be shared.
type IDs struct{ last atomic.Int64 }

// Next is an id that was never handed out before.
func (s *IDs) Next() ExprID { return ExprID(s.last.Add(1)) }
