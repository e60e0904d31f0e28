package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// separator stands between the input of a case and its expected output.
const separator = "----"

// Command is one case of a script.
type Command struct {
	Name  string
	Args  []Arg
	Input string // the lines between the command and ----
	Where string // FILE:LINE of the command
}

// Arg is key, key=value or key="value with spaces".
type Arg struct {
	Key   string
	Value string
}

// Has reports whether the argument is there, with or without a value.
func (c Command) Has(key string) bool {
	for _, a := range c.Args {
		if a.Key == key {
			return true
		}
	}
	return false
}

// Arg returns the value of an argument, missing when it is not there.
func (c Command) Arg(key, missing string) string {
	for _, a := range c.Args {
		if a.Key == key {
			return a.Value
		}
	}
	return missing
}

// Int is Arg for a number.
func (c Command) Int(t testing.TB, key string, missing int) int {
	t.Helper()
	text := c.Arg(key, "")
	if text == "" {
		return missing
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %s=%s is no number", c.Where, key, text)
	}
	return n
}

// Script runs the cases of a file through one runner, in order. A case reads
//
//	# why the answer is right
//	name arg key=value
//	any lines of input
//	----
//	expected output
//
// and ends at an empty line. Output that itself has empty lines stands between
// two pairs of separators:
//
//	name
//	----
//	----
//	one
//
//	two
//	----
//	----
//
// Missing and surplus newlines at the end of the output do not count.
func Script(t *testing.T, file string, run func(t *testing.T, c Command) string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := parseScript(file, string(data))
	if err != nil {
		t.Fatal(err)
	}
	for i := range parts {
		p := &parts[i]
		if p.command.Name == "" {
			continue
		}
		got := trimEnd(run(t, p.command))
		if strings.Contains(got, separator+"\n"+separator+"\n") {
			t.Fatalf("%s: no script can hold output with two lines of %s", p.command.Where, separator)
		}
		if *rewrite {
			p.output = got
			continue
		}
		Diff(t, p.command.Where+": "+p.command.Name, got, p.output)
	}
	if text := printScript(parts); *rewrite && text != string(data) {
		writeExpectation(t, file, []byte(text))
	}
}

// Scripts runs every file of a directory as a subtest, each with a runner of
// its own. Hidden files are left out; a directory without scripts fails.
func Scripts(t *testing.T, dir string, runner func(t *testing.T) func(*testing.T, Command) string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, e := range entries {
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		count++
		t.Run(e.Name(), func(t *testing.T) {
			Script(t, filepath.Join(dir, e.Name()), runner(t))
		})
	}
	if count == 0 {
		t.Fatalf("no scripts in %s", dir)
	}
}

// part is a case, or lines between cases that stay as they are.
type part struct {
	text    string // comments and empty lines; for a case, all before its ----
	command Command
	output  string
}

// parseScript cuts a script into parts such that printing them gives the script
// back, up to the form of the separators.
func parseScript(file, text string) ([]part, error) {
	var parts []part
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines); {
		line := strings.TrimSpace(lines[i])
		if line == "" || line[0] == '#' {
			parts = append(parts, part{text: lines[i]})
			i++
			continue
		}
		where := fmt.Sprintf("%s:%d", file, i+1)
		p, used, err := parseCase(lines[i:])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		p.command.Where = where
		parts = append(parts, p)
		i += used
	}
	return parts, nil
}

// parseCase reads a case at the beginning of lines and says how many it took.
func parseCase(lines []string) (part, int, error) {
	command, err := parseCommand(strings.TrimSpace(lines[0]))
	if err != nil {
		return part{}, 0, err
	}
	end := 1
	for end < len(lines) && !isSeparator(lines[end]) {
		end++
	}
	if end == len(lines) {
		return part{}, 0, fmt.Errorf("no %s after command %q", separator, command.Name)
	}
	command.Input = strings.Join(lines[1:end], "")
	p := part{text: strings.Join(lines[:end], ""), command: command}
	output, used, err := readOutput(lines[end+1:])
	p.output = trimEnd(output)
	return p, end + 1 + used, err
}

func isSeparator(line string) bool { return strings.TrimSpace(line) == separator }

// readOutput reads the expected output behind the separator.
func readOutput(lines []string) (output string, used int, err error) {
	if len(lines) > 0 && isSeparator(lines[0]) {
		for i := 1; i+1 < len(lines); i++ {
			if isSeparator(lines[i]) && isSeparator(lines[i+1]) {
				return strings.Join(lines[1:i], ""), i + 2, nil
			}
		}
		return "", 0, fmt.Errorf("the output after two %s has no end", separator)
	}
	for used < len(lines) && strings.TrimSpace(lines[used]) != "" {
		used++
	}
	return strings.Join(lines[:used], ""), used, nil
}

func parseCommand(line string) (Command, error) {
	var c Command
	c.Name, line, _ = strings.Cut(line, " ")
	for {
		line = strings.TrimLeft(line, " \t")
		if line == "" {
			return c, nil
		}
		end := strings.IndexAny(line, " \t=")
		if end < 0 {
			end = len(line)
		}
		arg := Arg{Key: line[:end]}
		line = line[end:]
		if rest, ok := strings.CutPrefix(line, "="); ok {
			var err error
			if arg.Value, line, err = parseValue(rest); err != nil {
				return c, fmt.Errorf("argument %s of %s: %w", arg.Key, c.Name, err)
			}
		}
		c.Args = append(c.Args, arg)
	}
}

func parseValue(text string) (value, rest string, err error) {
	if strings.HasPrefix(text, `"`) || strings.HasPrefix(text, "`") {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return "", "", fmt.Errorf("quoted value does not end")
		}
		value, err = strconv.Unquote(quoted)
		return value, text[len(quoted):], err
	}
	end := strings.IndexAny(text, " \t")
	if end < 0 {
		end = len(text)
	}
	return text[:end], text[end:], nil
}

// trimEnd ends text with exactly one newline, unless it is empty.
func trimEnd(text string) string {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return ""
	}
	return text + "\n"
}

func printScript(parts []part) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.text)
		if p.command.Name == "" {
			continue
		}
		mark := separator + "\n"
		if needsPair(p.output) {
			mark += mark
			b.WriteString(mark + p.output + mark)
		} else {
			b.WriteString(mark + p.output)
		}
	}
	return b.String()
}

// needsPair reports whether an output cannot stand after a single separator.
func needsPair(output string) bool {
	for i, line := range strings.Split(strings.TrimSuffix(output, "\n"), "\n") {
		if output != "" && strings.TrimSpace(line) == "" || i == 0 && isSeparator(line) {
			return true
		}
	}
	return false
}
