package main

import (
	"runtime/debug"
	"testing"
)

func TestABinaryWithoutAVersionNamesItsCommit(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}
	for _, c := range []struct {
		settings []debug.BuildSetting
		want     string
	}{
		{nil, "dev"},
		{[]debug.BuildSetting{revision, {Key: "vcs.modified", Value: "false"}}, "dev-0123456789ab"},
		{[]debug.BuildSetting{revision, {Key: "vcs.modified", Value: "true"}}, "dev-0123456789ab-dirty"},
		{[]debug.BuildSetting{{Key: "vcs.modified", Value: "true"}}, "dev"},
	} {
		if got := commitOf("dev", c.settings); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
