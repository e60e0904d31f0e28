// Package clients runs PySpark programs through weir's commands as a user does:
// the listener example with every PySpark that weir promises to serve, and
// scripts of weir serve, weir run and weir version.
//
//	testdata/script/   testscript files; the commands they add are in script_test.go
//
// Environment, besides that of testkit:
//
//	WEIR_PYTHON_4_0, WEIR_PYTHON_4_1, WEIR_PYTHON_4_2   interpreters with pyspark-client
package clients
