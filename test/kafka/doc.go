// Package kafka runs programs of the real PySpark client against weir and a real
// Kafka broker.
//
//	cases_*.py   programs; broker.py makes topics and records with another client
//	expected/    what Apache Spark 4.3.0 with its Kafka connector did
//	harness.py   runs programs on any Spark, records or compares
//	outage.py    a query whose broker dies and comes back
//	exactly.py   a query whose server dies
//	faults.py    a query whose brokers, of the test's own process, move leaders, cut
//	             connections or are gone for a while
//	pom.xml      the broker's jars, jars.sha256 their checksums; make kafka fetches them
//
// Compaction, retention, markers of transactions, growth of topics and topic ids
// are proven here and not on the broker in memory that the unit tests have: there
// they would only confirm themselves.
package kafka
