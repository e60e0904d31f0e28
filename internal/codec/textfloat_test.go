package codec

import (
	"bufio"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// The table was printed by Double.toString and Float.toString of Java 17:
// "d" or "f", the bits in hex, the text.
func TestFloatsPrintAsInJava17(t *testing.T) {
	path := "testdata/java17_floats.txt"
	if p := os.Getenv("WEIR_JAVA_FLOATS"); p != "" {
		path = p
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := 0
	for in := bufio.NewScanner(f); in.Scan(); lines++ {
		parts := strings.Fields(in.Text())
		bits, err := strconv.ParseUint(parts[1], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		if parts[0] == "d" {
			got = AppendDouble(nil, math.Float64frombits(bits))
		} else {
			got = AppendFloat(nil, math.Float32frombits(uint32(bits)))
		}
		if string(got) != parts[2] {
			t.Errorf("%s %s: got %s, want %s", parts[0], parts[1], got, parts[2])
		}
	}
	if lines < 8000 {
		t.Errorf("only %d lines in the table", lines)
	}
}

func BenchmarkAppendDouble(b *testing.B) {
	values := map[string]float64{"short": 123.45, "long": 0.1234567890123456, "huge": 1.2345678901234567e300}
	for name, f := range values {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var dst []byte
			for b.Loop() {
				dst = AppendDouble(dst[:0], f)
			}
		})
	}
}
