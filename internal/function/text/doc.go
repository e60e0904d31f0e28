// Package text is the functions of texts and of the documents in them: search,
// formats, patterns, JSON; and the bounds of CHAR and VARCHAR columns.
package text
