// Package protocol tests the Spark Connect server from outside, with the real
// PySpark client and with requests that no client would send.
//
//	removal.py     removing listeners while events arrive
//	cut.py         response streams that the server cuts every second
//	access.py      tokens and TLS
//	malformed.py   requests that are wrong in every way that we know of
//	names.py       the names of testdata/hostile_names.txt for everything with a name
//
// Each program prints one JSON object to a line; the tests judge them. A server
// must answer every request with a status that has a class, never panic, and go
// on answering.
package protocol
