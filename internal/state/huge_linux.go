package state

import (
	"syscall"
	"unsafe"
)

const hugePage = 2 << 20

// advise asks the kernel to hold memory that nobody has touched yet in pages of 2 MiB, or
// no longer to. What was touched in small pages it joins later, in the background. Random
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
	advice := syscall.MADV_HUGEPAGE
	if !huge {
		advice = syscall.MADV_NOHUGEPAGE
	}
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, long, uintptr(advice))
}
