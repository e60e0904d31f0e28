// Package show writes the table that df.show() prints, and its forms with a line
// for each value and in HTML, exactly as Spark does.
package show
