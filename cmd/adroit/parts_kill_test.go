package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

var accounted = map[string]string{
	"repo/a.txt": "a\n",
	"home/.config/adroit/config.yaml": `prices:
  "script:*": {in: 100, out: 100}
`,
	"home/.config/adroit/agents/lead.md": "---\nname: lead\ndescription: Has others look.\ntools: [read_file]\nspawn: {agents: [mid], depth: 2}\n---\nYou lead.\n",
	"home/.config/adroit/agents/mid.md":  "---\nname: mid\ndescription: Looks, with another.\ntools: [read_file]\nspawn: [leaf]\n---\nYou are in the middle.\n",
	"home/.config/adroit/agents/leaf.md": "---\nname: leaf\ndescription: Looks.\ntools: [read_file]\n---\nYou are a leaf.\n",
	"home/.config/adroit/pipelines/line.yaml": `steps:
  - id: both
    parallel:
      - {id: one, agent: mid, input: "{{input}}"}
      - {id: two, agent: leaf, input: "{{input}}"}
  - {id: last, tool: list_files} # may be repeated, unlike a command
  - {id: never, run: "true", when: {step: last, is: failed}}
`,
	"turns.yaml": `scenes:
  - when: You lead
    turns:
      - calls: [{name: spawn_agent, args: {agent: mid, task: Look.}}, {name: spawn_agent, args: {agent: mid, task: Look too.}}]
        usage: {in: 5, out: 6}
      - text: Seen.
        usage: {in: 5, out: 6}
  - when: You are in the middle
    turns:
      - calls: [{name: spawn_agent, args: {agent: leaf, task: Look.}}]
        usage: {in: 10, out: 1}
      - text: Seen.
        usage: {in: 10, out: 1}
  - when: You are a leaf
    turns:
      - calls: [{name: read_file, args: {path: a.txt}}]
        usage: {in: 10, out: 2}
      - text: It is an a.
        usage: {in: 10, out: 2}
`,
}

// TestPartsAddUp: what sub-agents and steps of pipelines took, and what was
// taken beside them, makes the total, however often the job was killed; and the
// events of the steps alone make the same.
func TestPartsAddUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		run         []string
		want        jobs.Figures
		parts       string
		every, most int
	}{
		{[]string{"run", "lead", "Look."}, jobs.Figures{Turns: 10, Calls: 6, Usage: llm.Usage{In: 90, Out: 24}, Cost: 0.0114},
			"mid:done:4:2:40/6 >leaf:done:2:1:20/4 mid:done:4:2:40/6 >leaf:done:2:1:20/4", 19, 60},
		{[]string{"run", "line", "Look.", "--approve", "all", "--sandbox", "off"}, jobs.Figures{Turns: 6, Calls: 4, Usage: llm.Usage{In: 60, Out: 10}, Cost: 0.0070},
			"both:done:6:3:60/10 >one:done:4:2:40/6 >>mid:done:4:2:40/6 >>>leaf:done:2:1:20/4 >two:done:2:1:20/4 >>leaf:done:2:1:20/4 last:done:0:1:0/0 never:skipped:0:0:0/0", 19, 60},
	} {
		t.Run(c.run[1], func(t *testing.T) {
			t.Parallel()
			run := append(c.run, "-m", "script:../turns.yaml")
			whole := newPlace(t, accounted)
			if code, out := whole.run(run...); code != 0 {
				t.Fatalf("without a kill: exit code %d\n%s", code, out)
			}
			whole.adds("without a kill", c.want, c.parts)
			if !testing.Short() {
				killing{every: c.every, least: c.most, files: accounted, args: run}.test(t, func(p *place, at, _ string) { p.adds(at, c.want, c.parts) })
			}
		})
	}
}

// adds checks the account of the last job.
func (p *place) adds(at string, want jobs.Figures, parts string) {
	p.t.Helper()
	cmd, out := p.command("jobs", "logs", "last", "--json")
	if err := cmd.Run(); err != nil {
		p.t.Fatalf("%v\n%s", err, out)
	}
	steps := &jobs.UsageReport{} // without what parts say of themselves
	var final jobs.Final
	for lines := bufio.NewScanner(bytes.NewReader(out.Bytes())); lines.Scan(); {
		var ev event.Event
		if err := json.Unmarshal(lines.Bytes(), &ev); err != nil {
			p.t.Fatal(err)
		}
		switch ev.Kind {
		case event.AgentFinished, event.StageFinished:
			continue
		case event.JobFinished:
			final = jobs.Final{}
			if err := json.Unmarshal(ev.Data, &final); err != nil {
				p.t.Fatal(err)
			}
		case event.StepRecalled:
			if ev.Step == "return" || ev.Step == "note" {
				continue
			}
		}
		steps.Add(ev)
	}
	total := jobs.Figures{Turns: final.Turns, Calls: final.Calls, Usage: final.Usage, Cost: final.Cost}
	if !same(total, want) {
		p.t.Errorf("%s: the job says it took %+v, want %+v", at, total, want)
	}
	sum := *final.Own
	depth := map[string]int{"": -1}
	var tree []string
	for _, part := range final.Parts {
		depth[part.Path] = depth[part.Within] + 1
		tree = append(tree, fmt.Sprintf("%s%s:%s:%d:%d:%d/%d", strings.Repeat(">", depth[part.Path]), part.Title(), part.Status, part.Turns, part.Calls, part.Usage.In, part.Usage.Out))
		if part.Within == "" {
			sum.Turns, sum.Calls, sum.Cost = sum.Turns+part.Turns, sum.Calls+part.Calls, sum.Cost+part.Cost
			sum.Usage.In, sum.Usage.Out = sum.Usage.In+part.Usage.In, sum.Usage.Out+part.Usage.Out
		}
	}
	if !same(sum, want) {
		p.t.Errorf("%s: parts and own make %+v, want %+v", at, sum, want)
	}
	if got := strings.Join(tree, " "); got != parts {
		p.t.Errorf("%s: the parts are\n%s, want\n%s", at, got, parts)
	}
	if got := steps.All(); got.Turns != want.Turns || got.Usage != want.Usage || math.Abs(got.Cost-want.Cost) > 1e-9 {
		p.t.Errorf("%s: the steps' events make %+v, want %+v\n%s", at, got, want, out)
	}
}

func same(f, g jobs.Figures) bool {
	return f.Turns == g.Turns && f.Calls == g.Calls && f.Usage == g.Usage && math.Abs(f.Cost-g.Cost) < 1e-9
}
