// Package demo runs `weir demo lag` as users do, with real time and real files: five
// queries, of which four get into trouble after two minutes, and are named within three
// more. It takes five minutes, and is built with the tag slow (make slow); the same on a clock of
// its own, in a second, is cmd/weir/demolag_test.go.
package demo
