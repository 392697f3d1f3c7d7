package navigate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/tools"
)

// diagnosticsInput is the input of diagnostics.
type diagnosticsInput struct {
	Path string `json:"path,omitempty"`
}

// Diagnostics is the tool diagnostics.
var Diagnostics = tools.New(tools.Metadata{
	Name: "diagnostics", Category: "code", Needs: tools.Read | tools.Exec, Effect: tools.Idempotent, RunsCode: true, Paths: []string{"path"},
	Examples: []tools.Example{{Note: "what is wrong in a file", Args: json.RawMessage(`{"path":"cart.go"}`)}},
	Timeout:  3 * patience,
}.ProseIn(descriptions), diagnostics)

const (
	mostJudged   = 50 // files at once
	mostProblems = 50 // that are shown
)

func diagnostics(ctx context.Context, env *tools.Env, in diagnosticsInput) (tools.Result, error) {
	c := code{env}
	names, err := c.files(ctx, in.Path, func(name string) bool { return isGo(name) || isSource(name) })
	if err != nil {
		return tools.Result{}, err
	}
	if len(names) == 0 {
		return tools.Result{}, fmt.Errorf("there is no source file in %s", c.clean(in.Path))
	}
	var found []tools.Diagnostic
	var notes []string
	if left := len(names) - mostJudged; left > 0 {
		notes = append(notes, fmt.Sprintf("%s not looked at: narrow by path", spelling.Plural(left, "file")))
		names = names[:mostJudged]
	}
	served := false
	for _, g := range byExt(names) {
		got, err := c.diagnose(ctx, g)
		if ctx.Err() != nil {
			return tools.Result{}, ctx.Err()
		}
		if err != nil {
			notes = append(notes, err.Error())
			continue
		}
		served = true
		found = append(found, got...)
	}
	if !served {
		return tools.Result{}, fmt.Errorf("%s. Run the build or the tests instead", strings.Join(notes, "; "))
	}
	var b strings.Builder
	for i, d := range found {
		if i == mostProblems || b.Len() > maxText {
			fmt.Fprintf(&b, "[%d more]\n", len(found)-i)
			break
		}
		b.WriteString(d.String() + "\n")
	}
	sum := spelling.Plural(len(found), "diagnostic")
	if len(found) == 0 {
		sum = "no diagnostics"
		b.WriteString(sum + "\n")
	}
	for _, n := range notes {
		fmt.Fprintf(&b, "[%s]\n", n)
	}
	return tools.Result{Text: b.String(), Summary: sum}, nil
}

// byExt groups names by what comes after the dot, so that one language
// without a server does not hide another.
func byExt(names []string) [][]string {
	by := map[string][]string{}
	for _, n := range names {
		by[path.Ext(n)] = append(by[path.Ext(n)], n)
	}
	var groups [][]string
	for _, g := range by {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b []string) int { return strings.Compare(path.Ext(a[0]), path.Ext(b[0])) })
	return groups
}

// diagnose asks the language server and, for Go without one, go vet.
func (c code) diagnose(ctx context.Context, names []string) ([]tools.Diagnostic, error) {
	var err error
	if c.env.Code != nil {
		var found []tools.Diagnostic
		if found, err = c.env.Code.Diagnose(ctx, names...); err == nil {
			return found, nil
		}
	}
	if isGo(names[0]) {
		return c.vet(ctx, names)
	}
	if err == nil {
		err = fmt.Errorf("%w for %s here", tools.ErrNoServer, path.Base(names[0]))
	}
	return nil, err
}

var vetLine = lazyregexp.New(`^(?:vet: )?(?:\./)?([^\s:][^:]*\.go):(\d+):(?:(\d+):)? (.*)$`)

// vet runs go vet on the packages of files.
func (c code) vet(ctx context.Context, names []string) ([]tools.Diagnostic, error) {
	if _, err := hostexec.InSandbox("go"); err != nil {
		return nil, errors.New("neither gopls nor go is installed")
	}
	want := map[string]bool{}
	var dirs []string
	for _, n := range names {
		want[n] = true
		dirs = append(dirs, "./"+path.Dir(n))
	}
	slices.Sort(dirs)
	o, err := c.env.Exec.Run(ctx, process.Cmd{Args: append([]string{"go", "vet"}, slices.Compact(dirs)...), Timeout: 2 * patience})
	if err != nil {
		return nil, err
	}
	var found []tools.Diagnostic
	for line := range strings.Lines(o.Text) {
		m := vetLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		d := tools.Diagnostic{Severity: "error", Message: m[4], Source: "go vet"}
		d.File = c.clean(m[1])
		d.Line, _ = strconv.Atoi(m[2])
		d.Column, _ = strconv.Atoi(m[3])
		if want[d.File] {
			found = append(found, d)
		}
	}
	if len(found) == 0 && o.Code != 0 {
		if all := strings.TrimSpace(o.Text); !vetLine.MatchString(all) {
			return nil, fmt.Errorf("go vet failed: %s", clip(strings.Join(strings.Fields(all), " ")))
		}
	}
	return found, nil
}
