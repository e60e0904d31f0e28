package delta

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// Features that a table may name and that need nothing here, either because
// they are implemented or because the table uses them only where a check below
// says so.
var (
	readableFeatures = []string{
		"columnMapping",
		"deletionVectors",
		"timestampNtz",
		"typeWidening",
		"typeWidening-preview",
		"v2Checkpoint",
		"vacuumProtocolCheck",
	}
	writableFeatures = append([]string{
		"appendOnly", "changeDataFeed", "checkConstraints", "generatedColumns", "identityColumns", "invariants",
	}, readableFeatures...)
)

const (
	readerVersions = 3
	writerVersions = 7
)

// checkReadable refuses what this package cannot read right.
func (s *Snapshot) checkReadable() error {
	p := s.Protocol
	if p.MinReaderVersion > readerVersions {
		return s.refuse("READ", []string{fmt.Sprintf("reader version %d", p.MinReaderVersion)})
	}
	if unknown := others(p.ReaderFeatures, readableFeatures); len(unknown) > 0 {
		return s.refuse("READ", unknown)
	}
	return nil
}

// checkWritable refuses what a commit from here would break.
func (s *Snapshot) checkWritable() error {
	p := s.Protocol
	if p.MinWriterVersion > writerVersions {
		return s.refuse("WRITE", []string{fmt.Sprintf("writer version %d", p.MinWriterVersion)})
	}
	unknown := others(p.WriterFeatures, writableFeatures)
	for key := range s.Metadata.Configuration {
		if strings.HasPrefix(key, "delta.constraints.") {
			unknown = append(unknown, "checkConstraints")
		}
	}
	for _, f := range s.Schema.Fields {
		for mark, feature := range columnFeatures {
			if strings.Contains(f.Metadata, `"`+mark) {
				unknown = append(unknown, feature)
			}
		}
	}
	if s.Metadata.mapping() != "none" {
		unknown = append(unknown, "columnMapping")
	}
	if s.property("delta.enableRowTracking", "false") == "true" {
		unknown = append(unknown, "rowTracking")
	}
	if s.property("delta.enableInCommitTimestamps", "false") == "true" {
		unknown = append(unknown, "inCommitTimestamp")
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return s.refuse("WRITE", slices.Compact(unknown))
	}
	return nil
}

// columnFeatures are what a column's metadata says when a writer must do more
// than to write the values.
var columnFeatures = map[string]string{
	"delta.invariants":           "invariants",
	"delta.generationExpression": "generatedColumns",
	"delta.identity.":            "identityColumns",
	"CURRENT_DEFAULT":            "allowColumnDefaults",
	"delta.typeChanges":          "typeWidening",
}

func others(have, known []string) []string {
	var unknown []string
	for _, f := range have {
		if !slices.Contains(known, f) {
			unknown = append(unknown, f)
		}
	}
	slices.Sort(unknown)
	return unknown
}

func (s *Snapshot) property(key, otherwise string) string {
	if v, ok := s.Metadata.Configuration[key]; ok {
		return v
	}
	return otherwise
}

func (s *Snapshot) refuse(what string, features []string) *plan.Error {
	list := strings.Join(features, ", ")
	e := newError(classFeature, "DELTA_UNSUPPORTED_FEATURES_FOR_"+what,
		fmt.Sprintf("The Delta table in %s uses what weir does not support to %s it: %s.",
			s.Dir, strings.ToLower(what), list),
		"tableNameOrPath", s.Dir, "unsupported", list)
	e.Hint = "The same program runs on Apache Spark by changing the URL."
	return e
}

// protocolFor is the protocol of a new table with these columns.
func protocolFor(schema plan.Type) Protocol {
	if !hasKind(schema, plan.KindTimestampNTZ) {
		return Protocol{MinReaderVersion: 1, MinWriterVersion: 2}
	}
	return Protocol{
		MinReaderVersion: 3, MinWriterVersion: 7,
		ReaderFeatures: []string{"timestampNtz"},
		WriterFeatures: []string{"timestampNtz", "invariants", "appendOnly"},
	}
}

// hasKind reports whether a type or a part of it is of a kind.
func hasKind(t plan.Type, kind plan.Kind) bool {
	if t.Kind == kind || t.Key != nil && hasKind(*t.Key, kind) || t.Elem != nil && hasKind(*t.Elem, kind) {
		return true
	}
	return slices.ContainsFunc(t.Fields, func(f plan.Field) bool { return hasKind(f.Type, kind) })
}

// widerProtocol is the table's protocol with what a changed schema needs.
func widerProtocol(p Protocol, schema plan.Type) (Protocol, bool) {
	if !hasKind(schema, plan.KindTimestampNTZ) || slices.Contains(p.WriterFeatures, "timestampNtz") {
		return p, false
	}
	wider := Protocol{MinReaderVersion: 3, MinWriterVersion: 7,
		ReaderFeatures: append(slices.Clone(p.ReaderFeatures), "timestampNtz"),
		WriterFeatures: append(slices.Clone(p.WriterFeatures), "timestampNtz")}
	if p.MinReaderVersion == 2 {
		wider.ReaderFeatures = append(wider.ReaderFeatures, "columnMapping")
	}
	if p.MinWriterVersion < writerVersions {
		legacy := []string{"", "", "appendOnly invariants", "checkConstraints", "changeDataFeed generatedColumns",
			"columnMapping", "identityColumns"}
		for version := 2; version <= p.MinWriterVersion; version++ {
			wider.WriterFeatures = append(wider.WriterFeatures, strings.Fields(legacy[version])...)
		}
	}
	return wider, true
}
