package jobdir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// lockPatience is how long LockJob waits for a process that is about to end.
const lockPatience = 2 * time.Second

// A lockFile is what the lock file of a job says of the process that has it, or
// had it last. It always fills lockSize bytes, so that an orderly end can be
// recorded on a full disk.
type lockFile struct {
	PID   int  `json:"pid"`
	Ended bool `json:"ended"` // in an orderly way, whatever the store knows of it
}

const lockSize = 64

// A HeldError reports that another process of this machine has a job's files.
// It is a [jobs.ErrHeld].
type HeldError struct {
	PID     int
	Stopped bool // by SIGSTOP or Ctrl-Z: it may go on at any time
}

func (e *HeldError) Error() string {
	if e.Stopped {
		return fmt.Sprintf("process %d has the job and is stopped", e.PID)
	}
	return fmt.Sprintf("process %d has the job", e.PID)
}

// Is makes a HeldError a jobs.ErrHeld.
func (e *HeldError) Is(target error) bool { return target == jobs.ErrHeld }

// Lock takes the lock of the job whose files are kept in home: only one
// process at a time works with its ledgers. It is the Lock of a [jobs.Manager].
// A job that a stopped process has is refused with a *HeldError: that
// process may go on at any time, in the middle of a write. clean reports
// whether the last process to have the lock released it.
func Lock(home string) (release func(), clean bool, err error) {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, false, fmt.Errorf("locking the job: %w", err)
	}
	f, err := lock.Create(filepath.Join(home, "lock"))
	if err != nil {
		return nil, false, fmt.Errorf("locking the job: %w", err)
	}
	for until := time.Now().Add(lockPatience); ; time.Sleep(20 * time.Millisecond) {
		err := lock.Try(f)
		if err == nil {
			break
		}
		if !errors.Is(err, lock.ErrHeld) {
			f.Close()
			return nil, false, fmt.Errorf("locking the job: %w", err)
		}
		if held := (&HeldError{PID: readLock(f).PID}); suspended(held.PID) || time.Now().After(until) {
			held.Stopped = suspended(held.PID)
			f.Close()
			return nil, false, held
		}
	}
	clean = readLock(f).Ended
	if err := writeLock(f, lockFile{PID: os.Getpid()}); err != nil {
		_ = lock.Close(f)
		return nil, false, fmt.Errorf("locking the job: %w", err)
	}
	return func() {
		_ = writeLock(f, lockFile{PID: os.Getpid(), Ended: true}) // what is not written counts as a crash
		_ = lock.Close(f)
	}, clean, nil
}

func readLock(f *os.File) (l lockFile) {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, lockSize))
	if err == nil {
		_ = json.Unmarshal(b, &l) // an empty or damaged file names nobody
	}
	return l
}

func writeLock(f *os.File, l lockFile) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	b = append(b, bytes.Repeat([]byte(" "), lockSize-len(b)-1)...)
	_, err = f.WriteAt(append(b, '\n'), 0)
	return err
}

// suspended reports whether a process is stopped, as by SIGSTOP or Ctrl-Z. It
// knows that of Linux only.
func suspended(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) // the name in parentheses may contain anything
	return len(fields) > 0 && (string(fields[0]) == "T" || string(fields[0]) == "t")
}
