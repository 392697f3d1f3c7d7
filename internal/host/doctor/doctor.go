// Package doctor looks for what keeps jobs from running on a machine.
//
//	d := doctor.Doctor{Data: data, Agents: count, TestCommand: command, Tools: set}
//	findings := d.Examine(ctx)
package doctor

import (
	"context"
	"strings"

	"github.com/adroit-run/adroit/internal/lsp"
	"github.com/adroit-run/adroit/internal/work/process"
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
}

// A Status is how bad a finding is.
type Status string

// Statuses of findings.
const (
	Fine    Status = "fine"
	Lacking Status = "missing" // something that only some jobs need
	Broken  Status = "broken"  // no job can run
	Note    Status = "note"
)

// A Query is what is looked at.
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
	Servers    []lsp.Server
	Sandbox    process.SandboxOptions
	Rules      []permit.Rule // the configuration's
	Deny       []string      // names that no tool may touch, the configuration's

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
