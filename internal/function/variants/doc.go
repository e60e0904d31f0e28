// Package variants is the functions of variants: they make them of JSON and of structs, and take parts of
// them. How variants look in bytes is package variant's, below codec; casts are package cast's.
package variants
