// Package operators is arithmetic, comparison, logic and bits: what SQL writes
// with signs, and the conditionals.
package operators
