// Package hashes is the hash functions of Spark over values of any type: the
// 32-bit Murmur3 that hash() and hash partitioning use, and XXH64.
//
// NULL leaves a hash as it was. -0.0 is hashed as 0.0 and every NaN alike, so
// that values which group together have one hash. Structs and arrays hash their
// parts in turn.
//
// There are no files, locks or goroutines here.
package hashes
