// Package ui shows the pages of weir to a real browser: Debian's chromium, driven by
// playwright-core, with axe-core to judge whether everybody can use them.
//
//	simulate_test.go   queries in every state, as the engine would tell of them
//	pages.mjs          what is done in the browser and must hold
//	package-lock.json  the two packages from npm; `make browser` installs them
//
// The pages are those of internal/ui over a registry that a simulation feeds, so that
// every state is seen and no engine is needed. `go test -tags look ./test/ui -v -run TestServe -serve HOST:PORT`
// serves them to look at. Screenshots are left in the directory that WEIR_SHOTS names.
package ui
