package weir

import (
	"strings"
	"testing"
)

func TestAddressesOfServers(t *testing.T) {
	for remote, want := range map[string]string{
		"sc://localhost":                    "localhost:15002",
		"sc://localhost:1":                  "localhost:1",
		"sc://[::1]:5/":                     "[::1]:5",
		"sc://[::1]":                        "[::1]:15002",
		"sc://h:1/;token=a=b;use_ssl=true":  "h:1 token a=b ssl",
		"sc://h/;user_id=ann;use_ssl=false": "h:15002 user ann",
		"localhost:15002":                   "write the address as sc://HOST:PORT",
		"http://localhost":                  "write the address as sc://HOST:PORT",
		"sc://h/;tokn=x":                    `no parameter "tokn"; there are token`,
		"sc://h/;session_id=mine":           "session_id is to be a UUID",
		"sc://h/;session_id=8a9d4f0e-0000-4000-8000-000000000000": "h:15002",
	} {
		s, err := Connect(remote)
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", remote, err, want)
			}
			continue
		}
		scheme, got, _ := strings.Cut(s.wire.base, "://")
		if s.wire.token != "" {
			got += " token " + s.wire.token
		}
		if s.user.UserId == "ann" {
			got += " user ann"
		}
		if scheme == "https" {
			got += " ssl"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", remote, got, want)
		}
	}
}
