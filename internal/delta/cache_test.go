package delta

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/vfs"
)

// contents are what makes a snapshot.
func contents(s *Snapshot) []string {
	out := []string{s.Schema.JSON(), s.Metadata.ID}
	for _, f := range s.Files() {
		out = append(out, f.Path)
	}
	for app, t := range s.txns {
		out = append(out, app, string(rune('0'+t.Version)))
	}
	slices.Sort(out)
	return out
}

// A snapshot that was kept is the one that reading the whole log gives, whoever wrote
// meanwhile.
func TestKeptSnapshotsAreThoseOfTheLog(t *testing.T) {
	table := Table{vfs.NewMemory(), "/t"}
	var cache Cache
	mine := open(t, table)
	for id := range int64(25) {
		writer := mine
		if id%3 == 1 {
			var err error
			if writer, err = cache.Load(t.Context(), table); err != nil { // one of the cache's own
				t.Fatal(err)
			}
		}
		if err := appendRows(writer, idSchema, nil, nil, idChunk(id)); err != nil {
			t.Fatal(err)
		}
		if id%4 == 3 {
			continue // several commits at once
		}
		kept, err := cache.Load(t.Context(), table)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := table.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if kept.Version != whole.Version {
			t.Fatalf("version %d, want %d", kept.Version, whole.Version)
		}
		if diff := cmp.Diff(contents(whole), contents(kept)); diff != "" {
			t.Fatalf("version %d: want -, got +\n%s", kept.Version, diff)
		}
		clear(kept.files) // what is given out is its caller's
	}
}

func TestATableThatIsMadeAnewIsNotTheKeptOne(t *testing.T) {
	fsys := vfs.NewMemory()
	table := Table{fsys, "/t"}
	var cache Cache
	for round := range int64(3) {
		s := open(t, table)
		if err := appendRows(s, idSchema, nil, nil, idChunk(round)); err != nil {
			t.Fatal(err)
		}
		kept, err := cache.Load(t.Context(), table)
		if err != nil || kept.Metadata.ID != s.Metadata.ID || len(kept.Files()) != 1 {
			t.Fatalf("round %d: %v of table %s (%v)", round, kept, s.Metadata.ID, err)
		}
		if err := fsys.RemoveAll("/t"); err != nil {
			t.Fatal(err)
		}
		if _, err := cache.Load(t.Context(), table); !IsNotTable(err) {
			t.Fatalf("a table that is gone: %v", err)
		}
	}
}

func TestFewTablesAreKept(t *testing.T) {
	fsys := vfs.NewMemory()
	var cache Cache
	for i := range 2 * cachedTables {
		table := Table{fsys, "/t" + string(rune('a'+i))}
		if err := appendRows(open(t, table), idSchema, nil, nil, idChunk(1)); err != nil {
			t.Fatal(err)
		}
		if _, err := cache.Load(t.Context(), table); err != nil {
			t.Fatal(err)
		}
	}
	if len(cache.kept) != cachedTables {
		t.Errorf("%d are kept", len(cache.kept))
	}
}

func BenchmarkLoad(b *testing.B) {
	table := Table{vfs.NewMemory(), "/t"}
	s, err := table.New()
	if err != nil {
		b.Fatal(err)
	}
	for id := range int64(199) {
		if err := appendRows(s, idSchema, nil, nil, idChunk(id)); err != nil {
			b.Fatal(err)
		}
	}
	var cache Cache
	for name, load := range map[string]func(context.Context, Table) (*Snapshot, error){
		"anew": func(ctx context.Context, t Table) (*Snapshot, error) { return t.Load(ctx) }, "kept": cache.Load,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := load(b.Context(), table); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
