package state

import (
	"syscall"
	"unsafe"
)

const (
	hugePage = 2 << 20
	// collapse (MADV_COLLAPSE, Linux 6.1) makes huge pages of what is there already.
	collapse = 25
)

// advise asks the kernel to hold memory in pages of 2 MiB, or no longer to. Random
// places in a few hundred MB of 4 KiB pages cost several times as much as those in
// huge ones, mostly for looking up where the pages are. Refusals change the speed only.
func advise[T any](memory []T, huge bool) {
	size := uintptr(len(memory)) * unsafe.Sizeof(*new(T))
	if size < hugePage {
		return
	}
	// Outwards, so that slices side by side leave no gap. What else lies there, and
	// unmapped memory, takes no harm.
	at := uintptr(unsafe.Pointer(unsafe.SliceData(memory)))
	from := at &^ (hugePage - 1)
	long := (at+size+hugePage-1)&^(hugePage-1) - from
	if !huge {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, long, syscall.MADV_NOHUGEPAGE)
		return
	}
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, long, syscall.MADV_HUGEPAGE)
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, long, collapse)
}
