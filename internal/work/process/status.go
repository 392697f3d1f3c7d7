package process

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A CommandStatus is how a shell command of the job stands.
type CommandStatus struct {
	ID      string        `json:"id"`
	Command string        `json:"command,omitempty"` // not known of an earlier run of the job
	Running bool          `json:"running,omitempty"`
	Died    bool          `json:"died,omitempty"` // with the process that ran the job
	Code    int           `json:"code"`           // of one that ended in this run
	Took    time.Duration `json:"took_ns,omitempty"`
	Bytes   int64         `json:"bytes"`
}

// Commands lists the shell commands that run, the last that ended, and those
// that died with an earlier run of the job, by number.
func (r *Runner) Commands() []CommandStatus {
	var all []CommandStatus
	r.mu.Lock()
	live := make(map[string]*Process, len(r.procs))
	maps.Copy(live, r.procs)
	r.mu.Unlock()
	for id, p := range live {
		if p.shell == "" {
			continue // a tool's own, such as git
		}
		o := p.Output()
		all = append(all, CommandStatus{ID: id, Command: p.shell, Running: o.Code < 0, Code: o.Code, Took: o.Took, Bytes: o.Bytes})
	}
	names, _ := filepath.Glob(filepath.Join(r.logs, "c*.log")) // without logs there are none
	for _, name := range names {
		id := strings.TrimSuffix(filepath.Base(name), ".log")
		if _, ok := live[id]; ok || r.logs == "" {
			continue
		}
		if size, died := r.died(id); died {
			all = append(all, CommandStatus{ID: id, Died: true, Code: -1, Bytes: size})
		}
	}
	slices.SortFunc(all, func(a, b CommandStatus) int { return cmp.Compare(serial(a.ID), serial(b.ID)) })
	return all
}

// Died reports whether a command of an earlier run of the job was cut short
// when the process that ran the job was.
func (r *Runner) Died(id string) bool {
	if _, ok := r.Process(id); ok || r.logs == "" || !logID.MatchString(id) {
		return false
	}
	_, died := r.died(id)
	return died
}

func (r *Runner) died(id string) (size int64, died bool) {
	info, err := os.Lstat(filepath.Join(r.logs, id+".log"))
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() == sealed {
		return 0, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ours := r.procs[id] // it may have begun just now
	return info.Size(), !ours
}

func serial(id string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(id, "c"))
	return n
}
