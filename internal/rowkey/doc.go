// Package rowkey makes bytes of the values of rows, so that operators compare,
// hash and sort rows without knowing types.
//
// A Form writes keys that are equal when the values are; an Index numbers the
// distinct ones. SortKeys writes keys that compare as ORDER BY says.
//
// Rules:
//
//	RK1  Equality of keys is equality of bits, so columns must be Normal before
//	     they become keys: one NaN, no -0.0.
//	RK2  A NULL is a key like any other; who wants it to match nothing leaves its
//	     row out.
//	RK3  Comparable says which types have keys; the others are refused by name.
//
// Indexes and sorted keys belong to one goroutine each. There are no clocks,
// files or goroutines here.
package rowkey
