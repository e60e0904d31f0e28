// Package variant reads and builds variants, Spark's values of any type: a value, whose first byte says
// what it is, beside a dictionary of the names that its objects use.
//
// The bytes are those of Parquet's variant encoding, as Spark 4.3.0 writes them:
//
//	value     byte 0: bits 0-1 what follows (0 primitive, 1 short text, 2 object, 3 array), bits 2-7 its
//	          header; then the primitive's bytes, or counts, offsets and the elements one after the other
//	metadata  byte 0: version 1 and the width of offsets; the number of names, their offsets, their text
//
// A Value is a view of such bytes and a Builder makes them. Names stand in the dictionary in the order
// in which they were first met, the fields of an object by name as Java compares texts.
//
// Rules:
//
//	N1  Nothing is believed of a variant's bytes: what lies outside of them is ErrMalformed.
//	N2  A value has at most MaxSize bytes, and MaxDepth values within each other.
//
// There are no clocks, files or goroutines here.
package variant
