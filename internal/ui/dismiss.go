package ui

import (
	"net/http"

	"github.com/weir-dev/weir/internal/monitor"
)

// dismissedJSON is the run that was dismissed.
type dismissedJSON struct {
	ID    string `json:"id"`
	RunID string `json:"runId"`
}

// dismiss is POST /api/v1/queries/{id}/dismiss: a query that has ended is no news any
// more. It leaves the fleet until it is started again, and its alerts end.
func (s *server) dismiss(w http.ResponseWriter, r *http.Request) {
	q := s.find(w, r)
	if q == nil {
		return
	}
	done := q.Dismiss(s.options.Now())
	switch {
	case isForm(r) && r.PostForm.Get("page") != "":
		http.Redirect(w, r, "/", http.StatusSeeOther)
	case !done && q.Snapshot().DismissedAt.IsZero():
		refuse(w, http.StatusConflict, "the query runs; only one that has ended can be dismissed")
	default:
		answer(w, dismissedJSON{q.ID(), q.RunID()})
	}
}

// mayForget lets a page offer to dismiss its query, to somebody who may.
func (s *server) mayForget(p *page, r *http.Request, q *monitor.Query) {
	run := q.Snapshot()
	if run.DismissedAt.IsZero() && (run.State == monitor.Failed || run.Left) && s.mayChange(r) {
		p.forget = s.csrf
	}
}
