package doctor

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// programs looks for the programs that tools run.
func programs(ctx context.Context) (out []Finding) {
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
		out = append(out, program(ctx, p.name, p.use, p.version))
	}
	return out
}

func program(ctx context.Context, name, use string, args []string) Finding {
	path, err := hostexec.Find(name)
	if err != nil {
		return Finding{name, Lacking, hostexec.Lacking(err), "install it for " + use}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	// Where nothing of a project can choose which version runs, or how.
	cmd := hostexec.Command(ctx, path, args...)
	cmd.Dir, cmd.Env = "/", hostexec.Environ(rootfs.Environ(os.Environ(), nil))
	b, err := cmd.CombinedOutput()
	what, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	if err != nil {
		return Finding{name, Lacking, fmt.Sprintf("%s does not run: %v", path, err), "reinstall it for " + use}
	}
	return Finding{name, Fine, what, ""}
}

// servers looks for the language servers, without starting them.
func (d *Doctor) servers() (out []Finding) {
	for _, s := range d.Servers {
		use := strings.Join(s.Files, " ")
		at, err := hostexec.Find(s.Command[0])
		if err != nil {
			out = append(out, Finding{s.Name, Lacking, s.Command[0] + " is " + hostexec.Lacking(err), "install it for diagnostics after changes of " + use})
			continue
		}
		out = append(out, Finding{s.Name, Fine, d.home(at) + " for " + use, ""})
	}
	return out
}

// sandbox reports what commands get and, for each better level, why not.
func (d *Doctor) sandbox() []Finding {
	r := sandbox.Choose(cmp.Or(d.Sandbox.Level, sandbox.Auto))
	if err := r.Err(); err != nil {
		return []Finding{{"sandbox", Broken, err.Error(), ""}}
	}
	f := Finding{"sandbox", Fine, string(r.Level), ""}
	if gaps := r.Level.Gaps(); len(gaps) > 0 {
		f.What += "; not enforced: " + strings.Join(gaps, "; ")
		f.Status = Note
	}
	if r.Level == sandbox.Off {
		f.Do = "remove sandbox.level from the configuration, or unset ADROIT_SANDBOX"
	}
	if d.Sandbox.NetOpen && r.Level != sandbox.Off {
		f.Status, f.What = Note, f.What+"; the network is open, because the configuration says so"
	}
	out := []Finding{f, d.attribution(r.Level)}
	for _, t := range sandbox.Survey() {
		if t.Level == r.Level {
			break
		}
		if t.OK {
			out = append(out, Finding{"sandbox " + string(t.Level), Fine, "can be had", "--sandbox " + string(t.Level)})
			continue
		}
		out = append(out, Finding{"sandbox " + string(t.Level), Lacking, t.Why, t.Help})
	}
	return out
}

// attribution reports whether a command's changes can be separated from those
// of others here.
func (d *Doctor) attribution(level sandbox.Level) Finding {
	const name = "attribution"
	if d.Failed != nil {
		return Finding{name, Lacking, d.Failed.Error(), ""}
	}
	how, why := process.Attribution(level, d.Dir, d.Jobs)
	if how == process.Exact {
		return Finding{name, Fine, "exact: a command's changes are kept apart from what others change meanwhile", ""}
	}
	return Finding{name, Note, "uncertain: what changes while a command runs may be somebody else's, since " + why, ""}
}
