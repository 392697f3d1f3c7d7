package test

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/tools"
)

// formatInput is the input of format_code.
type formatInput struct{}

//go:embed format_code.md
var formatProse string

// Format is the tool format_code. It does what the check format of run_check
// wants, by the same program.
var Format = tools.New(tools.Metadata{
	Name: "format_code", Category: "build", Optionality: tools.Optional,
	Needs: tools.Read | tools.Write | tools.Exec, Effect: tools.Idempotent, RunsCode: true,
	Examples: []tools.Example{{Args: json.RawMessage(`{}`)}},
	Timeout:  limit + 30*time.Second,
}.Prose(formatProse), format)

func format(ctx context.Context, env *tools.Env, _ formatInput) (tools.Result, error) {
	all, err := checkers(env.Files)
	if err != nil {
		return tools.Result{}, err
	}
	all = slices.DeleteFunc(all, func(c checker) bool { return c.fix == nil })
	if len(all) == 0 {
		return tools.Result{}, errors.New("the project has no formatter that is known here: edit the files")
	}
	deadline := time.Now().Add(limit)
	var text, changed []string
	failed := false
	for _, c := range all {
		files := c.each
		if files == nil {
			files = []string{""}
		}
		for some := range slices.Chunk(files, mostFiles) {
			args := slices.Concat(c.fix, slices.DeleteFunc(slices.Clone(some), func(name string) bool { return name == "" }))
			out, err := env.Exec.Run(ctx, process.Cmd{Args: args, Dir: c.dir, Env: c.env, Timeout: max(time.Until(deadline), time.Second), Snapshot: true})
			if ctx.Err() != nil || exhaustion.Of(err) != "" {
				return tools.Result{}, err
			}
			name := strings.Join(c.fix, " ")
			switch {
			case err != nil || out.Code == 127 || missingModule(out.Text):
				failed = true
				text = append(text, fmt.Sprintf("%s: %s is not installed here, or not where commands can see it", name, c.fix[0]))
			case out.Code != 0 || out.TimedOut:
				failed = true
				text = append(text, fmt.Sprintf("%s: exit code %d\n%s", name, out.Code, clip(strings.TrimSpace(out.Text))))
			default:
				text = append(text, name+": done")
				changed = append(changed, out.Changed...)
			}
		}
	}
	r := tools.Result{Failed: failed, Summary: spelling.Plural(len(changed), "file") + " changed"}
	if changed != nil {
		shown := slices.Clone(changed[:min(len(changed), 50)])
		for i, name := range shown {
			shown[i] = spelling.PathLine(name)
		}
		text = append(text, "changed: "+strings.Join(shown, ", "))
	}
	if r.Text = strings.Join(text, "\n") + "\n"; failed {
		r.Summary = text[0]
	}
	return r, nil
}
