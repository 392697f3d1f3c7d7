package adroit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/adroit-run/adroit/internal/workspace/sandbox"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A JobConfig is what a runner must know of a job and the job's input does not
// hold. It is kept beside the job, so that another process can go on with it.
type JobConfig struct {
	BaseURL string        `json:"base_url,omitempty"`      // of the model's provider
	Trust   bool          `json:"trust_project,omitempty"` // use all that the workspace brings
	Record  string        `json:"record,omitempty"`        // the new file that keeps what models answer
	Sandbox sandbox.Level `json:"sandbox,omitempty"`       // empty: that of the runtime
}

// SaveJobConfig keeps the configuration of a job. data is the directory that
// keeps jobs.
func SaveJobConfig(data, id string, c JobConfig) error {
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return writeJobFile(filepath.Join(data, "jobs", id), "host.json", b)
}

// LoadJobConfig reads the configuration of a job, the zero value if it has none.
func LoadJobConfig(data, id string) (c JobConfig, err error) {
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

// CopyJobConfig gives a new job the configuration of an old one, without its
// recording, which is of one job.
func CopyJobConfig(data, from, to string) error {
	c, err := LoadJobConfig(data, from)
	c.Record = ""
	if err != nil || c == (JobConfig{}) {
		return err
	}
	return SaveJobConfig(data, to, c)
}

func (rt *Runtime) jobConfig(id string) (JobConfig, error) { return LoadJobConfig(rt.data(), id) }

// JobFile is the file in a job's directory that keeps what undoing its changes
// needs, so that this does not depend on the database.
const JobFile = "job.json"

// saveJob writes the job file of a job that is about to run.
func (rt *Runtime) saveJob(j *jobs.Job) error {
	home := filepath.Join(rt.home, j.ID)
	if _, err := os.Lstat(filepath.Join(home, JobFile)); err == nil {
		return nil
	}
	b, err := json.Marshal(jobs.Job{ID: j.ID, Workflow: j.Workflow, Agent: j.Agent, Title: j.Title, Dir: j.Dir, Model: j.Model, Created: j.Created})
	if err != nil {
		return err
	}
	return writeJobFile(home, JobFile, b)
}

func writeJobFile(home, name string, b []byte) error {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, name), b, 0o600)
}
