// Package collections is the functions of arrays, maps and structs.
package collections
