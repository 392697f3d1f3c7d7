package process

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/adroit-run/adroit/internal/lazyregexp"
	"github.com/adroit-run/adroit/internal/rootfs"
)

// MaxLog bounds the log of one command, in bytes. What comes after is dropped.
const MaxLog = 64 << 20

// sealed is the mode of a log whose command has ended. A log that is still
// writable although its command does not run was cut short.
const sealed = 0o400

// A logFile takes a command's output up to MaxLog bytes and never fails, so
// that a full disk does not stop the command.
type logFile struct {
	path string

	mu   sync.Mutex
	f    *os.File
	size int64
}

func createLog(dir, id string) (*logFile, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory for logs: %w", err)
	}
	path := filepath.Join(dir, id+".log")
	f, err := rootfs.OpenLog(path, os.O_EXCL)
	if err != nil {
		return nil, fmt.Errorf("making the log of a command: %w", err)
	}
	return &logFile{path: path, f: f}, nil
}

func (l *logFile) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if room := MaxLog - l.size; l.f != nil && room > 0 {
		n, err := l.f.Write(b[:min(room, int64(len(b)))])
		l.size += int64(n)
		if err != nil {
			l.size = MaxLog
		}
	}
	return len(b), nil
}

func (l *logFile) Close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f != nil {
		_ = l.f.Chmod(sealed)
		l.f.Close()
		l.f = nil
	}
}

var logID = lazyregexp.New(`^c[0-9]{1,9}$`)
