// Package avro reads and writes Avro: schemas, records in columns, container
// files.
//
// A Schema is parsed and checked by the library twmb/avro; what is here makes
// column readers and writers of it, once per file, and runs them over the bytes
// of blocks. Three schemas meet in a Reader: the one that the bytes were written
// with, the one of the option avroSchema, when there is one (Avro's rules of
// resolution), and the columns that the query wants (Spark's rules of types).
//
// Rules:
//
//	AV1  Bytes from outside never panic, and never make more memory than a block
//	     may hold (MaxBlock); an error says at which byte the block begins.
//	AV2  Whether types fit is decided before a row is read; what Avro decides
//	     only by the data (a union's branch, an enum's symbol) is decided there.
//	AV3  What is written is what Spark writes, byte for byte in a block, but for
//	     the sync marker.
//
// Readers and Writers belong to one goroutine at a time; a Schema is immutable.
package avro
