package process

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/overlay"
	"github.com/adroit-run/adroit/internal/work/sandbox"
	"github.com/adroit-run/adroit/pkg/guard/secret"
)

// A Process is a command that was started. Its methods are safe for concurrent use.
type Process struct {
	ID string

	cmd      *exec.Cmd
	level    sandbox.Level
	sandbox  string
	policy   *sandbox.Policy
	plan     func() error // makes policy and stay, anew each time
	confined *commandSandbox
	disks    []*disk          // to be left with some room
	shell    string           // Cmd.Shell
	snap     *ledger.Snapshot // of a command that records its changes
	overlay  *overlay.Overlay // that collects them; nil: they are compared
	// awaited: the caller of Run waits for it.
	recorded, awaited bool
	began             time.Time
	out               *HeadTail
	log               *logFile
	hide              *secret.Redactor
	stdin             *os.File        // our end of the pipe of an interactive command
	hold              *Hold           // takes what a person is asked about; nil: it is put aside
	late              context.Context // of what comes after the command: the caller may be gone
	done              chan struct{}
	stop              chan struct{} // closed to ask for the end
	stopped           sync.Once

	denied []ledger.Denied // that it must not change

	mu    sync.Mutex
	final *Output
}

func (p *Process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Done returns a channel that is closed when the command has ended, its group is gone and its
// output is complete.
func (p *Process) Done() <-chan struct{} { return p.done }

// Stdin returns the standard input of a command that was started as Interactive, or nil. Writing
// blocks while the command does not read, and fails once it has closed its input or ended. Closing
// it ends the command's input.
func (p *Process) Stdin() io.WriteCloser {
	if p.stdin == nil {
		return nil
	}
	return p.stdin
}

// Output returns the output so far; after Done, all of it.
func (p *Process) Output() *Output {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.final != nil {
		o := *p.final
		return &o
	}
	return p.collect()
}

func (p *Process) collect() *Output {
	o := &Output{ID: p.ID, Code: -1, Took: time.Since(p.began), Sandbox: p.sandbox}
	o.Text, o.Bytes, o.Dropped = p.out.Text()
	if p.log != nil {
		o.Log = p.log.path
	}
	return o
}

// Kill asks the command to end, kills it after two seconds, and returns when it
// is gone.
func (p *Process) Kill() {
	p.stopped.Do(func() { close(p.stop) })
	<-p.done
}

const (
	// defaultFree is the space in bytes that a command must leave free on a disk, unless a
	// sixteenth of the disk is less.
	defaultFree = 512 << 20
	// reserve is the part of that (1/reserve) below which no command is started at all.
	reserve = 8
	// fill and spawn are faster than any disk: in bytes and in files a second.
	fill  = 8 << 30
	spawn = 1 << 20
)

// A disk is a file system that a command may write to. The size of a file is the
// kernel's to limit; how many there are is not, so the room that is left is
// watched.
type disk struct {
	at           string // some directory on it
	floor        int64  // bytes
	inodes       int64  // 0: not counted
	before, free int64
	left         int64 // inodes
}

// measure measures the disk again. A disk whose size is unknown is not watched.
func (d *disk) measure() bool {
	var s syscall.Statfs_t
	if err := syscall.Statfs(d.at, &s); err != nil || s.Blocks == 0 {
		return false
	}
	d.free, d.left = int64(s.Bavail)*int64(s.Bsize), int64(s.Ffree)
	if d.before == 0 {
		d.before = d.free
		d.floor = min(defaultFree, int64(s.Blocks)*int64(s.Bsize)/16)
		d.inodes = min(100_000, int64(s.Files)/16)
	}
	return true
}

// disks lists the disks that a command of the policy may fill, each once.
func disks(p *sandbox.Policy, limitMB int) ([]*disk, error) {
	if limitMB < 0 {
		return nil, nil
	}
	dirs := append(slices.Clone(p.Write), p.Private)
	for _, c := range p.Caches {
		dirs = append(dirs, filepath.Dir(c.Upper))
	}
	seen := map[uint64]bool{}
	var out []*disk
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil {
			continue
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok || seen[uint64(st.Dev)] {
			continue
		}
		seen[uint64(st.Dev)] = true
		d := &disk{at: dir}
		if !d.measure() {
			continue
		}
		if limitMB > 0 {
			d.floor = int64(limitMB) << 20
		}
		if d.free < d.floor/reserve {
			return nil, fmt.Errorf("the disk of %s has only %d MB free, and no command is started below %d MB; make room there, or lower sandbox.limits.free_mb", dir, d.free>>20, d.floor/reserve>>20)
		}
		// Where little is left to begin with, a command gets an eighth of it:
		// enough for one that makes room.
		d.floor = min(d.floor, d.free-d.free/8)
		d.inodes = min(d.inodes, d.left-d.left/8)
		out = append(out, d)
	}
	return out, nil
}

// diskFull explains why a command has to stop, or returns "", and when to check again.
func diskFull(ds []*disk) (string, time.Duration) {
	next := 250 * time.Millisecond
	for _, d := range ds {
		if !d.measure() {
			continue
		}
		what := "MB free"
		was, is := d.before>>20, d.free>>20
		if d.free >= d.floor {
			after := float64(d.free-d.floor) / fill
			if d.inodes > 0 {
				after = min(after, float64(d.left-d.inodes)/spawn)
			}
			if after >= 0 {
				next = min(next, time.Duration(after*float64(time.Second)))
				continue
			}
			what, is, was = "files left", d.left, 0
		}
		why := fmt.Sprintf("the command was stopped because it left too little room on the disk of %s: %d %s", d.at, is, what)
		if was > 0 {
			why += fmt.Sprintf(", %d when it began", was)
		}
		return why + "; take away what it wrote there and is not needed, and write less", 0
	}
	return "", max(next, 5*time.Millisecond)
}

// keepHalf is the number of bytes kept of the beginning and of the end of an output.
const keepHalf = 32 << 10

// A HeadTail keeps the head and the tail of the bytes written to it.
type HeadTail struct {
	mu    sync.Mutex
	head  []byte
	ring  []byte
	pos   int // where the ring begins once it is full
	total int64
}

func (t *HeadTail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(b)
	t.total += int64(n)
	if room := min(keepHalf-len(t.head), len(b)); room > 0 {
		t.head = append(t.head, b[:room]...)
		b = b[room:]
	}
	if len(b) > keepHalf {
		b = b[len(b)-keepHalf:]
	}
	if room := min(keepHalf-len(t.ring), len(b)); room > 0 {
		t.ring = append(t.ring, b[:room]...)
		b = b[room:]
	}
	for len(b) > 0 {
		k := copy(t.ring[t.pos:], b)
		t.pos = (t.pos + k) % len(t.ring)
		b = b[k:]
	}
	return n, nil
}

// Text returns the printable form, with a line where bytes are missing.
func (t *HeadTail) Text() (s string, total, dropped int64) {
	t.mu.Lock()
	head := string(t.head)
	end := string(t.ring[t.pos:]) + string(t.ring[:t.pos])
	total = t.total
	t.mu.Unlock()
	if int64(len(head)+len(end)) == total {
		return rootfs.Visible(head + end), total, 0
	}
	// A character that the cut went through belongs to neither side.
	for i := range utf8.UTFMax {
		if at := len(head) - 1 - i; at >= 0 && utf8.RuneStart(head[at]) {
			if !utf8.FullRuneInString(head[at:]) {
				head = head[:at]
			}
			break
		}
	}
	for range utf8.UTFMax - 1 {
		if end != "" && !utf8.RuneStart(end[0]) {
			end = end[1:]
		}
	}
	dropped = total - int64(len(head)+len(end))
	return fmt.Sprintf("%s\n[%d bytes left out here]\n%s", rootfs.Visible(head), dropped, rootfs.Visible(end)), total, dropped
}

// release lets go of the memory.
func (t *HeadTail) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.head, t.ring, t.pos = nil, nil, 0
}

// A CommandStatus is the status of the job's shell command.
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
