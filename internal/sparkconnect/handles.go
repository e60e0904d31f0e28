package sparkconnect

import (
	"strconv"

	"github.com/google/uuid"

	"github.com/weir-dev/weir/internal/plan"
)

// handleError is an INVALID_HANDLE error about a session or an operation.
func handleError(kind, handle, sentence string) *plan.Error {
	return plan.NewError(plan.ClassSparkSQL, "INVALID_HANDLE."+kind,
		"The handle "+handle+" is invalid. "+sentence, "handle", handle)
}

func badFormat(handle string) *plan.Error {
	return handleError("FORMAT", handle, "Handles are UUIDs of the form 00000000-0000-0000-0000-000000000000.")
}

func sessionClosed(id string) *plan.Error {
	return handleError("SESSION_CLOSED", id, "The session was closed.")
}

func sessionNotFound(id string) *plan.Error {
	return handleError("SESSION_NOT_FOUND", id, "There is no such session.")
}

func sessionChanged(id string) *plan.Error {
	return handleError("SESSION_CHANGED", id,
		"The existing Spark server driver instance has restarted. Please reconnect.")
}

func operationNotFound(id string) *plan.Error {
	return handleError("OPERATION_NOT_FOUND", id, "There is no such operation.")
}

func operationExists(id string) *plan.Error {
	return handleError("OPERATION_ALREADY_EXISTS", id, "An operation with this id runs another plan.")
}

func operationAbandoned(id string) *plan.Error {
	return handleError("OPERATION_ABANDONED", id, "The operation was released or abandoned.")
}

func operationCanceled() *plan.Error {
	return plan.NewError(plan.ClassSparkSQL, "OPERATION_CANCELED", "The operation has been canceled.")
}

func cursorDisconnected() *plan.Error {
	return plan.NewError(plan.ClassSparkSQL, "INVALID_CURSOR.DISCONNECTED",
		"The cursor is invalid: another stream has attached to the operation.")
}

func cursorNotFound(response string) *plan.Error {
	return plan.NewError(plan.ClassSparkSQL, "INVALID_CURSOR.POSITION_NOT_FOUND",
		"The cursor is invalid: there is no response "+response+".", "responseId", response)
}

func cursorNotAvailable(index int, response string) *plan.Error {
	return plan.NewError(plan.ClassSparkSQL, "INVALID_CURSOR.POSITION_NOT_AVAILABLE",
		"The cursor is invalid: the response was released.",
		"index", strconv.Itoa(index), "responseId", response)
}

// checkUUID refuses handles that are not UUIDs in their usual form.
func checkUUID(handle string) error {
	if len(handle) != 36 {
		return badFormat(handle)
	}
	if _, err := uuid.Parse(handle); err != nil {
		return badFormat(handle)
	}
	return nil
}
