package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/lazyregexp"
	"github.com/adroit-run/adroit/internal/workspace/textfile"
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
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
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

// openLog opens the log of a command of this or an earlier run of the job.
func (r *Runner) openLog(id string) (*os.File, error) {
	if r.logs == "" || !logID.MatchString(id) {
		return nil, fmt.Errorf("there is no command %q; ids look like c12 and stand beside a command's output", id)
	}
	f, err := os.OpenFile(filepath.Join(r.logs, id+".log"), os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no command %q; ids look like c12 and stand beside a command's output", id)
	}
	return f, err
}

// ReadLog returns n lines of a command's output from the given one, counted from 1.
func (r *Runner) ReadLog(id string, from, n int) (textfile.Page, error) {
	f, err := r.openLog(id)
	if err != nil {
		return textfile.Page{}, err
	}
	defer f.Close()
	p, err := textfile.ReadPage(f, from, n, nil)
	for i, line := range p.Lines {
		p.Lines[i] = textfile.Visible(line)
	}
	return p, err
}

// A Match is a line of a log.
type Match struct {
	Line int    `json:"line"` // counted from 1
	Text string `json:"text"`
}

// SearchLog returns the first lines of a command's output that match, at most
// max, and whether there are more.
func (r *Runner) SearchLog(id string, re *regexp.Regexp, max int) ([]Match, bool, error) {
	f, err := r.openLog(id)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	var found []Match
	more := false
	err = textfile.EachLine(f, func(no int, line []byte, _ bool) bool {
		if !re.Match(line) {
			return true
		}
		if len(found) >= max {
			more = true
			return false
		}
		found = append(found, Match{Line: no, Text: textfile.Visible(string(line))})
		return true
	})
	return found, more, err
}
