package file

import (
	"encoding/hex"

	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// noValue is the directory name that stands for NULL and for the empty string.
const noValue = "__HIVE_DEFAULT_PARTITION__"

// partValue is a partition column in a path, its value still escaped.
type partValue struct{ name, raw string }

// partition reads the columns of a file's path, outermost first: the run of
// name=value elements that is nearest to the file.
func (f dataFile) partition() []partValue {
	var found []partValue
	for dir := path.Dir(f.path); dir != f.base && dir != "/"; dir = path.Dir(dir) {
		name, raw, ok := strings.Cut(path.Base(dir), "=")
		if !ok || name == "" {
			if len(found) > 0 {
				break
			}
			continue
		}
		found = append(found, partValue{unescapePart(name), raw})
	}
	slices.Reverse(found)
	return found
}

// partBase is the directory in which the partitions of a file begin, the file's
// own when it has none.
func (f dataFile) partBase() string {
	n := len(f.partition())
	dir := path.Dir(f.path)
	for ; n > 0; dir = path.Dir(dir) {
		if strings.Contains(path.Base(dir), "=") {
			n--
		}
	}
	return dir
}

// discover finds the partition columns of files. Types come from user where it
// has the column, else from the values.
func discover(files []dataFile, user *plan.Type, look *partLook) ([]plan.Field, error) {
	d := discovery{look: look, bases: map[string]bool{}, dirs: map[string]map[string]bool{}}
	for _, f := range files {
		if err := d.add(f); err != nil {
			return nil, err
		}
	}
	if len(d.dirs) > 1 {
		return nil, d.conflictingNames()
	}
	if len(d.dirs) == 1 && len(d.bases) > 1 {
		return nil, d.conflictingBases()
	}
	fields := make([]plan.Field, len(d.names))
	for i, name := range d.names {
		fields[i] = plan.Col(name, d.types[i])
		if user == nil {
			continue
		}
		at := look.find(*user, name)
		if at < 0 {
			continue
		}
		fields[i].Name, fields[i].Type = user.Fields[at].Name, user.Fields[at].Type
		for raw := range d.values[i] {
			if _, err := look.value(raw, fields[i]); err != nil {
				return nil, err
			}
		}
	}
	return fields, nil
}

// discovery gathers what directories say about partition columns.
type discovery struct {
	look   *partLook
	bases  map[string]bool
	names  []string
	types  []plan.Type
	values []map[string]bool          // of each column, escaped
	dirs   map[string]map[string]bool // directories by their list of columns
}

func (d *discovery) add(f dataFile) error {
	d.bases[f.loc.Text(f.partBase())] = true
	values := f.partition()
	if len(values) == 0 {
		return nil
	}
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = v.name
		if v.raw == "" {
			return plan.NewError(plan.ClassRuntime, "EMPTY_PARTITION_COLUMN_VALUE",
				fmt.Sprintf("The directory %s= names a partition column and no value.", v.name),
				"columnSpec", escapePart(v.name)+"=")
		}
	}
	list := strings.Join(names, ", ")
	if d.dirs[list] == nil {
		d.dirs[list] = map[string]bool{}
	}
	d.dirs[list][f.loc.Text(path.Dir(f.path))] = true
	if d.names == nil {
		d.names, d.types, d.values = names, make([]plan.Type, len(names)), make([]map[string]bool, len(names))
	}
	if len(d.dirs) > 1 {
		return nil // reported when all are seen
	}
	for i, v := range values {
		if d.values[i] == nil {
			d.values[i] = map[string]bool{}
		}
		if !d.values[i][v.raw] {
			d.values[i][v.raw] = true
			d.types[i] = d.look.wider(d.types[i], d.look.infer(v.raw))
		}
	}
	return nil
}

func (d *discovery) conflictingNames() *plan.Error {
	lists := slices.SortedFunc(maps.Keys(d.dirs), func(a, b string) int {
		return cmp.Or(strings.Count(a, ",")-strings.Count(b, ","), strings.Compare(a, b))
	})
	var columns, dirs strings.Builder
	for i, list := range lists {
		fmt.Fprintf(&columns, "\n\tPartition column name list #%d: %s", i, list)
		for _, dir := range sortedKeys(d.dirs[list]) {
			dirs.WriteString("\n\t" + dir)
		}
	}
	return plan.NewError(plan.ClassRuntime, "CONFLICTING_PARTITION_COLUMN_NAMES",
		"The directories have different partition columns, so they are no one table.",
		"distinctPartColLists", columns.String()+"\n", "suspiciousPaths", dirs.String())
}

func (d *discovery) conflictingBases() *plan.Error {
	return plan.NewError(plan.ClassRuntime, "CONFLICTING_DIRECTORY_STRUCTURES",
		"Partition directories begin below more than one directory; read each of them by itself, "+
			"or give basePath.",
		"discoveredBasePaths", "\n\t"+strings.Join(sortedKeys(d.bases), "\n\t")+"\n")
}

func sortedKeys(set map[string]bool) []string {
	keys := make([]string, 0, len(set))
	for k := range set {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

const hexDigits = "0123456789ABCDEF"

// unsafePart are the characters that Hive cannot have in a directory name.
const unsafePart = "\"#%'*/:=?\\{[]^\x7f"

// escapePart is a name or value as a directory name.
func escapePart(s string) string {
	if s == "" {
		return noValue
	}
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < ' ' || strings.IndexByte(unsafePart, c) >= 0 {
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// unescapePart reverses escapePart; a % without two digits stays.
func unescapePart(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if char, err := hex.DecodeString(s[i+1 : i+3]); err == nil {
				b.Write(char)
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
