package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/monitor/health"
	"github.com/weir-dev/weir/internal/testkit"
)

// A renderCase is data as the API gives it and what the server makes of it.
type renderCase struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	Data any    `json:"data"`
	html string
}

// TestServerAndScriptRenderTheSame holds the templates and the page's script to one
// golden file: the first fills it, the second is given the same data by node.
func TestServerAndScriptRenderTheSame(t *testing.T) {
	cases := renderCases()
	var golden bytes.Buffer
	for _, c := range cases {
		fmt.Fprintf(&golden, "== %s: %s\n%s\n", c.Kind, c.Name, c.html)
	}
	data, err := json.MarshalIndent(cases, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "render.json", append(data, '\n'))
	testkit.Golden(t, "render.golden", golden.Bytes())

	node, err := exec.LookPath("node")
	testkit.Need(t, err == nil, "node, to render with the page's script")
	script := exec.CommandContext(t.Context(), node, "testdata/render.mjs")
	var out, problems bytes.Buffer
	script.Stdout, script.Stderr = &out, &problems
	if err := script.Run(); err != nil {
		t.Fatalf("%v\n%s", err, problems.String())
	}
	testkit.Diff(t, "what the script renders", lines(out.String()), lines(golden.String()))
}

// lines cuts HTML at its tags, so that a difference is seen where it is.
func lines(html string) []string { return strings.SplitAfter(html, ">") }

func renderCases() []renderCase {
	var out []renderCase
	now := instant(noon.Add(123*time.Minute + 456*time.Millisecond))
	rows := renderRows(time.Time(now))
	for i, r := range rows {
		out = append(out, renderCase{"row", r.Name, map[string]any{"row": r, "nowAtMs": now, "index": i},
			fleetRowHTML(r, now, i)})
	}
	fleets := map[string][]*fleetRow{"none": {}, "all": rows, "one": rows[8:9], "calm": rows[8:10],
		"one in trouble": rows[:1], "catching up": rows[5:8], "one catching up": rows[5:6],
		"one stopped": rows[10:11], "stopped": rows[10:12], "some stopped": rows[9:12],
		"one starting": rows[7:8], "starting": rows[7:9], "one missing": rows[12:], "missing": rows[11:],
	}
	for _, name := range []string{"none", "all", "one", "calm", "one in trouble", "catching up",
		"one catching up", "one stopped", "stopped", "some stopped", "one starting", "starting", "one missing", "missing"} {
		f := (&server{}).newFleetOf(time.Time(now), fleets[name])
		out = append(out, renderCase{"summary", name, f, fleetSummary(f)},
			renderCase{"lacks", name, f, lacking(f.Queries)})
	}
	for i, r := range rows {
		row := *r
		p := renderQuery(&row, now, i)
		out = append(out, renderCase{"query", r.Name, map[string]any{
			"detail": p.detail, "batches": p.batches, "progress": p.progress, "series": p.series,
			"logs": p.logs,
		}, queryBody(p)})
	}
	return out
}

// renderRows is a row in each state, worst first, with figures around every change of
// unit and hostile texts.
func renderRows(now time.Time) []*fleetRow {
	figures := []float64{0, 0.004, 0.26, 0.95, 9.94, 9.96, 99.96, 999.4, 999.6, 12345, 999_949, 4.56e8,
		math.NaN()}
	spans := []float64{0, 3, 999.6, 9940, 9960, 99_600, 596_000, 598_000, 5.97e6, 3.59e7, 1.8e8, 3e9, math.NaN()}
	names := []string{"orders", `<img src=x onerror=alert(1)>`, `"><svg/onload=alert(2)>`, "'; DROP TABLE health; --",
		"`a`.`b``c`", "name with spaces and\ttab", "кириллица-очередь", "🙂🙂🙂", "a & b", "&amp;", "$(touch x)", "young"}
	var out []*fleetRow
	for i, state := range append(stateOrder[:], health.Stopped) {
		f, ms := figures[i%len(figures)], spans[i%len(spans)]
		r := fleetRow{rowFigures: rowFigures{
			ID: fmt.Sprintf("%08d-(%s)", i, names[i]), RunID: fmt.Sprintf("run-%d", i),
			Name: names[i], Application: names[(i+1)%len(names)], Tags: []string{"team:" + names[(i+2)%len(names)]},
			Engine: "weir", State: state, SinceAtMs: instant(now.Add(-time.Duration(ms+1) * time.Millisecond)),
			HealthScore: number(100 - 9*i), Reason: "because of " + names[(i+3)%len(names)],
			FreshnessP95Ms: num(ms), FreshnessSloMs: 60_000, BacklogMs: num(3 * ms),
			BacklogRows: num(1000 * f), EtaLowMs: unknown(), EtaHighMs: unknown(), ShortPercent: unknown(),
			ArrivalRowsPerSecond: num(f), ProcessedRowsPerSecond: num(f * 0.83),
			BatchMs: num(ms / 7), TriggerMs: 10_000, BusyRatio: num(0.1234 * float64(i)),
			HeadroomRatio: num(1.2 * float64(i)), BatchRatio: num(0.09 * float64(i)),
			StateBytes: num(3000 * f * f), StateGrowthBytesPerHour: num(2e7 * float64(i)),
			LastCommitAtMs: instant(now.Add(-time.Duration(i*i*3000) * time.Millisecond)),
		}, rowPast: rowPast{RestartsLastDay: i,
			StateStrip: strings.Repeat(".fsxblcrthio"[i:i+1], 20) + "hhhhbbhhccfsxblrtio" + strings.Repeat("h", 9),
		}}
		r.sparks(i)
		out = append(out, &r)
	}
	out[1].Engine, out[1].Tags = "Spark <3.5>", []string{}
	out[8].HeadroomRatio, out[8].BusyRatio, out[8].BatchRatio = unknown(), unknown(), 0.002
	out[3].HeadroomRatio, out[9].HeadroomRatio = 0.83, unknown()
	out[3].ShortPercent, out[5].EtaLowMs, out[5].EtaHighMs = 17, 190_000, 301_000
	out[6].EtaLowMs, out[6].EtaHighMs = 59_000, 72_000
	out[2].EtaLowMs, out[2].BusyRatio, out[2].FreshnessSloMs = 42_000, unknown(), unknown()
	out[9].LastCommitAtMs, out[9].BacklogMs, out[9].Reason = instant{}, 0, ""
	out[10].Reason, out[11].Reason = "", ""
	left := *out[9]
	left.ID, left.State, left.NotStartedAgain, left.HealthScore = "left", health.Stopped, true, 70
	left.Reason = "The server ended while it ran..."
	return append(out, &left)
}

// sparks fills in the past: rising, falling, spiky, with gaps, of one kind only, none.
func (r *fleetRow) sparks(kind int) {
	for i := range sparkCells {
		x := float64(i)
		fresh, in, out := 1234.5*x, 8000+700*math.Sin(x/3), 7900+650*math.Sin(x/4)
		switch kind {
		case 1:
			fresh, in = math.NaN(), math.NaN()
		case 2:
			fresh, in, out = 40_000*float64(i%2), 0, 0
		case 3:
			if i%7 == 3 || i < 4 {
				fresh, in, out = math.NaN(), math.NaN(), math.NaN()
			}
		case 4:
			if i == 20 {
				in = 9e6
			}
		case 9: // too few to be drawn
			if i < 24 {
				fresh, in, out = math.NaN(), math.NaN(), math.NaN()
			}
		case 8:
			fresh, in, out = math.NaN(), math.NaN(), math.NaN()
		}
		r.FreshnessSparkMs[i], r.ArrivalSparkRowsPerSecond[i] = num(fresh), num(in)
		r.ProcessedSparkRowsPerSecond[i] = num(out)
	}
}
