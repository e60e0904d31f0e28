package ui

import (
	"encoding/json"
	"net/http"
)

// application is the parameter of what is below an application.
var application = param{"app", "string", "id of the application, which /api/v1/applications lists", true}

// sparkOperations are what tools for Spark ask of its port (applications.go).
var sparkOperations = []operation{
	{method: "GET", path: "/api/v1/version", name: "sparkVersion",
		summary: "The version of Spark whose programs weir runs", answer: sparkBuild{}, asSpark: true},
	{method: "GET", path: "/api/v1/applications", name: "sparkApplications",
		summary: "weir as Spark lists an application", params: []param{
			{"status", "string", "running or completed; may be repeated", false},
			{"minDate", "string", "begun at that day or instant or later", false},
			{"maxDate", "string", "begun by then", false},
			{"minEndDate", "string", "not ended before then", false},
			{"maxEndDate", "string", "ended by then", false},
			{"limit", "integer", "so many at most", false},
		}, answer: []sparkApplication{}, errors: []int{http.StatusBadRequest, http.StatusNotFound}, asSpark: true},
	{method: "GET", path: "/api/v1/applications/{app}", name: "sparkApplication",
		summary: "weir as Spark describes an application", params: []param{application},
		answer: sparkApplication{}, errors: noSuch, asSpark: true},
	ofSpark("jobs", "sparkJobs", "Jobs; there are none", []struct{}{}),
	ofSpark("stages", "sparkStages", "Stages; there are none", []struct{}{}),
	ofSpark("executors", "sparkExecutors", "The driver, for which a batch is a task", []sparkExecutor{}),
	ofSpark("allexecutors", "sparkAllExecutors", "The same", []sparkExecutor{}),
	ofSpark("storage/rdd", "sparkRDDs", "Cached data; there is none", []struct{}{}),
	ofSpark("environment", "sparkEnvironment", "Settings of Spark's names", sparkSettings{}),
	ofSpark("streaming/statistics", "sparkStatistics", "Of the older DStreams, which do not exist here",
		struct{}{}),
	ofSpark("sql", "sparkSQL", "Executions of SQL; none are kept", []struct{}{}),
	ofSpark("sql/streamingqueries", "sparkStreamingQueries", "Every run of a query that this server knows",
		[]sparkQuery{}),
	{method: "GET", path: "/api/v1/applications/{app}/sql/streamingqueries/{runId}/progress",
		name: "sparkStreamingProgress", summary: "The last progress of a run, oldest first",
		params: []param{application, {"runId", "string", "id of a run", true},
			{"last", "integer", "how many entries; 1", false}},
		answer: []json.RawMessage{}, errors: []int{http.StatusBadRequest, http.StatusNotFound}, asSpark: true},
}

// ofSpark is a path below an application.
func ofSpark(path, name, summary string, body any) operation {
	return operation{method: "GET", path: "/api/v1/applications/{app}/" + path, name: name, summary: summary,
		params: []param{application}, answer: body, errors: noSuch, asSpark: true}
}
