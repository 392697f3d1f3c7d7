package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

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
