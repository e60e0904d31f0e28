package vfs

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
)

func TestFaultsReachTheCaller(t *testing.T) {
	cases := []struct {
		name   string
		inject Inject
		want   error
	}{
		{"fsync of the file", FailNth(OpSync, 1, syscall.EIO), syscall.EIO},
		{"fsync of the directory", FailNth(OpSyncDir, 1, syscall.EIO), syscall.EIO},
		{"no space at the start", DiskFull(0, syscall.ENOSPC), syscall.ENOSPC},
		{"no space in the middle", DiskFull(5, syscall.ENOSPC), syscall.ENOSPC},
		{"create", FailNth(OpCreateNew, 1, fs.ErrPermission), fs.ErrPermission},
		{"rename", FailMatch(OpRenameNew, "off*", syscall.EIO), syscall.EIO},
		{"close", FailNth(OpClose, 1, syscall.EIO), syscall.EIO},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			mem := NewMemory()
			err := WriteNew(NewFaulty(mem, c.inject), "/offsets", []byte("0123456789"))
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			infos, err := mem.List("/")
			must(t, err)
			for _, info := range infos {
				if IsTemp(info.Name) {
					t.Errorf("left %s", info.Name)
				}
			}
		})
	}
}

func TestShortWriteKeepsItsBytes(t *testing.T) {
	mem := NewMemory()
	w, err := NewFaulty(mem, DiskFull(7, syscall.ENOSPC)).Create("/f")
	must(t, err)
	for i, want := range []int{4, 3, 0} {
		n, err := w.Write([]byte("abcd"))
		if n != want || (err == nil) != (want == 4) {
			t.Errorf("write %d: %d, %v, want %d bytes", i, n, err, want)
		}
	}
	wantText(t, place{mem, "/"}, "f", "abcdabc")
}

func TestFaultyCountsEachOperation(t *testing.T) {
	var seen []Call
	f := NewFaulty(NewMemory(), func(c Call) Fault {
		seen = append(seen, c)
		return Fault{}
	})
	must(t, f.MkdirAll("/a"))
	must(t, f.MkdirAll("/b"))
	must(t, f.Rename("/a", "/c"))
	want := []Call{{OpMkdir, "/a", 0, 1}, {OpMkdir, "/b", 0, 2}, {OpRename, "/c", 0, 1}}
	for i := range want {
		if i >= len(seen) || seen[i] != want[i] {
			t.Fatalf("got %v, want %v", seen, want)
		}
	}
}
