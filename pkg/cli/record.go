package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/adroit-run/adroit/pkg/cli/exit"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm/script"
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
		return "", exit.Usagef("name another file, or remove it first", "--record: %s is there already", path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", exit.Usagef("name a file in a directory that can be read", "--record: %v", err)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return "", exit.Usagef("make it first", "--record: there is no directory %s", filepath.Dir(path))
	}
	return path, nil
}

// Recording implements [adroit.ModelSource].
func (m *models) Recording(ref string) (*script.Recording, error) {
	provider, name, err := m.split(ref)
	if err != nil || provider != scriptProvider {
		return nil, nil // what is wrong with the name is said where it is used
	}
	s, err := script.Load(name)
	if err != nil {
		return nil, usageOr(exit.Fail(err, ""))
	}
	return s.Recording(), nil
}

// lookup is route while ctx lasts.
func (m *models) lookup(ctx context.Context) func(string) (executor.Route, error) {
	return func(ref string) (executor.Route, error) { return m.route(ctx, ref) }
}
