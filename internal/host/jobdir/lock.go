package jobdir

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/adroit-run/adroit/internal/git/worktree"
	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/overlay"
	"github.com/adroit-run/adroit/internal/work/sandbox"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// lockPatience bounds the wait of LockJob for a process that is about to end.
const lockPatience = 2 * time.Second

// A lockFile is the content of the lock file of a job: the process that has the lock, or had it
// last. It always fills lockSize bytes, so that an orderly end can be recorded on a full disk.
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
	if err := putAside(filepath.Join(home, "lock")); err != nil {
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

// suspended reports whether a process is stopped, as by SIGSTOP or Ctrl-Z. It works on Linux only.
func suspended(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) // the name in parentheses may contain anything
	return len(fields) > 0 && (string(fields[0]) == "T" || string(fields[0]) == "t")
}

// A Config has the settings of a job that a runner needs and the job's input does not contain. It
// is kept beside the job, so that another process can go on with it.
type Config struct {
	// Aside marks a job that nobody continues, so "last" skips it.
	Aside bool `json:"aside,omitempty"`
	// Engine runs the workflow of the job elsewhere, as in temporal, and has its steps
	// performed here. Empty: the workflow runs here, too.
	Engine string `json:"engine,omitempty"`
	// Host performs the steps of a job with an Engine; in a request, the wanted host. Empty in a
	// request: any.
	Host string `json:"host,omitempty"`
	// Labels are required of a host that takes the request: see temporal.labels.
	Labels []string `json:"labels,omitempty"`

	BaseURL string        `json:"base_url,omitempty"`      // of the model's provider
	Trust   bool          `json:"trust_project,omitempty"` // use all that the workspace brings
	Record  string        `json:"record,omitempty"`        // the new file that keeps what models answer
	Sandbox sandbox.Level `json:"sandbox,omitempty"`       // empty: that of the runtime
	// Servers are MCP servers that came with the request, in the form of .mcp.json.
	// They may have secrets.
	Servers json.RawMessage `json:"mcp_servers,omitempty"`

	// What was known when the job began, of no request: the context window of its
	// model in tokens, 0 if only by a guess, that guess, and its agent's definition.
	KnownWindow   int    `json:"known_window,omitempty"`
	GuessedWindow int    `json:"guessed_window,omitempty"`
	AgentDigest   string `json:"agent_digest,omitempty"`
}

// record is the stored form of Host.
type record struct {
	Config
	Worktree *worktree.Worktree `json:"worktree,omitempty"`
	// Place is the identity of the directory that was named, by [rootfs.Identity]; "" if unknown.
	Place string `json:"place,omitempty"`
}

// Host encodes the part of a new job that its store keeps: its configuration, its worktree if
// it has one, and the identity of the directory that was named.
func Host(c Config, w *worktree.Worktree, place string) (json.RawMessage, error) {
	return json.Marshal(record{c, w, place})
}

// Elsewhere reports whether the directory that a job was requested in was another one of the same
// name than that with the identity place.
func Elsewhere(j *jobs.Job, place string) bool {
	var r record
	return place != "" && json.Unmarshal(j.Host, &r) == nil && r.Place != "" && r.Place != place
}

// An UnknownError is a file beside a job that cannot be read, because of a power cut
// or a hand. What it had is unknown; the job can do without.
type UnknownError struct {
	File string
	Err  error
}

func (e *UnknownError) Error() string { return fmt.Sprintf("%s cannot be read: %v", e.File, e.Err) }

func (e *UnknownError) Unwrap() error { return e.Err }

// read reads a file beside a job into v, if it is there.
func read(path string, v any) (there bool, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		return true, &UnknownError{path, err}
	}
	return true, nil
}

// LoadConfig returns the configuration of a job, the zero value if it has none. Of a
// job that an earlier version submitted it is in a file below data, the directory that
// keeps jobs, and with an *UnknownError it is not known.
func LoadConfig(data string, j *jobs.Job) (Config, error) {
	var r record
	if len(j.Host) > 0 {
		err := json.Unmarshal(j.Host, &r)
		return r.Config, err
	}
	if _, err := read(filepath.Join(data, "jobs", j.ID, "host.json"), &r.Config); err != nil {
		return Config{}, err
	}
	return r.Config, nil
}

// JobFile is the file in a job's directory with the data for undoing its changes, so that this
// does not depend on the database.
const JobFile = "job.json"

// SaveJob writes the job file of a job that is about to run.
func SaveJob(data string, j *jobs.Job) error {
	home := filepath.Join(data, "jobs", j.ID)
	if there, err := read(filepath.Join(home, JobFile), new(jobs.Job)); there && err == nil {
		return nil
	}
	if err := putAside(filepath.Join(home, JobFile)); err != nil {
		return err
	}
	return rootfs.WriteJSON(filepath.Join(home, JobFile), jobs.Job{ID: j.ID, Workflow: j.Workflow, Agent: j.Agent, Title: j.Title, Dir: j.Dir, Model: j.Model, Created: j.Created})
}

// putAside gives a directory that lies in a file's place another name, so that the job can go on.
func putAside(file string) error {
	if info, err := os.Stat(file); err != nil || !info.IsDir() {
		return nil
	}
	return rootfs.Move(file, filepath.Join(filepath.Dir(file), "damaged-"+rand.Text()))
}

// OpenLedger opens the ledger of a job's changes, or returns nil if it never began to work on
// files.
func OpenLedger(data, id string) (*ledger.Ledger, error) {
	return openLedger(filepath.Join(data, "jobs", id))
}

// OpenTreeLedger is like OpenLedger, for the worktree of one of a job's sub-agents.
func OpenTreeLedger(data, job, name string) (*ledger.Ledger, error) {
	return openLedger(treeHome(data, job, name))
}

// A RecordError is a fault of one ledger of a job: of its own changes, or of the changes in the copy of
// one of its sub-agents, which has Copy's name.
type RecordError struct {
	Copy string // empty: the job's own
	Err  error
}

func (e *RecordError) Error() string {
	if e.Copy == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("in the copy %s of a sub-agent: %v", e.Copy, e.Err)
}

func (e *RecordError) Unwrap() error { return e.Err }

// VerifyLedgers reads all data for undo of a job: its own, and those of the copies of its sub-agents, removed
// ones too, whose steps are shown. own reports whether the job has a ledger of its own, and count is
// their number.
func VerifyLedgers(ctx context.Context, data, id string) (count int, own bool, faults []*RecordError) {
	names := []string{""}
	homes, err := os.ReadDir(filepath.Dir(treeHome(data, id, "x")))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		faults = append(faults, &RecordError{Err: err})
	}
	for _, e := range homes {
		names = append(names, e.Name())
	}
	for _, name := range names {
		home := filepath.Join(data, "jobs", id)
		if name != "" {
			home = treeHome(data, id, name)
		}
		led, err := openLedger(home)
		if err == nil && led != nil {
			err = errors.Join(led.Verify(ctx), led.Close())
		}
		if led != nil || err != nil {
			count++
			own = own || name == ""
		}
		if err != nil {
			faults = append(faults, &RecordError{name, err})
		}
	}
	return count, own, faults
}

func openLedger(home string) (*ledger.Ledger, error) {
	dir := filepath.Join(home, "ledger")
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return ledger.Open(dir, overlay.Recover)
}

func treeHome(data, job, name string) string {
	return filepath.Join(data, "jobs", job, "trees", name)
}
