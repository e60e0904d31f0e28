package settings

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

// Def is one key of Spark 4.3.0, as the table's own header explains it.
type Def struct {
	Key, Kind, Typ string
	flags          string
	Get            string // what an unset key answers; see NoValue and NotFound
	def            string
	fallback       string
	alternatives   []string
	Check          string
}

// Cells that stand for no text.
const (
	NoValue  = `\N` // the key is known and has no value
	notFound = `\E` // asking for the key fails
)

const (
	KindSQL     = "sql"
	kindCore    = "core"
	kindRemoved = "removed"
)

func (d *Def) static() bool     { return strings.Contains(d.flags, "s") }
func (d *Def) modifiable() bool { return strings.Contains(d.flags, "m") }
func (d *Def) Public() bool     { return strings.Contains(d.flags, "p") }

// Registry is every key by name, and in order.
type Registry struct {
	ByKey  map[string]*Def
	Sorted []*Def
}

var Known = sync.OnceValue(func() *Registry {
	r := &Registry{ByKey: make(map[string]*Def, 1600)}
	unescape := strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n")
	for line := range strings.Lines(confTable) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || len(cells) != 9 {
			continue
		}
		for i, c := range cells {
			if c != NoValue && c != notFound {
				cells[i] = unescape.Replace(c)
			}
		}
		d := &Def{
			Key: cells[0], Kind: cells[1], Typ: cells[2], flags: cells[3], Get: cells[4], def: cells[5],
			fallback: cells[6], Check: cells[8],
		}
		if cells[7] != "" {
			d.alternatives = strings.Split(cells[7], ",")
		}
		r.ByKey[d.Key] = d
		r.Sorted = append(r.Sorted, d)
	}
	for _, d := range Own() {
		r.ByKey[d.Key] = d
		r.Sorted = append(r.Sorted, d)
	}
	slices.SortFunc(r.Sorted, func(a, b *Def) int { return strings.Compare(a.Key, b.Key) })
	return r
})

// weirPrefix begins weir's own keys; unknown ones are refused.
const weirPrefix = "weir."

// OnReleaseKey says what becomes of a session's queries when it is released.
const OnReleaseKey = "weir.session.onRelease"

// Own are weir's own keys.
func Own() []*Def {
	confs := []*Def{{
		Key: OnReleaseKey, Kind: KindSQL, Typ: "string", flags: "mp", Get: "stop", def: "stop",
		Check: "options:stop, detach",
	}, {
		Key: "weir.history.retention", Kind: KindSQL, Typ: "time in MILLISECONDS", flags: "sp", Get: "14d",
		def: "14d", Check: "range:86400000..",
	}, {
		Key: "weir.history.maxBytes", Kind: KindSQL, Typ: "bytes in BYTE", flags: "sp", Get: "1g", def: "1g",
		Check: "range:0..",
	}, {
		Key: QueryMemoryKey, Kind: KindSQL, Typ: "bytes in BYTE", flags: "mp", Get: NoValue, def: NoValue,
		Check: "range:1048576..",
	}, {
		Key: "weir.query.freshnessObjective", Kind: KindSQL, Typ: "time in MILLISECONDS", flags: "mp", Get: NoValue,
		def: NoValue,
	}, {
		Key: ServerMemoryKey, Kind: KindSQL, Typ: "bytes in BYTE", flags: "sp", Get: NoValue, def: NoValue,
		Check: "range:1048576..",
	}}
	// Those of reporters are read once, when the server starts.
	reporters := report.OwnKeys()
	for _, key := range slices.Sorted(maps.Keys(reporters)) {
		confs = append(confs, &Def{Key: key, Kind: KindSQL, Typ: "string", flags: "sp", Get: NoValue,
			def: NoValue})
	}
	return confs
}

// Nearest is the key among some that is most like the given one.
func Nearest(key string, among []*Def) string {
	keys := make([]string, len(among))
	for i, d := range among {
		keys[i] = d.Key
	}
	return plan.Nearest(key, keys)
}
