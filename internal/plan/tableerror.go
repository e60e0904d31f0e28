package plan

import "fmt"

// TableOperation refuses what cannot be done to a table of its kind.
// tableOperation refuses what a table's format cannot do.
func TableOperation(id TableID, operation string) *Error {
	return AnalysisError("UNSUPPORTED_FEATURE.TABLE_OPERATION",
		fmt.Sprintf("%s cannot be done to the table %s.", operation, QuoteParts(id.Parts())),
		"tableName", QuoteParts(id.Parts()), "operation", operation)
}
