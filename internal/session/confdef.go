package session

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/weir-dev/weir/internal/monitor/report"
	"github.com/weir-dev/weir/internal/plan"
)

//go:embed spark_confs.tsv
var confTable string

// confDef is one key of Spark 4.3.0, as the table's own header explains it.
type confDef struct {
	key, kind, typ string
	flags          string
	get            string // what an unset key answers; see noValue and notFound
	def            string
	fallback       string
	alternatives   []string
	check          string
}

// Cells that stand for no text.
const (
	noValue  = `\N` // the key is known and has no value
	notFound = `\E` // asking for the key fails
)

const (
	kindSQL     = "sql"
	kindCore    = "core"
	kindRemoved = "removed"
)

func (d *confDef) static() bool     { return strings.Contains(d.flags, "s") }
func (d *confDef) modifiable() bool { return strings.Contains(d.flags, "m") }
func (d *confDef) public() bool     { return strings.Contains(d.flags, "p") }

// registry is every key by name, and in order.
type registry struct {
	byKey  map[string]*confDef
	sorted []*confDef
}

var confRegistry = sync.OnceValue(func() *registry {
	r := &registry{byKey: make(map[string]*confDef, 1600)}
	unescape := strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n")
	for line := range strings.Lines(confTable) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || len(cells) != 9 {
			continue
		}
		for i, c := range cells {
			if c != noValue && c != notFound {
				cells[i] = unescape.Replace(c)
			}
		}
		d := &confDef{
			key: cells[0], kind: cells[1], typ: cells[2], flags: cells[3], get: cells[4], def: cells[5],
			fallback: cells[6], check: cells[8],
		}
		if cells[7] != "" {
			d.alternatives = strings.Split(cells[7], ",")
		}
		r.byKey[d.key] = d
		r.sorted = append(r.sorted, d)
	}
	for _, d := range weirConfs() {
		r.byKey[d.key] = d
		r.sorted = append(r.sorted, d)
	}
	slices.SortFunc(r.sorted, func(a, b *confDef) int { return strings.Compare(a.key, b.key) })
	return r
})

// weirPrefix begins weir's own keys; unknown ones are refused.
const weirPrefix = "weir."

// onReleaseKey says what becomes of a session's queries when it is released.
const onReleaseKey = "weir.session.onRelease"

// weirConfs are weir's own keys.
func weirConfs() []*confDef {
	confs := []*confDef{{
		key: onReleaseKey, kind: kindSQL, typ: "string", flags: "mp", get: "stop", def: "stop",
		check: "options:stop, detach",
	}, {
		key: "weir.history.retention", kind: kindSQL, typ: "time in MILLISECONDS", flags: "sp", get: "14d",
		def: "14d", check: "range:86400000..",
	}, {
		key: "weir.history.maxBytes", kind: kindSQL, typ: "bytes in BYTE", flags: "sp", get: "1g", def: "1g",
		check: "range:0..",
	}, {
		key: queryMemoryKey, kind: kindSQL, typ: "bytes in BYTE", flags: "mp", get: noValue, def: noValue,
		check: "range:1048576..",
	}, {
		key: "weir.query.freshnessObjective", kind: kindSQL, typ: "time in MILLISECONDS", flags: "mp", get: noValue,
		def: noValue,
	}, {
		key: serverMemoryKey, kind: kindSQL, typ: "bytes in BYTE", flags: "sp", get: noValue, def: noValue,
		check: "range:1048576..",
	}}
	// Those of reporters are read once, when the server starts.
	reporters := report.OwnKeys()
	for _, key := range slices.Sorted(maps.Keys(reporters)) {
		confs = append(confs, &confDef{key: key, kind: kindSQL, typ: "string", flags: "sp", get: noValue,
			def: noValue})
	}
	return confs
}

// nearestKey is the key among some that is most like the given one.
func nearestKey(key string, among []*confDef) string {
	keys := make([]string, len(among))
	for i, d := range among {
		keys[i] = d.key
	}
	return plan.Nearest(key, keys)
}
