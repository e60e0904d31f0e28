package stream

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
)

// classAssertion is what Scala's assert throws; Spark guards its logs by it.
const classAssertion = "java.lang.AssertionError"

// locationText is a checkpoint as Spark's errors write it.
func locationText(place connector.Place) string { return "file:" + place.Dir }

func assertion(what string) *plan.Error {
	msg := "assertion failed"
	if what != "" {
		msg += ": " + what
	}
	return &plan.Error{Class: classAssertion, Msg: msg}
}

func illegalState(format string, args ...any) *plan.Error {
	return &plan.Error{Class: plan.ClassJavaState, Msg: fmt.Sprintf(format, args...)}
}

// logError says which log file cannot be read. Spark wraps the reason so.
func logError(file string, why *plan.Error) *plan.Error {
	e := illegalState("Failed to read log file file:%s. %s", file, why.Error())
	e.Cause = why
	return e
}

func incomplete() *plan.Error { return illegalState("Incomplete log file") }

func badJSON(file string, why error) *plan.Error {
	return &plan.Error{
		Class: "com.fasterxml.jackson.core.JsonParseException",
		Msg:   fmt.Sprintf("%s is damaged: %s", file, why),
	}
}

// splitLog checks the version line of a log file and returns the lines below.
func splitLog(file string, data []byte, newest int) (version int, lines []string, err error) {
	if len(data) == 0 {
		return 0, nil, logError(file, incomplete())
	}
	head, body, more := strings.Cut(string(data), "\n")
	version, err = strconv.Atoi(strings.TrimPrefix(head, "v"))
	if !strings.HasPrefix(head, "v") || err != nil || version < 1 {
		return 0, nil, logError(file, plan.NewError(plan.ClassJavaState, "MALFORMED_LOG_FILE",
			fmt.Sprintf("the log begins with %.40q where its version should stand.", head), "text", head))
	}
	if version > newest {
		known := fmt.Sprintf("v%d", newest)
		const condition = "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION"
		return 0, nil, logError(file, plan.NewError(plan.ClassJavaState, condition,
			fmt.Sprintf("the log has version %s, and %s is the newest that is known.", head, known),
			"maxSupportedVersion", known, "version", head))
	}
	if more {
		lines = strings.Split(body, "\n")
	}
	return version, lines, nil
}

// logWriteError says that a log file could not be written. An error that has a
// condition already is about something else than the disk.
func logWriteError(which string, batch int64, place connector.Place, err error) error {
	var known *plan.Error
	if errors.As(err, &known) {
		return known
	}
	e := plan.NewError(plan.ClassSpark, "STREAMING_CHECKPOINT_LOG_WRITE_FAILURE."+which,
		fmt.Sprintf("the log of batch %d in %s cannot be written: %s.", batch, locationText(place), err),
		"batchId", strconv.FormatInt(batch, 10), "checkpointLocation", locationText(place))
	e.Cause = err
	return e
}
