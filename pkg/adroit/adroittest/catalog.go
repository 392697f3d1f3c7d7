package adroittest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/adroit"
)

// The catalogs list what requests may name, and what the project brings only if
// it is trusted.
func testCatalog(t *testing.T, f *fixture) {
	must(t, os.MkdirAll(filepath.Join(f.dir, configs.AgentsDir), 0o755))
	must(t, os.WriteFile(filepath.Join(f.dir, configs.AgentsDir, "own.md"), []byte(strings.Replace(writer, "Write a file", "Its own", 1)), 0o644))
	f.skill(t)
	for trusted, want := range map[bool]int{false: 1, true: 2} {
		in := adroit.Scope{Dir: f.dir, Trust: trusted}
		all, err := f.Agents(t.Context(), in)
		must(t, err)
		skills, err := f.Skills(t.Context(), in)
		must(t, err)
		if len(all.Items) != want || len(skills.Items) != want-1 {
			t.Errorf("trusted %v: %+v, %+v", trusted, all, skills)
		}
	}
	pipelines, err := f.Pipelines(t.Context(), adroit.Scope{})
	must(t, err)
	if len(pipelines.Items) != 1 || pipelines.Items[0].Name != "greet" || pipelines.Items[0].Steps != 1 {
		t.Errorf("%+v", pipelines)
	}
	list, err := f.Tools(t.Context())
	must(t, err)
	servers, err := f.ToolServers(t.Context(), adroit.Scope{Dir: f.dir})
	must(t, err)
	if _, err := f.CheckToolServer(t.Context(), adroit.ToolServerCheck{Named: adroit.Named{Name: "none"}}); len(servers.Items) != 0 || err == nil {
		t.Errorf("without MCP servers: %+v, %v", servers, err)
	}
	if p, err := f.ToolServerPrompt(t.Context(), adroit.ToolServerPrompt{Named: adroit.Named{Name: "none"}, Prompt: "none"}); err == nil {
		t.Errorf("without MCP servers there is the prompt %+v", p)
	}
	found := false
	for _, tool := range list.Items {
		found = found || tool.Name == "write_file" && strings.Contains(string(tool.Input), `"path"`)
	}
	if !found {
		t.Errorf("%d tools", len(list.Items))
	}
}

// skill gives the workspace a skill.
func (f *fixture) skill(t *testing.T) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Join(f.dir, ".adroit/skills/tidy"), 0o755))
	must(t, os.WriteFile(filepath.Join(f.dir, ".adroit/skills/tidy/SKILL.md"), []byte("---\nname: tidy\ndescription: Tidy up.\n---\nTidy.\n"), 0o644))
}

// What is shown is complete; an unknown name is an error with the nearest one.
func testShow(t *testing.T, f *fixture) {
	f.skill(t)
	in := adroit.Scope{Dir: f.dir, Trust: true}
	a, err := f.ShowAgent(t.Context(), adroit.Named{Scope: in, Name: "writer"})
	must(t, err)
	if a.Name != "writer" || a.Prompt == "" || a.Layer != "mine" || a.File != "writer.md" || len(a.Windows) != 2 || a.Windows[0].Tokens != 4096 {
		t.Errorf("%+v, %+v", a, a.DynamicAgent)
	}
	p, err := f.ShowPipeline(t.Context(), adroit.Named{Scope: in, Name: "greet"})
	must(t, err)
	if p.Name != "greet" || len(p.Steps) != 1 || p.Text() == "" || p.File != "greet.yaml" {
		t.Errorf("%+v", p)
	}
	s, err := f.ShowSkill(t.Context(), adroit.Named{Scope: in, Name: "tidy"})
	must(t, err)
	if s.Body != "Tidy." || s.Layer != "project" {
		t.Errorf("%+v", s)
	}
	_, err = f.ShowAgent(t.Context(), adroit.Named{Scope: in, Name: "write"})
	unknown(t, err, "writer")
	_, err = f.ShowPipeline(t.Context(), adroit.Named{Scope: in, Name: "great"})
	unknown(t, err, "greet")
	_, err = f.ShowSkill(t.Context(), adroit.Named{Scope: in, Name: "tidi"})
	unknown(t, err, "tidy")
}

// unknown fails unless err names what was probably meant.
func unknown(t *testing.T, err error, near string) {
	t.Helper()
	kind(t, err, problem.Invalid)
	if !strings.Contains(problem.Hint(err), near) {
		t.Errorf("%v, hint %q", err, problem.Hint(err))
	}
}

// All that there is, or some files, are checked; problems have their places.
func testLint(t *testing.T, f *fixture) {
	lint := map[string]func(context.Context, adroit.LintRequest) (*adroit.LintReport, error){"agents": f.LintAgents, "pipelines": f.LintPipelines}
	for kind, file := range map[string]string{"agents": "---\nname: A B\n---\nx", "pipelines": "steps: 3\n"} {
		all, err := lint[kind](t.Context(), adroit.LintRequest{})
		if err != nil || all.Checked != 1 || all.Problems == nil || all.Problems.Err() != nil {
			t.Errorf("%s: %v, %+v", kind, err, all)
		}
		one, err := lint[kind](t.Context(), adroit.LintRequest{Files: []adroit.LintFile{{Name: "mine/bad", Text: []byte(file)}}})
		if err != nil || one.Checked != 1 || one.Problems.Err() == nil || one.Problems[0].File != "mine/bad" || one.Problems[0].Line == 0 {
			t.Errorf("%s: %v, %+v", kind, err, one)
		}
	}
}

// A pipeline of a project is written once for each time that it was read, and is then one like others.
func testPipelineFile(t *testing.T, f *fixture) {
	named := func(name string) adroit.Named { return adroit.Named{Scope: adroit.Scope{Dir: f.dir}, Name: name} }
	if _, err := f.PipelineFile(t.Context(), named("nobody-has-it")); problem.AsError(err) == nil || problem.AsError(err).Kind != problem.NotFound {
		t.Errorf("a pipeline that nobody has defined: %v", err)
	}
	given, err := f.PipelineFile(t.Context(), named("greet"))
	must(t, err)
	if given.Layer != "mine" || given.Digest != "" || !strings.Contains(given.Text, "steps:") {
		t.Errorf("%+v", given)
	}
	w := adroit.PipelineWrite{Dir: f.dir, Name: "own", Text: "steps: [{id: a, run: make}] # kept\n"}
	first, err := f.WritePipeline(t.Context(), w)
	must(t, err)
	for _, was := range []string{"", strings.Repeat("0", 64)} {
		w.Was = was
		_, err = f.WritePipeline(t.Context(), w)
		kind(t, err, problem.Stale)
	}
	w.Was, w.Text = first.Digest, "name: other\nsteps: 3\n"
	second, err := f.WritePipeline(t.Context(), w)
	must(t, err)
	w.Was, w.Text = second.Digest, "name: other\nsteps: [{id: a, run: make}]\n"
	_, err = f.WritePipeline(t.Context(), w)
	must(t, err)
	for _, name := range []string{"own", "other"} { // by its file, and by its name
		if p, err := f.PipelineFile(t.Context(), named(name)); err != nil || p.Name != "own" || p.Text != w.Text {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(f.dir, configs.PipelinesDir, "own.yaml")); err != nil || string(b) != w.Text {
		t.Errorf("%q, %v", b, err)
	}
	for _, name := range []string{"", "../own", "Own"} {
		w.Name = name
		_, err = f.WritePipeline(t.Context(), w)
		kind(t, err, problem.Invalid)
	}
	if schema, err := f.PipelineSchema(t.Context()); err != nil || !json.Valid(schema) {
		t.Errorf("%.80s, %v", schema, err)
	}
	if r, err := f.LintPipelines(t.Context(), adroit.LintRequest{Scope: adroit.Scope{Dir: f.dir}, Names: []string{"greet"}}); err != nil || r.Checked != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A model is asked for a word; the models of a program are neither pulled nor
// forgotten.
func testModels(t *testing.T, f *fixture) {
	list, err := f.Models(t.Context())
	if err != nil || len(list) != 2 || list[0].Model != "script/NAME" || list[1].Model != "waits/NAME" {
		t.Errorf("%v, %+v", err, list)
	}
	r, err := f.CheckModel(t.Context(), adroit.ModelQuery{})
	if err != nil || r.Model != "script/turns" {
		t.Errorf("%v, %+v", err, r)
	}
	if s, err := f.ModelState(t.Context(), adroit.ModelQuery{Model: "script/turns", Window: 4096}); err != nil || s.Given != 0 || s.NoEffort != "" {
		t.Errorf("%v, %+v", err, s)
	}
	_, err = f.CheckModel(t.Context(), adroit.ModelQuery{Model: "nobody/x"})
	if err == nil || problem.Hint(err) == "" {
		t.Errorf("%v, hint %q", err, problem.Hint(err))
	}
	_, err = f.ForgetModel(t.Context(), "")
	kind(t, err, problem.Invalid)
	n := 0
	for _, err := range f.PullModel(t.Context(), adroit.ModelPull{Model: "x"}) {
		n++
		kind(t, err, problem.Invalid)
	}
	if n != 1 {
		t.Errorf("the pull reported %d times", n)
	}
}

// A tool works in the directory of the call; what it reports as failed is a
// result and no error.
func testCall(t *testing.T, f *fixture) {
	call := adroit.ToolCall{Name: "write_file", Args: json.RawMessage(`{"path": "a.txt", "content": "hello"}`), Dir: f.dir}
	r, err := f.CallTool(t.Context(), call)
	must(t, err)
	b, err := os.ReadFile(filepath.Join(f.dir, "a.txt"))
	if err != nil || r.Failed || r.Text == "" || string(b) != "hello" {
		t.Errorf("%v, %+v, %q", err, r, b)
	}
	call.Args = json.RawMessage(`{"path": "../a.txt", "content": "hello"}`)
	if r, err := f.CallTool(t.Context(), call); err == nil && !r.Failed {
		t.Errorf("a path out of the directory: %+v", r)
	}
	call.Name = "write_fil"
	_, err = f.CallTool(t.Context(), call)
	unknown(t, err, "write_file")
}

// Findings are values; those of an unknown project say so.
func testDoctor(t *testing.T, f *fixture) {
	found, err := f.Doctor(t.Context(), adroit.DoctorQuery{Dir: f.dir, Check: true})
	must(t, err)
	all := map[string]adroit.Finding{}
	for _, one := range found {
		all[one.Name] = one
	}
	for name, want := range map[string]adroit.FindingStatus{"data": adroit.Fine, "agents": adroit.Fine, "tests": adroit.Lacking, "git": adroit.Fine, "tools": adroit.Fine} {
		if got := all[name]; got.Status != want || got.What == "" {
			t.Errorf("%s: %+v, want %s", name, got, want)
		}
	}
	if all["sandbox"].What == "" || all["attribution"].What == "" {
		t.Errorf("%+v", found)
	}
}

// What coordinators remember is listed and forgotten; nothing is remembered here.
func testFailures(t *testing.T, f *fixture) {
	list, err := f.Failures(t.Context(), adroit.FailureQuery{Project: f.dir, Words: []string{"x"}, Limit: 3})
	if err != nil || len(list) > 0 {
		t.Errorf("remembers %v (%v)", list, err)
	}
	if s, err := f.FailureStats(t.Context(), adroit.StatsQuery{Dir: f.dir, Since: time.Now().Add(-time.Hour)}); err != nil || s.Jobs != 0 || s.Decisions == nil {
		t.Errorf("counts %+v (%v)", s, err)
	}
	if n, err := f.ForgetFailures(t.Context(), adroit.FailureQuery{Key: "J1/"}); n != 0 || err != nil {
		t.Errorf("forgot %d (%v)", n, err)
	}
	if _, err := f.Failures(t.Context(), adroit.FailureQuery{Project: f.dir + "\x00"}); err == nil {
		t.Error("a directory that cannot be is one")
	}
}
