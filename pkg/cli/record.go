package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/script"
	"github.com/adroit-run/adroit/pkg/secret"
)

// recordFile settles where a new job's recording goes, "" if there is none. A
// file that is there belongs to another job, or to somebody else.
func recordFile(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", usage("name another file, or remove it first", "--record: %s is there already", path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", usage("name a file in a directory that can be read", "--record: %v", err)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return "", usage("make it first", "--record: there is no directory %s", filepath.Dir(path))
	}
	return path, nil
}

// recorder keeps the turns of a job in a file, nil if nobody asked for it.
func (a *app) recorder(j *jobs.Job, path string, hide *secret.Redactor, m *models) (func(*llm.Request, *llm.Response) error, error) {
	if path == "" {
		return nil, nil
	}
	of := script.Recording{Job: j.ID, Model: j.Model}
	var in agents.Input
	if err := json.Unmarshal(j.Input, &in); err == nil {
		of.Window = in.Options.Window
	}
	if r, err := m.recording(j.Model); err == nil && r != nil {
		of.Model = r.Model // a recording of a recording
	}
	r, err := script.Record(path, of, hide)
	if err != nil {
		return nil, broken(err, fmt.Sprintf("the job has the file from its --record; adroit jobs retry %s runs it again without", j.ID))
	}
	return r.Keep, nil
}

// recording says whether a model is the recording of another, nil if not.
func (m *models) recording(ref string) (*script.Recording, error) {
	provider, name, err := m.split(ref)
	if err != nil || provider != scriptProvider {
		return nil, nil // what is wrong with the name is said where it is used
	}
	s, err := script.Load(name)
	if err != nil {
		return nil, usageOr(broken(err, ""))
	}
	return s.Recording(), nil
}

// lookup is route while ctx lasts.
func (m *models) lookup(ctx context.Context) func(string) (executor.Route, error) {
	return func(ref string) (executor.Route, error) { return m.route(ctx, ref) }
}
