package jobdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/adroit-run/adroit/internal/rootfs"
	"github.com/adroit-run/adroit/internal/workspace/sandbox"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A Config is what a runner must know of a job and the job's input does not
// hold. It is kept beside the job, so that another process can go on with it.
type Config struct {
	BaseURL string        `json:"base_url,omitempty"`      // of the model's provider
	Trust   bool          `json:"trust_project,omitempty"` // use all that the workspace brings
	Record  string        `json:"record,omitempty"`        // the new file that keeps what models answer
	Sandbox sandbox.Level `json:"sandbox,omitempty"`       // empty: that of the runtime
	// Servers are MCP servers that came with the request, in the form of .mcp.json.
	// They may have secrets.
	Servers json.RawMessage `json:"mcp_servers,omitempty"`

	// What was known when the job began, of no request: the context window of its
	// model in tokens, 0 if only by a guess, and its agent's definition.
	KnownWindow int    `json:"known_window,omitempty"`
	AgentDigest string `json:"agent_digest,omitempty"`
}

// SaveConfig keeps the configuration of a job. data is the directory that
// keeps jobs.
func SaveConfig(data, id string, c Config) error {
	return rootfs.WriteJSON(filepath.Join(data, "jobs", id, "host.json"), c)
}

// LoadConfig reads the configuration of a job, the zero value if it has none.
func LoadConfig(data, id string) (c Config, err error) {
	path := filepath.Join(data, "jobs", id, "host.json")
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// JobFile is the file in a job's directory that keeps what undoing its changes
// needs, so that this does not depend on the database.
const JobFile = "job.json"

// SaveJob writes the job file of a job that is about to run.
func SaveJob(data string, j *jobs.Job) error {
	home := filepath.Join(data, "jobs", j.ID)
	if _, err := os.Lstat(filepath.Join(home, JobFile)); err == nil {
		return nil
	}
	return rootfs.WriteJSON(filepath.Join(home, JobFile), jobs.Job{ID: j.ID, Workflow: j.Workflow, Agent: j.Agent, Title: j.Title, Dir: j.Dir, Model: j.Model, Created: j.Created})
}
