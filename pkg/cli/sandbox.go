package cli

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/workspace/process"
	"github.com/adroit-run/adroit/internal/workspace/sandbox"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
)

// confine is how commands run here at a level, the configured one if it is
// empty. home is the directory for what they need.
func (a *app) confine(level, home string) (process.Option, error) {
	c, err := a.confinement(level)
	c.Private = filepath.Join(home, "sandbox")
	if data, derr := a.dataDir(); derr == nil {
		// home goes when the command has ended; what it must not leave stays.
		c.Removed = filepath.Join(data, "removed", time.Now().UTC().Format("20060102T150405.000"))
	}
	return process.WithSandbox(c), err
}

// confinement is the same without a place.
func (a *app) confinement(level string) (process.SandboxOptions, error) {
	c, err := a.config()
	if err != nil {
		return process.SandboxOptions{}, err
	}
	l, err := sandbox.Parse(cmp.Or(level, c.Sandbox.Level))
	if err != nil {
		return process.SandboxOptions{}, exit.Usagef("", "--sandbox: %v", err)
	}
	conf := process.SandboxOptions{
		Level: l, NetOpen: c.Sandbox.Net == "open", Limits: sandbox.Limits(c.Sandbox.Limits),
		Cache: filepath.Join(c.DataDir, "cache"),
	}
	for _, p := range c.Sandbox.Show {
		conf.Show = append(conf.Show, a.tilde(p))
	}
	for _, p := range c.Sandbox.Write {
		conf.Write = append(conf.Write, a.tilde(p))
	}
	for _, d := range []string{c.DataDir, a.configDir()} {
		if d != "" {
			conf.Hide = append(conf.Hide, d)
		}
	}
	return conf, nil
}

// sandboxWords say which level commands get here.
func (a *app) sandboxWords(level string) string {
	c, err := a.config()
	if err != nil {
		return "unknown"
	}
	l, err := sandbox.Parse(cmp.Or(level, c.Sandbox.Level))
	if err != nil {
		return "unknown"
	}
	r := sandbox.Choose(l)
	switch {
	case r.Err() != nil:
		return "refused"
	case r.Level != sandbox.Off && c.Sandbox.Net == "open":
		return string(r.Level) + " (network open)"
	}
	return string(r.Level)
}

// jobSandbox says which level the commands of a job get here.
func (a *app) jobSandbox(id string) string {
	s, err := a.jobConfig(id)
	if err != nil {
		return "unknown"
	}
	return a.sandboxWords(string(s.Sandbox))
}

// examineAttribution reports whether a command's changes can be separated from
// those of others here.
func (a *app) examineAttribution(level sandbox.Level) finding {
	c, err := a.config()
	if err != nil {
		return finding{"attribution", lacks, err.Error(), ""}
	}
	dir, err := os.Getwd()
	if err != nil {
		return finding{"attribution", lacks, err.Error(), ""}
	}
	how, why := process.Attribution(level, dir, c.DataDir)
	if how == process.Exact {
		return finding{"attribution", fine, "exact: a command's changes are kept apart from what others change meanwhile", ""}
	}
	return finding{"attribution", report, "uncertain: what changes while a command runs may be somebody else's, since " + why, ""}
}

// examineSandbox reports what commands get and, for each better level, why not.
func (a *app) examineSandbox() []finding {
	level, open := "", false
	if c, err := a.config(); err == nil {
		level, open = c.Sandbox.Level, c.Sandbox.Net == "open"
	}
	l, err := sandbox.Parse(level)
	if err != nil {
		return []finding{{"sandbox", broke, err.Error(), "correct sandbox.level in the configuration"}}
	}
	r := sandbox.Choose(l)
	if err := r.Err(); err != nil {
		return []finding{{"sandbox", broke, err.Error(), ""}}
	}
	f := finding{"sandbox", fine, string(r.Level), ""}
	if gaps := r.Level.Gaps(); len(gaps) > 0 {
		f.What += "; not enforced: " + strings.Join(gaps, "; ")
		f.Status = report
	}
	if r.Level == sandbox.Off {
		f.Do = "remove sandbox.level from the configuration, or unset ADROIT_SANDBOX"
	}
	if open && r.Level != sandbox.Off {
		f.Status, f.What = report, f.What+"; the network is open, because the configuration says so"
	}
	out := []finding{f, a.examineAttribution(r.Level)}
	for _, t := range sandbox.Survey() {
		if t.Level == r.Level {
			break
		}
		if t.OK {
			out = append(out, finding{"sandbox " + string(t.Level), fine, "can be had", "--sandbox " + string(t.Level)})
			continue
		}
		out = append(out, finding{"sandbox " + string(t.Level), lacks, t.Why, t.Help})
	}
	return out
}
