// Package hyperloglog estimates how many different values there were as Spark's
// HyperLogLog++ does, number for number.
//
// A sketch is registers of 6 bits, ten in a word of 64, in the order of Spark's
// aggregation buffer. tables.tsv holds Spark's estimates and their biases; the
// algorithm is that of Heule, Nunkesser and Hall, "HyperLogLog in Practice".
package hyperloglog
