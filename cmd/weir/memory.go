package main

import (
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// availableMemory is the memory that this process may use, in bytes: the least
// of the machine's, its control group's and GOMEMLIMIT; 0 when none is known.
// Unless GOMEMLIMIT says otherwise, the collector is told to stay below nine
// tenths of it.
func availableMemory() int64 {
	limit := min(machineMemory(), groupMemory("/sys/fs/cgroup", "/proc/self/cgroup"))
	if set := debug.SetMemoryLimit(-1); set < math.MaxInt64 {
		limit = min(limit, set)
	} else if limit < math.MaxInt64 {
		debug.SetMemoryLimit(limit / 10 * 9)
	}
	if limit == math.MaxInt64 {
		return 0
	}
	return limit
}

// machineMemory is what Linux says that the machine has.
func machineMemory() int64 {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return math.MaxInt64
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "MemTotal:" {
			continue
		}
		if kib, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
			return kib << 10
		}
	}
	return math.MaxInt64
}

// groupMemory is the least limit of the control groups that the process is in,
// of version 2 (memory.max) or 1 (memory/…/memory.limit_in_bytes).
func groupMemory(root, self string) int64 {
	limit := int64(math.MaxInt64)
	data, err := os.ReadFile(self)
	if err != nil {
		return limit
	}
	for line := range strings.Lines(string(data)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		base, file := root, "memory.max"
		if parts[1] == "memory" {
			base, file = path.Join(root, "memory"), "memory.limit_in_bytes"
		} else if parts[1] != "" {
			continue
		}
		// In a container the path may be the host's, of which only the root is seen.
		for dir := path.Join("/", parts[2]); ; dir = path.Dir(dir) {
			limit = min(limit, limitIn(path.Join(base, dir, file)))
			if dir == "/" {
				break
			}
		}
	}
	return limit
}

// limitIn reads a file that holds a number of bytes or "max".
func limitIn(name string) int64 {
	data, err := os.ReadFile(name)
	if err != nil {
		return math.MaxInt64
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	if err != nil || n <= 0 {
		return math.MaxInt64
	}
	return n
}
