package process

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"golang.org/x/sys/unix"
)

const (
	// MaxLog bounds the log of one command, in bytes. What comes after is dropped.
	MaxLog = 64 << 20
	// MaxLogs bounds the logs of a job's commands that have ended: beyond it the oldest are
	// emptied, until three quarters are left.
	MaxLogs = 4 * MaxLog
)

// emptied is the text of a log whose content was dropped.
const emptied = "[the output of this command is not kept any more: a job keeps 256 MB of the latest]\n"

// keptLogs are the logs of a job's commands that have ended. The zero value is good.
type keptLogs struct {
	mu      sync.Mutex
	counted bool
	total   int64 // bytes
	earlier int   // the highest number of a command of an earlier run
}

// begin counts the logs of earlier runs, once.
func (k *keptLogs) begin(dir string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.counted {
		return
	}
	k.counted = true
	for _, l := range listLogs(dir) {
		k.total += l.size
		k.earlier = max(k.earlier, l.number)
	}
}

// ended counts the log of a command that has ended. Emptying logs only frees space: a log that
// cannot be emptied stays.
func (k *keptLogs) ended(dir string, size int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.total += size; k.total <= MaxLogs {
		return
	}
	for _, l := range listLogs(dir) {
		if k.total <= MaxLogs*3/4 {
			return
		}
		if l.size <= int64(len(emptied)) || !l.sealed && l.number > k.earlier { // it runs
			continue
		}
		if err := l.empty(); err == nil {
			k.total -= l.size - int64(len(emptied))
		}
	}
}

// An oldLog is the log of a command.
type oldLog struct {
	path   string
	number int
	size   int64
	sealed bool
}

// listLogs lists the logs in a directory, oldest first.
func listLogs(dir string) (all []oldLog) {
	entries, _ := os.ReadDir(dir) // there may be none
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".log")
		info, err := e.Info()
		if !ok || !logID.MatchString(id) || err != nil || !info.Mode().IsRegular() {
			continue
		}
		n, _ := strconv.Atoi(id[1:]) // the pattern has digits
		all = append(all, oldLog{filepath.Join(dir, e.Name()), n, info.Size(), info.Mode().Perm() == sealed})
	}
	slices.SortFunc(all, func(a, b oldLog) int { return cmp.Compare(a.number, b.number) })
	return all
}

func (l *oldLog) empty() error {
	if err := os.Chmod(l.path, 0o600); err != nil {
		return err
	}
	f, err := rootfs.OpenLog(l.path, os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.WriteString(emptied)
	if l.sealed {
		err = errors.Join(err, f.Chmod(sealed))
	}
	return errors.Join(err, f.Close())
}

// sealed is the mode of a log whose command has ended. A log that is still
// writable although its command does not run was cut short.
const sealed = 0o400

// A logFile takes a command's output up to MaxLog bytes and never fails, so
// that a full disk does not stop the command.
type logFile struct {
	path string
	kept *keptLogs

	mu      sync.Mutex
	f       *os.File
	size    int64 // MaxLog once a write has failed
	written int64
}

func (k *keptLogs) create(dir, id string) (*logFile, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory for logs: %w", err)
	}
	k.begin(dir)
	path := filepath.Join(dir, id+".log")
	f, err := rootfs.OpenLog(path, os.O_EXCL)
	if err != nil {
		return nil, fmt.Errorf("making the log of a command: %w", err)
	}
	return &logFile{path: path, kept: k, f: f}, nil
}

func (l *logFile) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if room := MaxLog - l.size; l.f != nil && room > 0 {
		n, err := l.f.Write(b[:min(room, int64(len(b)))])
		l.size += int64(n)
		l.written += int64(n)
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
		l.kept.ended(filepath.Dir(l.path), l.written)
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
func (r *Runner) ReadLog(id string, from, n int) (rootfs.Page, error) {
	f, err := r.openLog(id)
	if err != nil {
		return rootfs.Page{}, err
	}
	defer f.Close()
	p, err := rootfs.ReadPage(f, from, n, nil)
	for i, line := range p.Lines {
		p.Lines[i] = rootfs.Visible(line)
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
	err = rootfs.EachLine(f, func(no int, line []byte, _ bool) bool {
		if !re.Match(line) {
			return true
		}
		if len(found) >= max {
			more = true
			return false
		}
		found = append(found, Match{Line: no, Text: rootfs.Visible(string(line))})
		return true
	})
	return found, more, err
}
