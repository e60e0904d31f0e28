package delta

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// feature is one that a table may use, by the name that the protocol has for it.
type feature struct {
	name string
	// writer is the version that first had it without naming it; 7 when it is
	// always named.
	writer int
	// reader is 0 when readers need not know it, 2 when a version says so, 3 when it
	// is named for readers too.
	reader int
	// read and write say what this package can do with a table that has it.
	read, write bool
	// on tells that a table's description asks for it; nil when only its name does.
	on func(m *Metadata, schema plan.Type) bool
	// with are others that it brings.
	with []string
}

// features are those of Delta Lake 4.4.
var features = []feature{
	{name: "appendOnly", writer: 2, read: true, write: true},
	{name: "invariants", writer: 2, read: true, write: true},
	{name: "checkConstraints", writer: 3, read: true, write: true, on: hasConstraints},
	{name: "changeDataFeed", writer: 4, read: true, write: true, on: enabled("delta.enableChangeDataFeed")},
	{name: "generatedColumns", writer: 4, read: true, write: true, on: marked(generationMark)},
	{name: "columnMapping", writer: 5, reader: 2, read: true, write: true,
		on: func(m *Metadata, _ plan.Type) bool { return m.mapping() != "none" }},
	{name: "identityColumns", writer: 6, read: true, write: true, on: marked(identityStart)},

	{name: "allowColumnDefaults", writer: 7, read: true, write: true},
	{name: "clustering", writer: 7, read: true, write: true, with: []string{"domainMetadata"}},
	{name: "deletionVectors", writer: 7, reader: 3, read: true, write: true,
		on: enabled("delta.enableDeletionVectors")},
	{name: "domainMetadata", writer: 7, read: true, write: true},
	{name: "inCommitTimestamp", writer: 7, read: true, write: true, on: enabled(timesEnabled)},
	{name: "rowTracking", writer: 7, read: true, write: true, on: enabled(rowsTracked),
		with: []string{"domainMetadata"}},
	{name: "timestampNtz", writer: 7, reader: 3, read: true, write: true,
		on: func(_ *Metadata, schema plan.Type) bool { return hasKind(schema, plan.KindTimestampNTZ) }},
	{name: "typeWidening", writer: 7, reader: 3, read: true, write: true,
		on: enabled("delta.enableTypeWidening")},
	{name: "typeWidening-preview", writer: 7, reader: 3, read: true, write: true},
	{name: "v2Checkpoint", writer: 7, reader: 3, read: true, write: true,
		on: func(m *Metadata, _ plan.Type) bool { return m.Configuration["delta.checkpointPolicy"] == "v2" }},
	{name: "vacuumProtocolCheck", writer: 7, reader: 3, read: true, write: true},

	{name: "catalogManaged", writer: 7, reader: 3},
	{name: "checkpointProtection", writer: 7, read: true,
		on: func(m *Metadata, _ plan.Type) bool {
			return m.Configuration["delta.requireCheckpointProtectionBeforeVersion"] > "0"
		}},
	{name: "coordinatedCommits-preview", writer: 7, read: true},
	{name: "icebergCompatV1", writer: 7, read: true, on: enabled("delta.enableIcebergCompatV1")},
	{name: "icebergCompatV2", writer: 7, read: true, on: enabled("delta.enableIcebergCompatV2")},
	{name: "icebergCompatV3", writer: 7, read: true, on: enabled("delta.enableIcebergCompatV3")},
	{name: "variantType", writer: 7, reader: 3},
	{name: "variantType-preview", writer: 7, reader: 3},
	{name: "variantShredding-preview", writer: 7, reader: 3, on: enabled("delta.enableVariantShredding")},
}

func enabled(key string) func(*Metadata, plan.Type) bool {
	return func(m *Metadata, _ plan.Type) bool { return strings.EqualFold(m.Configuration[key], "true") }
}

// marked tells that a column has an entry in its metadata.
func marked(key string) func(*Metadata, plan.Type) bool {
	return func(_ *Metadata, schema plan.Type) bool {
		return slices.ContainsFunc(schema.Fields, func(f plan.Field) bool {
			return strings.Contains(f.Metadata, `"`+key+`"`)
		})
	}
}

func hasConstraints(m *Metadata, _ plan.Type) bool {
	for key := range m.Configuration {
		if strings.HasPrefix(key, constraintPrefix) {
			return true
		}
	}
	return false
}

// featureNamed is a feature, whatever the case of the name; nil for one that there is
// not.
func featureNamed(name string) *feature {
	for i := range features {
		if strings.EqualFold(features[i].name, name) {
			return &features[i]
		}
	}
	return nil
}

const (
	readerVersions = 3
	writerVersions = 7
)

// featuresOf are the features that a protocol has, by name or by its versions.
func featuresOf(p Protocol) []string {
	if p.MinWriterVersion >= writerVersions {
		return slices.Clone(p.WriterFeatures)
	}
	return impliedBy(p.MinWriterVersion, p.MinReaderVersion)
}

// impliedBy are the features of versions that name none.
func impliedBy(writer, reader int) []string {
	var out []string
	for _, f := range features {
		if f.writer <= writer && f.writer < writerVersions && f.reader <= reader {
			out = append(out, f.name)
		}
	}
	return out
}

// protocolWith is the protocol with these features, by versions where one has just
// them.
func protocolWith(names []string) Protocol {
	set := map[string]bool{}
	reader := 1
	var forReaders []string
	for _, name := range names {
		if set[name] {
			continue
		}
		set[name] = true
		if f := featureNamed(name); f != nil && f.reader > 0 {
			reader = max(reader, f.reader)
			forReaders = append(forReaders, f.name)
		}
	}
	for writer := 1; writer < writerVersions && reader < readerVersions; writer++ {
		implied := impliedBy(writer, reader)
		if len(implied) == len(set) && !slices.ContainsFunc(implied, func(n string) bool { return !set[n] }) {
			return Protocol{MinReaderVersion: reader, MinWriterVersion: writer}
		}
	}
	p := Protocol{MinReaderVersion: reader, MinWriterVersion: writerVersions, WriterFeatures: ordered(set)}
	if reader == readerVersions {
		slices.Sort(forReaders)
		p.ReaderFeatures = forReaders
	}
	return p
}

// ordered are features as Delta lists a few of them: the two that every table has stand
// last.
func ordered(set map[string]bool) []string {
	names := sortedKeys(set)
	for _, name := range []string{"invariants", "appendOnly"} {
		if at := slices.Index(names, name); at >= 0 {
			names = append(slices.Delete(names, at, at+1), name)
		}
	}
	return names
}

// needs are the features that a description of a table asks for, and those asked for
// by name with what they bring.
func needs(m *Metadata, schema plan.Type, asked []string) []string {
	out := slices.Clone(asked)
	for _, f := range features {
		if f.on != nil && f.on(m, schema) {
			out = append(out, f.name)
		}
	}
	for i := 0; i < len(out); i++ {
		if f := featureNamed(out[i]); f != nil {
			out = append(out, f.with...)
		}
	}
	return out
}

// startingFeatures are those of a new table that asks for none, or what the versions
// in its properties have. The versions go out of the properties.
func startingFeatures(configuration map[string]string) ([]string, error) {
	version := func(key string, most, otherwise int) (int, error) {
		text, ok := configuration[key]
		delete(configuration, key)
		if !ok {
			return otherwise, nil
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > most {
			return 0, plan.IllegalArgument("requirement failed: %s needs to be a version from 1 to %d.", key, most)
		}
		return n, nil
	}
	reader, err := version("delta.minReaderVersion", readerVersions, 1)
	if err != nil {
		return nil, err
	}
	writer, err := version("delta.minWriterVersion", writerVersions, 2)
	if err != nil || writer == writerVersions {
		return nil, err
	}
	return impliedBy(writer, reader), nil
}

// checkReadable refuses what this package cannot read right.
func (s *Snapshot) checkReadable() error {
	p := s.Protocol
	if p.MinReaderVersion > readerVersions {
		return s.refuse("READ", []string{fmt.Sprintf("reader version %d", p.MinReaderVersion)})
	}
	unknown := others(p.ReaderFeatures, func(f *feature) bool { return f.read })
	if len(unknown) > 0 {
		return s.refuse("READ", unknown)
	}
	return nil
}

// checkWritable refuses what a commit from here would break.
func (s *Snapshot) checkWritable() error {
	return s.checkProtocol(s.Protocol)
}

// checkProtocol refuses to write by a protocol that is not known here.
func (s *Snapshot) checkProtocol(p Protocol) error {
	if p.MinWriterVersion > writerVersions {
		return s.refuse("WRITE", []string{fmt.Sprintf("writer version %d", p.MinWriterVersion)})
	}
	unknown := others(p.WriterFeatures, func(f *feature) bool { return f.write })
	if len(unknown) > 0 {
		return s.refuse("WRITE", unknown)
	}
	return nil
}

// others are the names of features that are not known, or not so.
func others(have []string, known func(*feature) bool) []string {
	var unknown []string
	for _, name := range have {
		if f := featureNamed(name); f == nil || !known(f) {
			unknown = append(unknown, name)
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

// hasKind reports whether a type or a part of it is of a kind.
func hasKind(t plan.Type, kind plan.Kind) bool {
	if t.Kind == kind || t.Key != nil && hasKind(*t.Key, kind) || t.Elem != nil && hasKind(*t.Elem, kind) {
		return true
	}
	return slices.ContainsFunc(t.Fields, func(f plan.Field) bool { return hasKind(f.Type, kind) })
}

// widerProtocol is the table's protocol with what a changed description needs.
func widerProtocol(p Protocol, m *Metadata, schema plan.Type, asked []string) (Protocol, bool) {
	have := featuresOf(p)
	wanted := needs(m, schema, asked)
	if !slices.ContainsFunc(wanted, func(n string) bool { return !slices.Contains(have, n) }) {
		return p, false
	}
	return protocolWith(append(have, wanted...)), true
}
