package process

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/sandbox"
	"github.com/adroit-run/adroit/pkg/guard/secret"
)

// remember is the number of finished commands whose output stays in memory.
const remember = 32

// A Runner is the Exec of this machine. Each command is a session of its own without a terminal;
// when its leader ends, the rest of its process group is killed.
type Runner struct {
	// Hide keeps secrets out of logs and of Output.Text. It is set before the
	// first command; nil hides nothing.
	Redactor *secret.Redactor
	// Names changes the list of names that git shows nothing of, as Hide is set.
	DenyList *rootfs.DenyList

	root, logs string
	kept       keptLogs
	led        *ledger.Ledger

	mu      sync.Mutex
	closed  bool
	tree    *rootfs.Tree
	sandbox *runnerSandbox // nil: no sandbox
	next    int
	procs   map[string]*Process
	done    []string // finished, oldest first
	guard   reaper
	wait    sync.WaitGroup
}

// An Option changes how a Runner runs commands.
type Option func(*Runner)

// WithSandbox runs every command of a Runner in the sandbox. If the level is not available, every
// command is refused. Without this option there is no sandbox.
func WithSandbox(c SandboxOptions) Option {
	return func(r *Runner) {
		hostexec.Forbid(c.Write...)
		r.sandbox = &runnerSandbox{SandboxOptions: c, scans: map[string]*scan{}, mentioned: map[string]bool{}}
	}
}

// New returns a Runner for commands in root. Logs go to logDir, none if it
// is empty; led may be nil. A root that cannot be used is reported by the first
// command.
func New(root, logDir string, led *ledger.Ledger, opts ...Option) *Runner {
	hostexec.Forbid(root)
	r := &Runner{root: root, logs: logDir, led: led, procs: map[string]*Process{}}
	for _, o := range opts {
		o(r)
	}
	return r
}

// Sandbox returns the level in force for commands, or "refused" if none runs.
func (r *Runner) Sandbox() string {
	level, err := r.sandbox.level()
	switch {
	case err != nil:
		return "refused"
	case level != sandbox.Off && r.sandbox.NetOpen:
		return string(level) + ", network open"
	}
	return string(level)
}

// Refused returns why no command runs, nil if commands do.
func (r *Runner) Refused() error {
	_, err := r.sandbox.level()
	return err
}

// admit gives a command its id, log and directory, and counts it.
func (r *Runner) admit(c Cmd, awaited bool) (*Process, string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, "", errors.New("no command can be started: the job is ending")
	}
	if r.tree == nil {
		t, err := rootfs.Open(r.root)
		if err != nil {
			return nil, "", err
		}
		r.tree = t
	}
	dir, err := workdir(r.tree, c.Dir)
	if err != nil {
		return nil, "", err
	}
	p := &Process{shell: c.Shell, recorded: c.Snapshot && r.led != nil, awaited: awaited, began: time.Now(), out: &HeadTail{}, hide: r.Redactor, done: make(chan struct{}), stop: make(chan struct{})}
	for p.ID == "" {
		r.next++
		id := "c" + strconv.Itoa(r.next)
		if r.logs == "" {
			p.ID = id
			break
		}
		p.log, err = r.kept.create(r.logs, id)
		if errors.Is(err, os.ErrExist) { // of an earlier run of this job
			continue
		}
		if err != nil {
			return nil, "", err
		}
		p.ID = id
	}
	r.procs[p.ID] = p
	r.wait.Add(1)
	return p, dir, nil
}

// workdir returns the absolute path of a directory of the tree.
func workdir(t *rootfs.Tree, name string) (string, error) {
	name = cmp.Or(name, ".")
	p, err := t.Clean(name)
	if err == nil {
		p, err = t.Resolve(name, p, true)
	}
	if err != nil {
		return "", err
	}
	info, err := t.Root.Lstat(p)
	if err != nil {
		return "", t.Explain(name, err)
	}
	if !info.IsDir() {
		return "", &rootfs.PathError{Name: name, Reason: "is not a directory; commands start in one"}
	}
	return filepath.Join(filepath.FromSlash(t.Dir), filepath.FromSlash(p)), nil
}

// forget takes back admit.
func (r *Runner) forget(p *Process) {
	if p.snap != nil {
		p.overlay.Discard()
		_ = p.snap.Drop() // nothing has run: a later comparison would find nothing of it
	}
	r.sandbox.abandon(p.confined)
	p.log.Close()
	r.mu.Lock()
	delete(r.procs, p.ID)
	r.mu.Unlock()
	close(p.done)
	r.wait.Done()
}

// retire keeps a finished command for a while.
func (r *Runner) retire(p *Process) {
	r.mu.Lock()
	r.done = append(r.done, p.ID)
	for len(r.done) > remember {
		delete(r.procs, r.done[0])
		r.done = slices.Delete(r.done, 0, 1)
	}
	r.mu.Unlock()
	close(p.done)
	r.wait.Done()
}
