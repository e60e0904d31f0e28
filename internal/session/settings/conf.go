package settings

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/plan"
)

// Keys that this room reads.
const (
	ZoneKey        = "spark.sql.session.timeZone"
	AnsiKey        = "spark.sql.ansi.enabled"
	CaseKey        = "spark.sql.caseSensitive"
	PartitionsKey  = "spark.sql.shuffle.partitions"
	FormatKey      = "spark.sql.sources.default"
	WarehouseKey   = "spark.sql.warehouse.dir"
	AssignmentKey  = "spark.sql.storeAssignmentPolicy"
	OverwriteKey   = "spark.sql.sources.partitionOverwriteMode"
	CheckpointKey  = "spark.sql.streaming.checkpointLocation"
	UnsupportedKey = "spark.sql.streaming.unsupportedOperationCheck"
	DefaultCatalog = "spark.sql.defaultCatalog"
)

// The settings that bound memory. Both take sizes such as 512m and 4g.
const (
	// QueryMemoryKey bounds what one query, batch or streaming, may hold.
	QueryMemoryKey = "weir.query.maxMemory"
	// ServerMemoryKey bounds what all queries of a server hold together.
	ServerMemoryKey = "weir.server.maxMemory"
)

// docroot is a parameter of some of Spark's errors.
const docroot = "https://spark.apache.org/docs/latest"

// Conf is the settings of a session: what it set over what the server was
// started with over Spark's defaults. Any goroutine may use it.
type Conf struct {
	Base *Base

	mu  sync.RWMutex
	set map[string]string
}

// Base is what a server gives every session; it is never written.
type Base struct {
	Set map[string]string // at the server's start
	// Defaults stand in the place of Spark's.
	Defaults map[string]string
}

func New(base *Base) *Conf {
	return &Conf{Base: base, set: map[string]string{}}
}

func (c *Conf) Clone() *Conf {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return &Conf{Base: c.Base, set: maps.Clone(c.set)}
}

// Set changes a setting. Unknown keys are kept, but for those of weir; static
// keys and those of Spark's core are refused.
func (c *Conf) Set(key, value string) error {
	if err := checkWritable(key, value); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set[key] = value
	return nil
}

func checkWritable(key, value string) error {
	d := Known().ByKey[key]
	if d == nil {
		return CheckUnknown(key)
	}
	if err := d.checkOwned(); err != nil {
		return err
	}
	if d.Kind == kindRemoved {
		return d.checkRemoved(value)
	}
	return d.Accepts(value)
}

func CheckUnknown(key string) error {
	if !strings.HasPrefix(key, weirPrefix) {
		return nil
	}
	return &plan.Error{
		Class: plan.ClassIllegal, Condition: "INVALID_CONF_VALUE.REQUIREMENT",
		State: plan.SQLState("INVALID_CONF_VALUE.REQUIREMENT"),
		Args:  map[string]string{"confName": key, "confValue": "", "confRequirement": "known key"},
		Msg:   "There is no setting " + key + ".", Hint: "The nearest is " + Nearest(key, Own()) + ".",
	}
}

// checkOwned refuses keys that only the server's start may set.
func (d *Def) checkOwned() error {
	quoted := `"` + d.Key + `"`
	if d.static() {
		return plan.AnalysisError("CANNOT_MODIFY_STATIC_CONFIG",
			"The setting "+quoted+" is fixed when the server starts.", "key", quoted)
	}
	if d.Kind == kindCore {
		return plan.AnalysisError("CANNOT_MODIFY_CONFIG",
			"The setting "+quoted+" belongs to the server and not to a session.",
			"key", quoted, "docroot", docroot)
	}
	return nil
}

func (d *Def) checkRemoved(value string) error {
	if value == d.def {
		return nil
	}
	return plan.AnalysisError("_LEGACY_ERROR_TEMP_1226",
		"The setting "+d.Key+" was removed from Spark; only its default "+d.def+" may be set.",
		"configName", d.Key, "version", "", "comment", "")
}

// Unset takes a setting back to the server's value or the default.
func (c *Conf) Unset(key string) error {
	if d := Known().ByKey[key]; d != nil {
		if err := d.checkOwned(); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.set, key)
	return nil
}

// Reset takes every setting back.
func (c *Conf) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.set)
}

// Get is the value of a setting. A key that is neither known nor set is
// SQL_CONF_NOT_FOUND; a known one may have no value, which reads "" here and
// false in Lookup.
func (c *Conf) Get(key string) (string, error) {
	if value, ok := c.Lookup(key); ok {
		return value, nil
	}
	if d := Known().ByKey[key]; d != nil && d.Get == NoValue {
		return "", nil
	}
	quoted := `"` + key + `"`
	return "", plan.NewError(plan.ClassNoSuchElement, "SQL_CONF_NOT_FOUND",
		"There is no setting "+quoted+".", "sqlConf", quoted)
}

// Lookup is the value of a setting, be it set or its default.
func (c *Conf) Lookup(key string) (string, bool) {
	if value, ok := c.Explicit(key); ok {
		return value, true
	}
	d := Known().ByKey[key]
	if d == nil {
		return "", false
	}
	for _, earlier := range d.alternatives {
		if value, ok := c.Explicit(earlier); ok {
			return value, true
		}
	}
	if d.fallback != "" {
		if value, ok := c.Explicit(d.fallback); ok {
			return value, true
		}
	}
	if value, ok := c.Base.Defaults[key]; ok {
		return value, true
	}
	return d.Get, d.Get != NoValue && d.Get != notFound
}

// Explicit is what was set, here or at the server's start.
func (c *Conf) Explicit(key string) (string, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if value, ok := c.set[key]; ok {
		return value, true
	}
	value, ok := c.Base.Set[key]
	return value, ok
}

// Value is Lookup for those who do not care whether a key has a value.
func (c *Conf) Value(key string) string {
	v, _ := c.Lookup(key)
	return v
}

func (c *Conf) Flag(key string) bool {
	return strings.EqualFold(strings.TrimSpace(c.Value(key)), "true")
}

// Pair is a setting.
type Pair struct{ Key, Value string }

// All lists the settings that were set, here or at the server's start, whose
// keys begin with prefix, sorted and without the prefix, as Spark does.
func (c *Conf) All(prefix string) []Pair {
	c.mu.RLock()
	defer c.mu.RUnlock()
	all := maps.Clone(c.Base.Set)
	maps.Copy(all, c.set)
	var pairs []Pair
	for key, value := range all {
		if rest, ok := strings.CutPrefix(key, prefix); ok {
			pairs = append(pairs, Pair{rest, value})
		}
	}
	slices.SortFunc(pairs, func(a, b Pair) int { return cmp.Compare(a.Key, b.Key) })
	return pairs
}

// Told are a sink and what was set as what a run is told by.
func (c *Conf) Told(format, path string) []monitor.Setting {
	out := []monitor.Setting{{Name: "sink.format", Value: format}, {Name: "sink.path", Value: path}}
	for _, p := range c.All("") {
		out = append(out, monitor.Setting{Name: p.Key, Value: p.Value})
	}
	return out
}

// IsModifiable reports whether a session may change a key that Spark knows.
func (c *Conf) IsModifiable(key string) bool {
	d := Known().ByKey[key]
	return d != nil && d.modifiable()
}

// Frozen is the settings as they are now, for a query that must not see later
// changes.
func (c *Conf) Frozen() *Conf { return c.Clone() }

// CheckConfs finds out whether a server may be started with settings.
func CheckConfs(confs map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(confs)) {
		var err error
		if d := Known().ByKey[key]; d != nil {
			err = d.Accepts(confs[key])
		} else {
			err = CheckUnknown(key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
