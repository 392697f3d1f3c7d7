// Package doctor finds reasons why jobs do not run on a machine.
//
//	d := doctor.Doctor{Data: data, Agents: count, TestCommand: command, Tools: set}
//	findings := d.Examine(ctx)
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/lsp"
	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/internal/work/sandbox"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Finding is one thing that was looked at on a machine.
type Finding struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	What   string `json:"what"`
	Do     string `json:"do,omitempty"` // the remedy, if one is needed or useful
	// For names the files that it is for, as in *.go; empty: it is for every project.
	For []string `json:"for,omitempty"`
	// Optional is set if nothing in the project needs it, or something else does its work.
	Optional bool `json:"optional,omitempty"`
}

// A Status is a finding's severity.
type Status string

// Statuses of findings.
const (
	Fine    Status = "fine"
	Lacking Status = "missing" // something that only some jobs need
	Broken  Status = "broken"  // no job can run
	Note    Status = "note"
)

// A Query selects what is examined.
type Query struct {
	Dir   string `json:"dir,omitempty"`   // the project; empty: none
	Home  string `json:"home,omitempty"`  // the directory that findings call ~
	Model string `json:"model,omitempty"` // what a request gets that names none; empty: the configured one
	Check bool   `json:"check,omitempty"` // also verify the database and the undo data of every job
}

// A Doctor looks at a machine with a runtime, or with the error that kept one from
// opening.
type Doctor struct {
	Query
	Failed     error  // why there is no runtime; then the functions but Tools are not called
	Data       string // that the program names, "" if jobs are kept in memory
	Jobs       string // the directory that keeps jobs, in any case
	ConfigFile string
	CheckStore func(ctx context.Context, all bool) (list []*jobs.Job, damage []string, err error)
	// RecordGone returns why nothing is known of what a job without a record of changes changed, ""
	// if it changed nothing; nil: none did.
	RecordGone func(ctx context.Context, id string) (string, error)
	Servers    []lsp.Server
	Sandbox    process.SandboxOptions
	Rules      []permit.Rule // the configuration's
	Deny       []string      // names that no tool may touch, the configuration's

	// Parts look at what parts need.
	Parts []func(ctx context.Context) []Finding

	Tools       func() (*tools.Set, error)
	Agents      func(ctx context.Context) (count int, err error)
	TestCommand func(dir string) (command, from string, err error)
	Models      func(ctx context.Context) []Finding
}

// home shortens a path for people.
func (d *Doctor) home(path string) string {
	if h := d.Home; h != "" && h != "/" {
		if path == h {
			return "~"
		}
		if rest, ok := strings.CutPrefix(path, h+"/"); ok {
			return "~/" + rest
		}
	}
	return path
}

// parts returns the findings of parts.
func (d *Doctor) parts(ctx context.Context) (out []Finding) {
	for _, look := range d.Parts {
		out = append(out, look(ctx)...)
	}
	return out
}

// Program looks for a program that tools run, which prints its version with args.
func Program(ctx context.Context, name, use string, args ...string) Finding {
	path, err := hostexec.Find(name)
	if err != nil {
		return Finding{Name: name, Status: Lacking, What: hostexec.Lacking(err), Do: "install it for " + use}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	// Where nothing of a project can choose which version runs, or how.
	cmd := hostexec.Command(ctx, path, args...)
	cmd.Dir, cmd.Env = "/", hostexec.Environ(rootfs.Environ(os.Environ(), nil))
	b, err := cmd.CombinedOutput()
	what, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	if err != nil {
		return Finding{Name: name, Status: Lacking, What: fmt.Sprintf("%s does not run: %v", path, err), Do: "reinstall it for " + use}
	}
	return Finding{Name: name, Status: Fine, What: what}
}

// servers looks for the language servers, without starting them.
func (d *Doctor) servers() (out []Finding) {
	for _, s := range d.Servers {
		use := strings.Join(s.Files, " ")
		at, err := hostexec.Find(s.Command[0])
		if err != nil {
			out = append(out, Finding{Name: s.Name, Status: Lacking, What: s.Command[0] + " is " + hostexec.Lacking(err), Do: "install it for diagnostics after changes of " + use, For: s.Files})
			continue
		}
		out = append(out, Finding{Name: s.Name, Status: Fine, What: d.home(at) + " for " + use})
	}
	return out
}

// sandbox reports the level at which commands run and, for each better level, why it is not
// available.
func (d *Doctor) sandbox() []Finding {
	r := sandbox.Choose(cmp.Or(d.Sandbox.Level, sandbox.Auto))
	if err := r.Err(); err != nil {
		return []Finding{{Name: "sandbox", Status: Broken, What: err.Error()}}
	}
	f := Finding{Name: "sandbox", Status: Fine, What: string(r.Level)}
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
			out = append(out, Finding{Name: "sandbox " + string(t.Level), Status: Fine, What: "can be had", Do: "--sandbox " + string(t.Level)})
			continue
		}
		out = append(out, Finding{Name: "sandbox " + string(t.Level), Status: Lacking, What: t.Why, Do: t.Help})
	}
	return out
}

// attribution reports whether a command's changes can be separated from others' changes here.
func (d *Doctor) attribution(level sandbox.Level) Finding {
	const name = "attribution"
	if d.Failed != nil {
		return Finding{Name: name, Status: Lacking, What: d.Failed.Error()}
	}
	how, why := process.Attribution(level, d.Dir, d.Jobs)
	if how == process.Exact {
		return Finding{Name: name, Status: Fine, What: "exact: a command's changes are kept apart from what others change meanwhile"}
	}
	return Finding{Name: name, Status: Note, What: "uncertain: what changes while a command runs may be somebody else's, since " + why}
}
