package session

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
	zoneKey        = "spark.sql.session.timeZone"
	ansiKey        = "spark.sql.ansi.enabled"
	caseKey        = "spark.sql.caseSensitive"
	partitionsKey  = "spark.sql.shuffle.partitions"
	formatKey      = "spark.sql.sources.default"
	warehouseKey   = "spark.sql.warehouse.dir"
	assignmentKey  = "spark.sql.storeAssignmentPolicy"
	overwriteKey   = "spark.sql.sources.partitionOverwriteMode"
	checkpointKey  = "spark.sql.streaming.checkpointLocation"
	unsupportedKey = "spark.sql.streaming.unsupportedOperationCheck"
	defaultCatalog = "spark.sql.defaultCatalog"
)

// docroot is a parameter of some of Spark's errors.
const docroot = "https://spark.apache.org/docs/latest"

// Conf is the settings of a session: what it set over what the server was
// started with over Spark's defaults. Any goroutine may use it.
type Conf struct {
	base *baseConf

	mu  sync.RWMutex
	set map[string]string
}

// baseConf is what a server gives every session; it is never written.
type baseConf struct {
	set map[string]string // at the server's start
	// defaults stand in the place of Spark's.
	defaults map[string]string
}

func newConf(base *baseConf) *Conf {
	return &Conf{base: base, set: map[string]string{}}
}

func (c *Conf) clone() *Conf {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return &Conf{base: c.base, set: maps.Clone(c.set)}
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
	d := confRegistry().byKey[key]
	if d == nil {
		return checkUnknown(key)
	}
	if err := d.checkOwned(); err != nil {
		return err
	}
	if d.kind == kindRemoved {
		return d.checkRemoved(value)
	}
	return d.accepts(value)
}

func checkUnknown(key string) error {
	if !strings.HasPrefix(key, weirPrefix) {
		return nil
	}
	return &plan.Error{
		Class: plan.ClassIllegal, Condition: "INVALID_CONF_VALUE.REQUIREMENT",
		State: plan.SQLState("INVALID_CONF_VALUE.REQUIREMENT"),
		Args:  map[string]string{"confName": key, "confValue": "", "confRequirement": "known key"},
		Msg:   "There is no setting " + key + ".", Hint: "The nearest is " + nearestKey(key, weirConfs()) + ".",
	}
}

// checkOwned refuses keys that only the server's start may set.
func (d *confDef) checkOwned() error {
	quoted := `"` + d.key + `"`
	if d.static() {
		return plan.AnalysisError("CANNOT_MODIFY_STATIC_CONFIG",
			"The setting "+quoted+" is fixed when the server starts.", "key", quoted)
	}
	if d.kind == kindCore {
		return plan.AnalysisError("CANNOT_MODIFY_CONFIG",
			"The setting "+quoted+" belongs to the server and not to a session.",
			"key", quoted, "docroot", docroot)
	}
	return nil
}

func (d *confDef) checkRemoved(value string) error {
	if value == d.def {
		return nil
	}
	return plan.AnalysisError("_LEGACY_ERROR_TEMP_1226",
		"The setting "+d.key+" was removed from Spark; only its default "+d.def+" may be set.",
		"configName", d.key, "version", "", "comment", "")
}

// Unset takes a setting back to the server's value or the default.
func (c *Conf) Unset(key string) error {
	if d := confRegistry().byKey[key]; d != nil {
		if err := d.checkOwned(); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.set, key)
	return nil
}

// reset takes every setting back.
func (c *Conf) reset() {
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
	if d := confRegistry().byKey[key]; d != nil && d.get == noValue {
		return "", nil
	}
	quoted := `"` + key + `"`
	return "", plan.NewError(plan.ClassNoSuchElement, "SQL_CONF_NOT_FOUND",
		"There is no setting "+quoted+".", "sqlConf", quoted)
}

// Lookup is the value of a setting, be it set or its default.
func (c *Conf) Lookup(key string) (string, bool) {
	if value, ok := c.explicit(key); ok {
		return value, true
	}
	d := confRegistry().byKey[key]
	if d == nil {
		return "", false
	}
	for _, earlier := range d.alternatives {
		if value, ok := c.explicit(earlier); ok {
			return value, true
		}
	}
	if d.fallback != "" {
		if value, ok := c.explicit(d.fallback); ok {
			return value, true
		}
	}
	if value, ok := c.base.defaults[key]; ok {
		return value, true
	}
	return d.get, d.get != noValue && d.get != notFound
}

// explicit is what was set, here or at the server's start.
func (c *Conf) explicit(key string) (string, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if value, ok := c.set[key]; ok {
		return value, true
	}
	value, ok := c.base.set[key]
	return value, ok
}

// value is Lookup for those who do not care whether a key has a value.
func (c *Conf) value(key string) string {
	v, _ := c.Lookup(key)
	return v
}

func (c *Conf) flag(key string) bool {
	return strings.EqualFold(strings.TrimSpace(c.value(key)), "true")
}

// Pair is a setting.
type Pair struct{ Key, Value string }

// All lists the settings that were set, here or at the server's start, whose
// keys begin with prefix, sorted and without the prefix, as Spark does.
func (c *Conf) All(prefix string) []Pair {
	c.mu.RLock()
	defer c.mu.RUnlock()
	all := maps.Clone(c.base.set)
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

// told are a sink and what was set as what a run is told by.
func (c *Conf) told(format, path string) []monitor.Setting {
	out := []monitor.Setting{{Name: "sink.format", Value: format}, {Name: "sink.path", Value: path}}
	for _, p := range c.All("") {
		out = append(out, monitor.Setting{Name: p.Key, Value: p.Value})
	}
	return out
}

// IsModifiable reports whether a session may change a key that Spark knows.
func (c *Conf) IsModifiable(key string) bool {
	d := confRegistry().byKey[key]
	return d != nil && d.modifiable()
}

// frozen is the settings as they are now, for a query that must not see later
// changes.
func (c *Conf) frozen() *Conf { return c.clone() }

// CheckConfs finds out whether a server may be started with settings.
func CheckConfs(confs map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(confs)) {
		var err error
		if d := confRegistry().byKey[key]; d != nil {
			err = d.accepts(confs[key])
		} else {
			err = checkUnknown(key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
