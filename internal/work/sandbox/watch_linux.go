//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// watch keeps the processes of this namespace within limits that the kernel
// does not hold by itself: memory in use, and for user 0 how many there are.
// It runs until the first process ends, and with it all others.
func watch(l Limits) {
	if l.MemoryMB == 0 {
		l.MemoryMB = machineMB() * 3 / 4
	}
	page := int64(os.Getpagesize())
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		used, n := usage(page)
		switch {
		case l.MemoryMB > 0 && used>>20 > int64(l.MemoryMB):
			end("the command and its children used more than the %d MB of memory that it may; it was killed", l.MemoryMB)
		case l.Processes > 0 && n > l.Processes:
			end("the command had more than the %d processes that it may; it was killed", l.Processes)
		}
	}
}

// end prints the reason, as the last of the command's output, and kills all processes but ours.
func end(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "\nadroit: "+format+"\n", args...)
	_ = syscall.Kill(-1, syscall.SIGKILL)
}

// usage returns the memory in use, in bytes without shared memory, and the number of processes,
// apart from ours.
func usage(page int64) (bytes int64, n int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return 0, 0
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return 0, 0
	}
	for _, name := range names {
		if name == "1" || name[0] < '0' || name[0] > '9' {
			continue
		}
		b, err := os.ReadFile("/proc/" + name + "/statm")
		if err != nil {
			continue
		}
		n++
		f := strings.Fields(string(b))
		if len(f) < 3 {
			continue
		}
		resident, _ := strconv.ParseInt(f[1], 10, 64)
		shared, _ := strconv.ParseInt(f[2], 10, 64)
		bytes += (resident - shared) * page
	}
	return bytes, n
}

// machineMB returns the memory of the machine.
func machineMB() int {
	var s unix.Sysinfo_t
	if unix.Sysinfo(&s) != nil {
		return 0
	}
	return int(uint64(s.Totalram) * uint64(s.Unit) >> 20)
}
