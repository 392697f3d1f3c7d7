package rootfs

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Umask is the mode bits the process takes from new files. Linux reports it; on
// other systems it can only be read by setting it, which is done once.
var Umask = sync.OnceValue(func() fs.FileMode {
	status, _ := os.ReadFile("/proc/self/status")
	if _, rest, ok := strings.Cut(string(status), "\nUmask:"); ok {
		line, _, _ := strings.Cut(rest, "\n")
		if m, err := strconv.ParseUint(strings.TrimSpace(line), 8, 32); err == nil {
			return fs.FileMode(m).Perm()
		}
	}
	m := unix.Umask(0o022)
	unix.Umask(m)
	return fs.FileMode(m).Perm()
})
