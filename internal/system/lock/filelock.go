// Package lock locks files with flock(2), against other processes and against other openers of the
// same file in this one, and names processes in leases.
//
//	unlock, err := lock.Open(path + ".lock")
//	defer unlock()
//
// A lock ends with its process.
package lock

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	_ "github.com/adroit-run/adroit/internal/system/unixonly"
	"golang.org/x/sys/unix"
)

// ErrHeld is the error of Try if somebody else has the lock.
var ErrHeld error = unix.EWOULDBLOCK

// Open waits for the lock of a file, which it makes if it is not there, and which no
// link leads to. A file system without locks goes without. unlock is nil with an error.
func Open(path string) (unlock func(), err error) {
	f, err := Create(path)
	if err != nil {
		return nil, err
	}
	switch err := Lock(f); err {
	case nil, unix.ENOTSUP, unix.ENOSYS, unix.ENOLCK:
	default:
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = Close(f) }, nil
}

// Create opens a file to lock it, and makes it if it is not there. No link leads to it.
func Create(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
}

// Lock waits for the lock of a file.
func Lock(f *os.File) error { return lock(f, unix.LOCK_EX) }

// Try takes the lock of a file, or returns ErrHeld.
func Try(f *os.File) error { return lock(f, unix.LOCK_EX|unix.LOCK_NB) }

// Held reports whether somebody else has the lock of a file. For a moment Try is
// refused to others then.
func Held(f *os.File) bool {
	if lock(f, unix.LOCK_SH|unix.LOCK_NB) != nil {
		return true
	}
	_ = lock(f, unix.LOCK_UN)
	return false
}

func lock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); err != unix.EINTR {
			return err
		}
	}
}

// Close gives a lock back and closes its file. To close it is not enough: a program
// that this process is just starting has all files open until it is executed.
func Close(f *os.File) error { return errors.Join(lock(f, unix.LOCK_UN), f.Close()) }

// Name names this process in leases: host:pid:start, where start distinguishes
// it from an earlier process with the same pid.
func Name() string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return fmt.Sprintf("%s:%d:%s", strings.ReplaceAll(host, ":", "-"), os.Getpid(), started(os.Getpid()))
}

// Gone reports that the process of an owner certainly does not run any more. It
// understands host:pid too, without protection from reused pids.
func Gone(owner string) bool {
	mine := strings.Split(Name(), ":")
	parts := strings.Split(owner, ":")
	if len(parts) < 2 || parts[0] != mine[0] {
		return false
	}
	pid, err := strconv.Atoi(parts[1])
	if err != nil || pid <= 0 {
		return false
	}
	if len(parts) < 3 {
		return !exists(pid)
	}
	// Another PID namespace has other PIDs: nothing is known.
	if _, ns, _ := strings.Cut(parts[2], "@"); ns != space() {
		return false
	}
	return !exists(pid) || started(pid) != parts[2]
}
