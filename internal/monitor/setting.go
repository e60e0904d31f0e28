package monitor

import (
	"regexp"
	"slices"
)

// A Setting is something that a query was started with.
type Setting struct{ Name, Value string }

// secretName is Spark's spark.redaction.regex; secretValue finds credentials that stand in
// a value, as those of JAAS and of addresses do.
var (
	secretName  = regexp.MustCompile(`(?i)secret|password|token|access[.]?key`)
	secretValue = regexp.MustCompile(
		`(?i)(secret|password|token|access[.]?key)\w*["']?\s*[=:]|://[^/@\s]*:[^/@\s]*@`)
)

// Hidden stands where a value is nobody's business.
const Hidden = "*********(redacted)"

// Redacted is the setting as it may be shown and kept: one that looks like a secret has
// no value.
func (s Setting) Redacted() Setting {
	if s.Value != "" && (secretName.MatchString(s.Name) || secretValue.MatchString(s.Value)) {
		s.Value = Hidden
	}
	return s
}

// NoCheckpoint is the setting checkpoint of a query that its user gave none: what weir
// made for it ends with it.
const NoCheckpoint = "none of the program's own"

// temporary tells whether nobody can go on where the run ends.
func (r *Run) temporary() bool {
	return slices.Contains(r.Settings, Setting{Name: "checkpoint", Value: NoCheckpoint})
}
