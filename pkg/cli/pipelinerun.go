package cli

import (
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/executor"
)

// dryPipeline prints what a run of a pipeline would do.
func (a *app) dryPipeline(p *adroit.Plan, q request) error {
	in, t, pin := p.Input, p.Task, p.Pinned
	if q.json {
		return a.json(pin)
	}
	var names []string
	for _, tool := range t.Tools {
		names = append(names, tool.Name)
	}
	l := t.Limits.Or(executor.DefaultLimits)
	var rows render.Table
	rows.Row("pipeline", pin.Pipeline.Name)
	rows.Row("model", t.Model)
	rows.Row("directory", a.home(in.Dir))
	if names != nil {
		rows.Row("tools", strings.Join(names, ", "))
	}
	rows.Row("limits", fmt.Sprintf("%s, %s, of all steps together", render.Plural(l.Tokens, "token"), l.Time))
	rows.Row("mode", string(t.Mode))
	rows.Row("approve", string(t.Approve))
	rows.Write(a.Stdout)
	fmt.Fprintf(a.Stdout, "\n%s\n", render.Sanitize(pin.Pipeline.Text()))
	return nil
}
