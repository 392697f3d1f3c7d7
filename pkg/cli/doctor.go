package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/rootfs"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/cmd/version"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/sqlite"
	"github.com/adroit-run/adroit/pkg/tools"
)

type finding adroit.Finding

const (
	fine   = adroit.Fine
	lacks  = adroit.Lacking
	broke  = adroit.Broken
	report = adroit.Note
)

func (a *app) doctorCommand() *cobra.Command {
	var asJSON, whole bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find problems that keep jobs from running, and how to fix them",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found := a.examine(cmd.Context())
			if whole {
				found = append(found, a.examineWhole(cmd.Context())...)
			}
			code := exit.Done
			if slices.ContainsFunc(found, func(f finding) bool { return f.Status == broke }) {
				code = exit.Failed
			}
			if asJSON {
				if err := a.json(found); err != nil {
					return err
				}
				return exit.With(code)
			}
			var t render.Table
			for _, f := range found {
				what := f.What
				if f.Do != "" {
					what += "; " + f.Do
				}
				t.Row(string(f.Status), f.Name, what)
			}
			t.Write(a.Stdout)
			return exit.With(code)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	cmd.Flags().BoolVar(&whole, "check", false, "also verify the database and undo data of every job")
	return cmd
}

func (a *app) examine(ctx context.Context) []finding {
	out := []finding{a.examineConfig(), a.examineData(ctx)}
	for _, p := range []struct {
		name, use string
		version   []string
	}{
		{"git", "diffs of repositories and the git tools", []string{"--version"}},
		{"rg", "faster searches", []string{"--version"}},
		{"go", "tests of Go projects", []string{"version"}},
		{"pytest", "tests of Python projects", []string{"--version"}},
		{"node", "tests of JavaScript projects", []string{"--version"}},
		{"cargo", "tests of Rust projects", []string{"--version"}},
		{"ctags", "outlines of languages other than Go", []string{"--version"}},
		{"ffmpeg", "recordings, clips and chapters of podcasts", []string{"-hide_banner", "-version"}},
	} {
		out = append(out, examineProgram(ctx, p.name, p.use, p.version))
	}
	out = append(out, a.examineServers()...)
	if set, err := a.tools(); err != nil {
		out = append(out, finding{"tools", broke, err.Error(), "run adroit tools lint for details"})
	} else if missing := tools.Missing(set, nil); len(missing) > 0 {
		for _, name := range sorted(missing) {
			out = append(out, finding{"tools", lacks, missing[name].Error(), ""})
		}
	} else {
		out = append(out, finding{"tools", fine, render.Plural(set.Len(), "tool"), ""})
	}
	out = append(out, a.examineTests(), a.examineAgents())
	out = append(out, a.examineModels(ctx)...)
	return append(out, a.examineSandbox()...)
}

func (a *app) examineConfig() finding {
	f := finding{Name: "config", Status: fine, What: a.home(a.configPath())}
	if _, err := a.config(); err != nil {
		return finding{f.Name, broke, err.Error(), "correct the file; adroit config path says where it is"}
	}
	if f.What == "" {
		f.What = "there is no home directory"
	} else if _, err := os.Stat(a.configPath()); err != nil {
		f.What += " (not there; defaults apply)"
	}
	return f
}

func (a *app) examineAgents() finding {
	rt, err := a.runtime()
	if err != nil {
		return finding{"agents", lacks, err.Error(), ""}
	}
	cat, err := rt.Agents(context.Background(), adroit.Scope{})
	if err != nil {
		return finding{"agents", lacks, err.Error(), ""}
	}
	f := finding{"agents", fine, render.Plural(len(cat.Items), "agent"), ""}
	if err := cat.Problems.Err(); err != nil {
		f.Status, f.What, f.Do = lacks, err.Error(), "run adroit agents lint for details"
	}
	return f
}

// lowDisk is the free space in bytes below which the doctor warns.
const lowDisk = 500 << 20

func (a *app) examineData(ctx context.Context) finding {
	f := finding{Name: "data", Status: broke}
	dir, err := a.dataDir()
	if err != nil {
		f.What, f.Do = err.Error(), "name one with --data-dir DIR or ADROIT_HOME"
		return f
	}
	f.Do = "make it writable, or keep state elsewhere with --data-dir DIR or ADROIT_HOME"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		f.What = err.Error()
		return f
	}
	probe, err := os.CreateTemp(dir, ".probe-")
	if err != nil {
		f.What = err.Error()
		return f
	}
	probe.Close()
	os.Remove(probe.Name())
	// A check of all pages, which the other commands do without.
	db, err := sqlite.Open(ctx, filepath.Join(dir, "adroit.db"), sqlite.Options{Version: version.Read().Version, Check: true})
	if err != nil {
		f.What = err.Error()
		return f
	}
	if err := db.Close(); err != nil {
		f.What = err.Error()
		return f
	}
	f.Status, f.What, f.Do = fine, a.home(dir), ""
	if free, ok := freeSpace(dir); ok {
		f.What += fmt.Sprintf(", %d MB free", free>>20)
		if free < lowDisk {
			f.Status, f.Do = lacks, "jobs pause when the disk is full; adroit jobs rm frees the space of ended jobs"
		}
	}
	return f
}

func examineProgram(ctx context.Context, name, use string, args []string) finding {
	path, err := exec.LookPath(name)
	if err != nil {
		return finding{name, lacks, "not on PATH", "install it for " + use}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	// Where nothing of a project can choose which version runs, or how.
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env = "/", rootfs.Environ(os.Environ(), nil)
	b, err := cmd.CombinedOutput()
	what, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	if err != nil {
		return finding{name, lacks, fmt.Sprintf("%s does not run: %v", path, err), "reinstall it for " + use}
	}
	return finding{name, fine, what, ""}
}

func (a *app) examineModels(ctx context.Context) []finding {
	rt, err := a.runtime()
	if err != nil {
		return nil
	}
	var out []finding
	for _, f := range rt.ExamineModels(ctx) {
		out = append(out, finding(f))
	}
	return out
}
