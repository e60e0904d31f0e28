package ui

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// stopLimit is how long a request waits for a query to end.
const stopLimit = 30 * time.Second

// ErrEnded says that a query does not run any more.
var ErrEnded = errors.New("the query does not run any more")

// addStop offers the one thing that can be done to a query from here.
func (s *server) addStop(mux *http.ServeMux) {
	if s.options.Stop != nil {
		mux.HandleFunc("POST /api/v1/queries/{id}/stop", s.changing(mostPosted, s.stop))
	}
}

// stoppedJSON is the run that was stopped.
type stoppedJSON struct {
	ID    string `json:"id"`
	RunID string `json:"runId"`
}

// stop is POST /api/v1/queries/{id}/stop. A form gets the query's page whatever came of
// it, for that says what the query does.
func (s *server) stop(w http.ResponseWriter, r *http.Request) {
	q := s.find(w, r)
	if q == nil {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), stopLimit)
	defer cancel()
	err := s.options.Stop(ctx, q.RunID())
	switch {
	case isForm(r) && r.PostForm.Get("page") != "":
		http.Redirect(w, r, linkTo(q.ID()), http.StatusSeeOther)
	case errors.Is(err, ErrEnded):
		refuse(w, http.StatusConflict, err.Error())
	case err != nil:
		refuse(w, http.StatusGatewayTimeout, "the query is told to stop and has not ended yet: "+err.Error())
	default:
		answer(w, stoppedJSON{q.ID(), q.RunID()})
	}
}
