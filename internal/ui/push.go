package ui

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/weir-dev/weir/internal/monitor/eventlog"
)

// addPush adds what applications push their progress to, where that is taken.
func (s *server) addPush(mux *http.ServeMux) {
	if s.options.Push != nil {
		mux.HandleFunc("POST /api/v1/progress", s.changing(eventlog.MostPushed, s.push))
	}
}

// push is POST /api/v1/progress: events of Spark's queries as a listener gets them.
func (s *server) push(w http.ResponseWriter, r *http.Request) {
	if isForm(r) {
		refuse(w, http.StatusUnsupportedMediaType,
			"the body is to be JSON; say so as Content-Type: application/json")
		return
	}
	body, err := io.ReadAll(r.Body)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes; "+
			"send the events in several requests", tooLarge.Limit))
		return
	case err != nil:
		refuse(w, http.StatusBadRequest, "the body cannot be read: "+err.Error())
		return
	}
	done, err := s.options.Push(body)
	switch {
	case errors.Is(err, eventlog.ErrFull):
		refuse(w, http.StatusServiceUnavailable, err.Error()+"; those that are silent for long make room")
	case err != nil:
		refuse(w, http.StatusBadRequest, err.Error())
	case done.Refused > 0 && done.Taken+done.Known == 0:
		refuse(w, http.StatusBadRequest, done.Problem)
	default:
		answer(w, done)
	}
}
