// Package review lets a read-only agent report its findings as a typed artifact
// rather than prose that has to be parsed.
//
//	set, err := tools.NewSet(review.Findings, review.Triage, review.Check)
//
// A finding whose file or line does not exist is refused, since models invent
// lines. The package does not judge whether a finding is right. Check looks at what documents say as far
// as a program can: links that lead nowhere, code that cannot be read. It visits no address on the network.
package review

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

//go:embed *.md
var descriptions embed.FS

// findingsInput is the input of report_findings.
type findingsInput struct {
	Summary  string          `json:"summary" jsonschema:"minLength=1,description=What was reviewed and the verdict"`
	Findings []reviewFinding `json:"findings" jsonschema:"maxItems=200,description=All of them; empty if there is nothing to say"`
	Add      bool            `json:"add,omitempty" jsonschema:"description=Keep what was reported before"`
}

// A reviewFinding is one thing that should change, at a place that exists. Findings
// are the elements of the artifact "findings".
type reviewFinding struct {
	Severity   string `json:"severity" jsonschema:"enum=critical,enum=major,enum=minor,enum=nit,description=How bad it is"`
	Category   string `json:"category,omitempty" jsonschema:"enum=correctness,enum=security,enum=performance,enum=tests,enum=style,enum=docs,description=What it is about"`
	File       string `json:"file" jsonschema:"description=Relative to the workspace"`
	Line       int    `json:"line" jsonschema:"minimum=1,description=In the file as it is now"`
	Title      string `json:"title" jsonschema:"minLength=1,description=The fault in one line"`
	Detail     string `json:"detail" jsonschema:"minLength=1,description=Why it is one and when it shows"`
	Suggestion string `json:"suggestion,omitempty" jsonschema:"description=What to do instead"`
}

// severities in the order of a report.
func severities() []string { return []string{"critical", "major", "minor", "nit"} }

// Findings is the tool report_findings. A second call replaces what the first
// one reported, unless it adds to it. Findings at places that do not exist are
// refused and the others kept.
var Findings = tools.New(tools.Metadata{
	Name: "report_findings", Category: "code", Needs: tools.Read, Produces: []string{"findings"}, Uses: []string{"findings"},
	Examples: []tools.Example{{Note: "one finding", Args: json.RawMessage(`{"summary":"The diff of cart.go; one fault.","findings":[{"severity":"major","category":"correctness","file":"cart.go","line":41,"title":"Totals are rounded per line","detail":"Three lines of 0.333 add up to 0.99.","suggestion":"Round once, after adding."}]}`)}},
}.ProseIn(descriptions), findings)

func findings(ctx context.Context, env *tools.Env, in findingsInput) (tools.Result, error) {
	if strings.TrimSpace(in.Summary) == "" {
		return tools.Result{}, errors.New("summary is empty: say what was reviewed and what you think of it")
	}
	var faults []string
	var good []reviewFinding
	lengths := map[string]length{}
	for i := range in.Findings {
		f := &in.Findings[i]
		if err := ctx.Err(); err != nil {
			return tools.Result{}, err
		}
		if f.File = strings.TrimPrefix(strings.TrimPrefix(f.File, env.Files.Dir()+"/"), "./"); f.Line < 1 {
			faults = append(faults, fmt.Sprintf("findings/%d: line %d is none; lines count from 1", i, f.Line))
			continue
		}
		l, known := lengths[f.File]
		if !known {
			l = measure(env.Files, f.File)
			lengths[f.File] = l
		}
		switch {
		case l.err != nil:
			faults = append(faults, fmt.Sprintf("findings/%d: %v", i, l.err))
		case l.lines >= 0 && f.Line > max(l.lines, 1):
			faults = append(faults, fmt.Sprintf("findings/%d: %s has %d lines, there is no line %d", i, f.File, l.lines, f.Line))
		default:
			good = append(good, *f)
		}
	}
	wrong := strings.Join(faults, "\n- ")
	if faults != nil && good == nil {
		return tools.Result{}, fmt.Errorf("nothing was reported, these places do not exist:\n- %s\nLook the lines up with read_file and report all findings again", wrong)
	}
	in.Findings = good
	if in.Add {
		in.Findings = append(reported(env), good...)
	}
	slices.SortStableFunc(in.Findings, func(a, b reviewFinding) int {
		return cmp.Or(cmp.Compare(slices.Index(severities(), a.Severity), slices.Index(severities(), b.Severity)),
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	if in.Findings == nil {
		in.Findings = []reviewFinding{} // none is a list, too
	}
	r := tools.Result{Text: in.text(), Summary: tally(in.Findings)}
	if faults != nil {
		r.Failed = true
		r.Text = fmt.Sprintf("Reported: %s. Not reported, since these places do not exist:\n- %s\nLook the lines up with read_file and report these alone, with add.", r.Summary, wrong)
	}
	return turn.Bind(r, "findings", in.Findings)
}

// reported are the findings of earlier calls.
func reported(env *tools.Env) []reviewFinding {
	var list []reviewFinding
	if env.Artifacts == nil || json.Unmarshal(env.Artifacts.Value("findings"), &list) != nil {
		return nil
	}
	return list
}

// text is the report for people: the model sees it, and so do the logs.
func (in findingsInput) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", tally(in.Findings), strings.TrimSpace(in.Summary))
	for _, f := range in.Findings {
		about := ""
		if f.Category != "" {
			about = " (" + f.Category + ")"
		}
		fmt.Fprintf(&b, "%s:%d: %s%s: %s\n", f.File, f.Line, f.Severity, about, f.Title)
	}
	return b.String()
}

func tally(list []reviewFinding) string {
	if len(list) == 0 {
		return "no findings"
	}
	n := map[string]int{}
	for _, f := range list {
		n[f.Severity]++
	}
	var parts []string
	for _, s := range severities() {
		if n[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[s], s))
		}
	}
	return spelling.Plural(len(list), "finding") + ": " + strings.Join(parts, ", ")
}

// A length is the number of lines of a file, -1 if they were too many to count.
type length struct {
	lines int
	err   error
}

func measure(files *workspace.Files, name string) length {
	p, err := files.ReadLines(name, 1, 1)
	switch {
	case err != nil:
		return length{err: err}
	case p.Binary:
		return length{lines: 1} // it has no lines to point at but can be meant
	}
	return length{lines: p.Total}
}
