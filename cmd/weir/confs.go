package main

import (
	"fmt"
	"maps"
	"os"
	"strings"
)

// parseConfs are the settings of a --properties-file, "" for none, and of --conf, which win.
func parseConfs(file string, list []string) (map[string]string, error) {
	confs := map[string]string{}
	if file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("--properties-file: %w", err)
		}
		read, err := parseProperties(string(data))
		if err != nil {
			return nil, fmt.Errorf("--properties-file %s: %w", file, err)
		}
		maps.Copy(confs, read)
	}
	for _, c := range list {
		key, value, ok := strings.Cut(c, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("--conf %s: write it as KEY=VALUE", c)
		}
		confs[key] = value
	}
	return confs, nil
}

// parseProperties reads lines of a spark-defaults.conf: a key and behind =, : or blanks its
// value. A line that ends with a backslash goes on in the next.
func parseProperties(text string) (map[string]string, error) {
	out := map[string]string{}
	n, line := 0, ""
	for part := range strings.Lines(text) {
		n++
		line += strings.TrimSpace(part)
		if rest, ok := strings.CutSuffix(line, `\`); ok {
			line = rest
			continue
		}
		whole := line
		line = ""
		if whole == "" || whole[0] == '#' || whole[0] == '!' {
			continue
		}
		end := strings.IndexAny(whole, "=: \t")
		if end < 0 {
			end = len(whole)
		}
		key, value := whole[:end], strings.TrimLeft(whole[end:], " \t")
		if value != "" && strings.ContainsRune("=:", rune(value[0])) {
			value = strings.TrimLeft(value[1:], " \t")
		}
		if !strings.HasPrefix(key, "spark.") && !strings.HasPrefix(key, "weir.") {
			return nil, fmt.Errorf("line %d: %.80q is no setting of Spark or weir: "+
				"their names begin with \"spark.\" or \"weir.\"", n, key)
		}
		out[key] = value
	}
	return out, nil
}
