package codec

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/plan"
)

type recordedPattern struct {
	Call, Zone, Arg, Pattern, Out, Error string
}

func (c recordedPattern) run(t *testing.T, zone *Offsets) (string, error) {
	t.Helper()
	use := PatternUse{Parse: c.Call != "date_format", NTZ: c.Call == "to_timestamp_ntz"}
	p, err := CompilePattern(c.Pattern, use)
	if err != nil {
		return "", err
	}
	switch c.Call {
	case "date_format":
		micros, ok := ParseTimestamp(c.Arg, zone, 0)
		if !ok {
			t.Fatalf("timestamp %q", c.Arg)
		}
		b, err := p.AppendTimestamp(nil, micros, zone)
		return string(b), err
	case "to_timestamp":
		micros, err := p.ParseTimestamp(c.Arg, zone)
		return string(AppendTimestamp(nil, micros, zone)), err
	case "to_timestamp_ntz":
		micros, err := p.ParseTimestampNTZ(c.Arg, true)
		return string(AppendTimestampNTZ(nil, micros)), err
	default:
		// to_date reads a timestamp and takes its date.
		micros, err := p.ParseTimestamp(c.Arg, zone)
		days := int32(floorDiv(zone.Local(micros), microsPerDay))
		return string(AppendDate(nil, days)), err
	}
}

// The table was recorded from Spark by testdata/record_patterns.py.
func TestPatternsPrintAndReadAsSpark(t *testing.T) {
	f, err := os.Open("testdata/patterns.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zones := map[string]*Offsets{}
	for in := bufio.NewScanner(f); in.Scan(); {
		var c recordedPattern
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if zones[c.Zone] == nil {
			zones[c.Zone] = zoneOf(t, c.Zone)
		}
		got, err := c.run(t, zones[c.Zone])
		var refusal *plan.Error
		switch {
		case errors.As(err, &refusal):
			if refusal.Condition != c.Error && !strings.HasSuffix(refusal.Class, "."+c.Error) {
				t.Errorf("%+v: got %v", c, err)
			}
		case err != nil:
			if !strings.HasPrefix(c.Error, "CANNOT_PARSE") {
				t.Errorf("%+v: got %v", c, err)
			}
		case c.Error != "" || got != c.Out:
			t.Errorf("%+v: got %q", c, got)
		}
	}
}
