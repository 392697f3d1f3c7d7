package cli

import (
	"cmp"
	"os"
	"strings"

	"github.com/adroit-run/adroit/internal/workspace/process"
	"github.com/adroit-run/adroit/internal/workspace/sandbox"
)

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
