package monitor

import "time"

// A Kind tells events apart. The values are those of Spark Connect's event
// types; a started event travels in the answer to the start instead.
type Kind uint8

// The kinds.
const (
	Started Kind = iota
	Progressed
	Terminated
	Idle
)

var kindNames = [...]string{"started", "progress", "terminated", "idle"}

// String is the kind in lower case.
func (k Kind) String() string { return kindNames[k] }

// An Event is something that happened to a run. Its text is made when a
// listener asks for it, off the query's path.
type Event struct {
	Kind      Kind
	ID, RunID string

	Name    string    // of a started event; "" is a query without a name
	At      time.Time // of started (the start) and idle (start of the trigger)
	JobTags []string  // of a started event

	Progress *Progress // of a progress event
	Failure  *Failure  // of a terminated event; nil: the query was stopped or ended
}

// A Failure is why a query ended.
type Failure struct {
	// Message is the message of the cause, with its bracketed condition.
	Message string
	// Trace is the cause as Java's toString, "class: message", and its stack
	// trace below it, if there is one.
	Trace string
	// Condition is the error condition of the cause, "" if it has none.
	Condition string
}

// AppendJSON appends the event as Spark 4.3 sends it to listeners.
func (e Event) AppendJSON(dst []byte) []byte {
	if e.Kind == Progressed {
		dst = e.Progress.AppendJSON(append(dst, `{"progress":`...))
		return append(dst, '}')
	}
	dst = appendString(append(dst, `{"id":`...), e.ID)
	dst = appendString(appendField(dst, "runId"), e.RunID)
	switch e.Kind {
	case Started:
		dst = appendOptional(appendField(dst, "name"), e.Name)
		dst = appendTime(appendField(dst, "timestamp"), e.At)
		dst = append(dst, `,"jobTags":[`...)
		for i, tag := range e.JobTags {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, tag)
		}
		dst = append(dst, ']')
	case Idle:
		dst = appendTime(appendField(dst, "timestamp"), e.At)
	case Terminated:
		if e.Failure == nil {
			dst = append(dst, `,"exception":null,"errorClassOnException":null`...)
			break
		}
		dst = appendString(appendField(dst, "exception"), e.Failure.Trace)
		dst = appendOptional(appendField(dst, "errorClassOnException"), e.Failure.Condition)
	}
	return append(dst, '}')
}

// JSON is the text of AppendJSON.
func (e Event) JSON() string { return string(e.AppendJSON(nil)) }
