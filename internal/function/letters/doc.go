// Package letters is what Java does to text: case, characters, base64, charsets,
// sounds and distances.
//
// Texts are bytes that should be UTF-8. Where they are not, a character is as
// long as its first byte says, and no byte is lost. Functions named Append write
// behind what is in dst and return the longer slice.
//
// There are no files, locks or goroutines here.
package letters
