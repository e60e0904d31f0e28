package sql

import "testing"

func BenchmarkParse(b *testing.B) {
	texts := map[string]string{
		"select": "SELECT id, name FROM t WHERE id > 5",
		"window": "SELECT window(ts, '10 seconds').start AS s, count(*) AS n FROM events " +
			"WHERE kind IN ('a', 'b') AND amount * 2 > 10 GROUP BY window(ts, '10 seconds'), kind HAVING count(*) > 1",
	}
	for name, text := range texts {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for range b.N {
				if _, err := Parse(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
