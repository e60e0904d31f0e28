package codec

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

type recordedCast struct {
	Mode, Zone, To, Text string
	Out                  *string
}

// castText is what a cast of text to a type and back to STRING gives.
func castText(t *testing.T, c recordedCast, zone *Offsets) (string, bool) {
	t.Helper()
	style := TextStyle{Zone: zone, ExpDecimal: c.Mode == "legacy"}
	typ, err := typeOf(c.To)
	if err != nil {
		t.Fatal(err)
	}
	v := chunk.New(typ, 1)
	switch typ.Kind {
	case plan.KindByte, plan.KindShort, plan.KindInt, plan.KindLong:
		x, ok := ParseInt(c.Text, c.Mode == "legacy")
		width := 8 * chunk.Width(typ)
		if !ok || x>>(width-1) != x>>63 {
			return "", false
		}
		return string(appendInt(nil, x)), true
	case plan.KindFloat:
		x, ok := ParseFloat(c.Text)
		return string(AppendFloat(nil, x)), ok
	case plan.KindDouble:
		x, ok := ParseDouble(c.Text)
		return string(AppendDouble(nil, x)), ok
	case plan.KindDecimal:
		x, fault := ParseDecimal(c.Text, typ)
		chunk.Append(v, x)
		return string(style.AppendValue(nil, v, 0)), fault == DecimalOK
	case plan.KindBoolean:
		x, ok := ParseBool(c.Text)
		if x {
			return "true", ok
		}
		return "false", ok
	case plan.KindDate:
		x, ok := ParseDate(c.Text)
		return string(AppendDate(nil, x)), ok
	case plan.KindTimestamp:
		x, ok := ParseTimestamp(c.Text, zone, 0)
		return string(AppendTimestamp(nil, x, zone)), ok
	case plan.KindTimestampNTZ:
		x, ok := ParseTimestampNTZ(c.Text, true)
		return string(AppendTimestampNTZ(nil, x)), ok
	default:
		return "", false
	}
}

func typeOf(sql string) (plan.Type, error) {
	name := strings.ToLower(sql)
	spark := map[string]string{"tinyint": "byte", "smallint": "short", "int": "integer", "bigint": "long"}
	if long, ok := spark[name]; ok {
		name = long
	}
	return plan.ParseTypeJSON(`"` + name + `"`)
}

func zoneOf(t testing.TB, id string) *Offsets {
	t.Helper()
	loc, err := Zone(id)
	if err != nil {
		t.Fatal(err)
	}
	return NewOffsets(loc)
}

// The table was recorded from Spark by testdata/record_casts.py.
func TestCastsReadAndPrintAsSpark(t *testing.T) {
	f, err := os.Open("testdata/casts.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zones := map[string]*Offsets{}
	in := bufio.NewScanner(f)
	for in.Scan() {
		var c recordedCast
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(c.To, "TIME") && !strings.HasPrefix(c.To, "TIMESTAMP") {
			continue
		}
		if zones[c.Zone] == nil {
			zones[c.Zone] = zoneOf(t, c.Zone)
		}
		got, ok := castText(t, c, zones[c.Zone])
		if !ok {
			got = "NULL"
		}
		want := "NULL"
		if c.Out != nil {
			want = *c.Out
		}
		if got != want && !dependsOnToday(c) {
			t.Errorf("%s %s: cast %q to %s: got %s, want %s", c.Mode, c.Zone, c.Text, c.To, got, want)
		}
	}
}

// dependsOnToday are texts with a time only; their date was that of the recording.
func dependsOnToday(c recordedCast) bool {
	return c.To == "TIMESTAMP" && c.Out != nil && !strings.Contains(c.Text, "-") && strings.Contains(c.Text, ":")
}

func TestTimesWithoutADateAreOfToday(t *testing.T) {
	zone := zoneOf(t, "Asia/Tokyo")
	now := time.Date(2024, 5, 6, 20, 0, 0, 0, time.UTC).UnixMicro()
	for _, text := range []string{"3:04", "T03:04:00", "03:04:00.0"} {
		got, ok := ParseTimestamp(text, zone, now)
		if s := string(AppendTimestamp(nil, got, zone)); !ok || s != "2024-05-07 03:04:00" {
			t.Errorf("%q: got %s, %v", text, s, ok)
		}
	}
}
