package connector

import (
	"fmt"
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
	var names []string
	var types []plan.Type
	bases := map[string]bool{}
	for _, f := range files {
		values := f.partition()
		bases[f.loc.Text(f.partBase())] = true
		if len(values) == 0 {
			continue
		}
		fresh := make([]string, len(values))
		for i, v := range values {
			fresh[i] = v.name
		}
		if names == nil {
			names, types = fresh, make([]plan.Type, len(fresh))
		}
		if !look.sameNames(names, fresh) {
			return nil, conflictingNames(files, names, fresh)
		}
		for i, v := range values {
			types[i] = look.wider(types[i], look.infer(v.raw))
		}
	}
	if names != nil && len(bases) > 1 {
		return nil, conflictingBases(bases)
	}
	fields := make([]plan.Field, len(names))
	for i, name := range names {
		fields[i] = plan.Col(name, types[i])
		if user != nil {
			if at := look.find(*user, name); at >= 0 {
				fields[i] = plan.Col(user.Fields[at].Name, user.Fields[at].Type)
			}
		}
	}
	return fields, nil
}

func conflictingNames(files []dataFile, a, b []string) *plan.Error {
	dirs := map[string]bool{}
	for _, f := range files {
		dirs["\t"+f.loc.Text(path.Dir(f.path))] = true
	}
	lists := fmt.Sprintf("\n\tPartition column name list #0: %s\n\tPartition column name list #1: %s",
		strings.Join(a, ", "), strings.Join(b, ", "))
	return plan.NewError(plan.ClassRuntime, "CONFLICTING_PARTITION_COLUMN_NAMES",
		"The directories have different partition columns, so they are no one table.",
		"distinctPartColLists", lists, "suspiciousPaths", "\n"+strings.Join(sortedKeys(dirs), "\n"))
}

func conflictingBases(bases map[string]bool) *plan.Error {
	return plan.NewError(plan.ClassRuntime, "CONFLICTING_DIRECTORY_STRUCTURES",
		"Partition directories begin below more than one directory; read each of them by itself, "+
			"or give basePath.",
		"discoveredBasePaths", "\n\t"+strings.Join(sortedKeys(bases), "\n\t"))
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
			high, low := hexValue(s[i+1]), hexValue(s[i+2])
			if high >= 0 && low >= 0 {
				b.WriteByte(byte(high<<4 | low))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func hexValue(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
