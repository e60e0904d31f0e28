package state

import "sync"

// frozen is rows as they were when a snapshot of them began, while they change. Pages
// stay where they are: whoever comes first to one, the table to change it or the
// snapshot to write it down, copies it for the snapshot.
type frozen struct {
	rows
	mu sync.Mutex
	// passed is how many pages, the first ones, the snapshot has copied.
	passed int
	copies []byte // its memory for them
}

// freeze is the rows as they are now. They may change until thaw, and each page is
// copied first if the snapshot has not read it.
func (r *rows) freeze() *frozen {
	f := &frozen{rows: *r}
	f.pages = append([][]byte(nil), r.pages...)
	f.live = append(bits(nil), r.live...)
	f.free, f.slabs, f.slab, f.frozen, f.kept = nil, nil, nil, nil, nil
	if r.arena != nil {
		f.arena = &arena{blocks: append([]block(nil), r.arena.blocks...)}
	}
	r.frozen, r.kept = f, make([]bool, len(r.pages))
	return f
}

// thaw says that nobody reads the frozen rows any more.
func (r *rows) thaw() { r.frozen, r.kept = nil, nil }

// keep copies a page that is about to change.
func (f *frozen) keep(page int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if page >= f.passed {
		f.pages[page] = append([]byte(nil), f.pages[page]...)
	}
}

// read makes the next pages, up to one, be copies that nobody changes. Those of the
// call before are gone.
func (f *frozen) read(to int) {
	f.copies = f.copies[:0]
	for page := f.passed; page < to; page++ {
		f.readPage(page)
	}
}

func (f *frozen) readPage(page int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := len(f.copies)
	f.copies = append(f.copies, f.pages[page]...)
	f.pages[page] = f.copies[at:len(f.copies):len(f.copies)]
	f.passed = page + 1
}
