// Package bench measures a whole weir from outside, as README's table of bars
// asks: a server process, real files, the protocol of real clients.
//
//	make bench                        every benchmark of the repository
//	go test -run '^$' -bench . ./bench    those of this package
//	bench/against_spark.sh            the same files through Apache Spark 4.3
//
// Numbers depend on the machine; each benchmark prints beside them what the
// machine itself costs where that matters (the time of one fsync). Nothing here
// fails for being slow.
package bench
