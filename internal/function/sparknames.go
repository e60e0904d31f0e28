package function

import (
	_ "embed"
	"strings"
	"sync"
)

// sparkFunctions are the built-in functions of Spark, one a line and sorted, with
// the class that computes it; made by tools/sparkdata/functions.py.
//
//go:embed spark_functions.txt
var sparkFunctions string

// sparkClasses are the classes of Spark that compute its functions, by name.
var sparkClasses = sync.OnceValue(func() map[string]string {
	classes := map[string]string{}
	for line := range strings.Lines(sparkFunctions) {
		name, class, _ := strings.Cut(strings.TrimSpace(line), " ")
		classes[name] = class
	}
	return classes
})

// SparkHas reports whether Spark has a built-in function of a name, in any case.
func SparkHas(name string) bool {
	_, found := sparkClasses()[strings.ToLower(name)]
	return found
}

// SparkClass is the class that errors of Spark name a built-in function by, ""
// when Spark has no such function.
func SparkClass(name string) string { return sparkClasses()[strings.ToLower(name)] }
