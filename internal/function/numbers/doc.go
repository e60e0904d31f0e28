// Package numbers is mathematics and rounding.
package numbers
