// Package times is the functions of dates, timestamps and intervals.
package times
