// Package readers gives what weir sends and shows to the code of those who usually receive
// it, and looks at what they made of it.
//
//	others           a module of its own with the parsers of Prometheus, of its exporter for
//	                 StatsD, and of OpenTelemetry's collector
//	readers_test.go  pages and reports of queries with names that nobody thought of
package readers
