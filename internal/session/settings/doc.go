// Package settings is the configuration of a session: every key that Spark 4.3.0 declares, from
// spark_confs.tsv, and weir's own, with their types, checks and defaults; and what a session set
// over what the server was started with.
//
// Settings answer as Spark's do, with its refusals. A key that nobody declares is kept, but for
// those that begin with weir.
//
// There are no goroutines here. Locks: Conf.mu, held for field access only.
package settings
