// Package transcripts runs short PySpark programs whose conversation with Apache
// Spark 4.3.0 was recorded, and compares what they print and what they call.
//
//	programs/         the programs; each runs against any Spark Connect server
//	recorded/         what they printed on Spark, and their calls
//	record.py         records a program, by way of the proxy in tap.py
//	compare.py        compares two recordings
//	deviations.json   printed lines and calls that may differ, and why
//
// A call is recorded with the kinds of its answers, or its code, error condition
// and class. Error sentences are weir's own, so only conditions count.
//
// Of the 29 conversations that were recorded, three are not held: c21 never ends,
// on Spark neither (a processor in processing time always wants another batch), c26
// calls a method of the JVM, and c35 asks what is cached, which weir recomputes.
//
// A recording is made on the server of ../oracle/record_server.sh, started for
// c11 with the settings and for c31 with the token that the test gives weir.
package transcripts
