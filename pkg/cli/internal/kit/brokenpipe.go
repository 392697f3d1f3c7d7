package kit

import (
	"golang.org/x/sys/unix"

	_ "github.com/adroit-run/adroit/internal/system/unixonly"
)

// ReaderGone reports whether nobody reads what this process prints any more. A
// SIGPIPE alone does not say so: it also comes of writing to a command that
// has just ended, which is that writer's business.
func ReaderGone() bool {
	fds := []unix.PollFd{{Fd: 1}, {Fd: 2}}
	if _, err := unix.Poll(fds, 0); err != nil {
		return true // not known: stop rather than print into the void
	}
	for _, fd := range fds {
		if fd.Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
			return true
		}
	}
	return false
}
