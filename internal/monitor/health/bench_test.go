package health

import "testing"

// One assessment a second and query: 500 queries cost 500 times this a second.
func BenchmarkAssess(b *testing.B) {
	f := feed{w: New(Config{}, at(0)), arrives: 1000, takes: 1e9, phases: usualPhases()}
	f.run(600)
	b.ReportAllocs()
	for b.Loop() {
		f.w.Assess(at(f.second))
	}
}
