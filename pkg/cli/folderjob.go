package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// jobOrFolder finds a job like job does, and also one whose folder is all that
// is left: its database was lost or replaced. Such a job has the status lost.
func (a *app) jobOrFolder(ctx context.Context, ref string) (*jobs.Job, error) {
	j, err := a.job(ctx, ref)
	if err == nil {
		return j, nil
	}
	data, failed := a.dataDir()
	if failed != nil {
		return nil, err
	}
	folders, _ := os.ReadDir(filepath.Join(data, "jobs")) // none: the error above stands
	ref = strings.ToUpper(strings.TrimSpace(ref))
	var found []*jobs.Job
	for _, f := range folders {
		if name := f.Name(); len(ref) < 2 || !strings.HasPrefix(name, ref) && !strings.HasSuffix(name, ref) {
			continue
		}
		b, failed := os.ReadFile(filepath.Join(data, "jobs", f.Name(), adroit.JobFile))
		j := &jobs.Job{}
		if failed != nil || json.Unmarshal(b, j) != nil || j.ID != f.Name() {
			continue
		}
		j.Status = lost
		found = append(found, j)
	}
	if len(found) != 1 {
		return nil, err
	}
	a.note("%s is not in the database; its folder has what it changed", found[0].ID)
	return found[0], nil
}

// lost is the status of a job that only its folder tells of.
const lost = jobs.Status("lost")
