package jobdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/adroit-run/adroit/internal/git/worktree"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/sandbox"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A Config is what a runner must know of a job and the job's input does not
// hold. It is kept beside the job, so that another process can go on with it.
type Config struct {
	// Aside: the job is no work that somebody goes on with, so that it is not what
	// "last" means.
	Aside bool `json:"aside,omitempty"`

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

// record is what a job's Host has.
type record struct {
	Config
	Worktree *worktree.Worktree `json:"worktree,omitempty"`
}

// Host is what a job to be keeps in the store: its configuration, and its worktree if
// it has one.
func Host(c Config, w *worktree.Worktree) (json.RawMessage, error) {
	return json.Marshal(record{c, w})
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

// JobFile is the file in a job's directory that keeps what undoing its changes
// needs, so that this does not depend on the database.
const JobFile = "job.json"

// SaveJob writes the job file of a job that is about to run.
func SaveJob(data string, j *jobs.Job) error {
	home := filepath.Join(data, "jobs", j.ID)
	if there, err := read(filepath.Join(home, JobFile), new(jobs.Job)); there && err == nil {
		return nil
	}
	return rootfs.WriteJSON(filepath.Join(home, JobFile), jobs.Job{ID: j.ID, Workflow: j.Workflow, Agent: j.Agent, Title: j.Title, Dir: j.Dir, Model: j.Model, Created: j.Created})
}
