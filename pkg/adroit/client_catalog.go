package adroit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/host/catalog"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/trust"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
)

// listed turns what a catalog holds into a listing.
func listed[F, T any](found []F, problems agents.Problems, info func(F) T) *Listing[T] {
	l := &Listing[T]{Items: []T{}, Problems: problems}
	for _, f := range found {
		l.Items = append(l.Items, info(f))
	}
	return l
}

// decide is trusts for a scope. A store that cannot be read trusts nothing.
func (rt *Runtime) decide(in Scope) catalog.Decision {
	if in.Dir == "" {
		return catalog.Decision{}
	}
	d, err := rt.trusts(in.Dir, in.Trust)
	if err != nil {
		rt.warn("%v", err)
	}
	return d
}

// Agents implements [Catalog].
func (rt *Runtime) Agents(ctx context.Context, in Scope) (*Listing[AgentInfo], error) {
	if err := rt.mayLook(ctx, ScopeRead, in.Dir); err != nil {
		return nil, err
	}
	cat := rt.catalog.Agents(rt.decide(in))
	return listed(cat.List(), cat.Problems(), agentInfo), nil
}

func agentInfo(a *agents.DynamicAgent) AgentInfo {
	return AgentInfo{DynamicAgent: a, Layer: a.Source.Layer, File: a.Source.File}
}

// smallWindows are the windows that ShowAgent reports on, in tokens.
var smallWindows = []int{4096, 8192}

// ShowAgent implements [Catalog].
func (rt *Runtime) ShowAgent(ctx context.Context, n Named) (*AgentInfo, error) {
	if err := rt.mayLook(ctx, ScopeRead, n.Dir); err != nil {
		return nil, err
	}
	cat := rt.catalog.Agents(rt.decide(n.Scope))
	a, err := rt.catalog.FindAgent(cat, n.Name, n.Dir)
	if err != nil {
		return nil, problem.AsError(err)
	}
	set, err := rt.tools()
	if err != nil {
		return nil, problem.AsError(err)
	}
	info := agentInfo(a)
	info.Source = a.Source.Text
	for _, tokens := range smallWindows {
		short, err := agents.ShortenedTools(a, set, tokens)
		if err != nil {
			break // its tools are not part of this program, which Lint reports
		}
		info.Windows = append(info.Windows, SmallWindow{tokens, short})
	}
	return &info, nil
}

// Pipelines implements [Catalog].
func (rt *Runtime) Pipelines(ctx context.Context, in Scope) (*Listing[PipelineInfo], error) {
	if err := rt.mayLook(ctx, ScopeRead, in.Dir); err != nil {
		return nil, err
	}
	cat := rt.catalog.Pipelines(rt.decide(in))
	return listed(cat.List(), cat.Problems(), func(p *pipeline.Pipeline) PipelineInfo {
		return PipelineInfo{p.Name, p.Description, len(p.Steps), p.Source.Layer, p.Source.File}
	}), nil
}

// ShowPipeline implements [Catalog].
func (rt *Runtime) ShowPipeline(ctx context.Context, n Named) (*PipelineDetail, error) {
	if err := rt.mayLook(ctx, ScopeRead, n.Dir); err != nil {
		return nil, err
	}
	cat := rt.catalog.Pipelines(rt.decide(n.Scope))
	p, err := catalog.FindPipeline(cat, n.Name)
	if err != nil {
		return nil, problem.AsError(err)
	}
	return &PipelineDetail{p, p.Source.Layer, p.Source.File}, nil
}

// PipelineFile implements [Catalog].
func (rt *Runtime) PipelineFile(ctx context.Context, n Named) (*PipelineFile, error) {
	if err := rt.mayLook(ctx, ScopeRead, n.Dir); err != nil {
		return nil, err
	}
	if n.Dir != "" && pipeline.CheckName(n.Name) == nil {
		f, err := projectPipeline(n.Dir, n.Name)
		if f != nil || err != nil {
			return f, asError(err)
		}
	}
	all := rt.catalog.Pipelines(rt.decide(n.Scope))
	p, err := catalog.FindPipeline(all, n.Name)
	if err != nil {
		e := problem.AsError(err)
		if _, err := all.Lookup(n.Name); errors.As(err, new(*pipeline.UnknownError)) {
			e = &problem.Error{Kind: problem.NotFound, Code: e.Code, Message: e.Message, Hint: e.Hint}
		}
		return nil, e
	}
	name := strings.TrimSuffix(filepath.Base(p.Source.File), ".yaml")
	if p.Source.Layer == "project" { // under the name of another file
		f, err := projectPipeline(n.Dir, name)
		if f != nil || err != nil {
			return f, asError(err)
		}
	}
	return &PipelineFile{Name: p.Name, Layer: p.Source.Layer, File: p.Source.File, Text: p.Source.Text}, nil
}

// projectPipeline reads a pipeline of a project, nil if there is none. No link is followed to it.
func projectPipeline(dir, name string) (*PipelineFile, error) {
	tree, err := rootfs.Open(dir)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	return pipelineIn(tree, dir, name)
}

// pipelineIn is projectPipeline for a directory that is open.
func pipelineIn(tree *rootfs.Tree, dir, name string) (*PipelineFile, error) {
	file := configs.PipelinesDir + "/" + name + ".yaml"
	if tree.CheckNoLinks(file) != nil {
		return nil, problem.Invalidf("open it in an editor", "%s is behind a symbolic link", file)
	}
	switch info, err := tree.Root.Lstat(file); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, problem.Invalidf("open it in an editor", "%s is not a regular file", file)
	}
	text, ok := tree.Read(file, nil, pipeline.MaxFile+1)
	if !ok || len(text) > pipeline.MaxFile {
		return nil, problem.Invalidf("open it in an editor", "%s is a hard link, cannot be read, or has more than %d bytes", file, pipeline.MaxFile)
	}
	return &PipelineFile{Name: name, Layer: "project", File: filepath.Join(dir, filepath.FromSlash(file)), Text: string(text), Digest: rootfs.Digest(text)}, nil
}

// WritePipeline implements [Catalog].
func (rt *Runtime) WritePipeline(ctx context.Context, w PipelineWrite) (*PipelineFile, error) {
	if err := rt.mayLook(ctx, ScopeAdmin, w.Dir); err != nil {
		return nil, err
	}
	switch {
	case w.Dir == "":
		return nil, problem.Invalidf("name the project", "a directory is needed")
	case pipeline.CheckName(w.Name) != nil:
		return nil, problem.AsError(pipeline.CheckName(w.Name))
	case len(w.Text) > pipeline.MaxFile:
		return nil, problem.Invalidf("keep long texts in files that the agents read", "a pipeline has at most %d bytes", pipeline.MaxFile)
	}
	if _, err := rootfs.Plain([]byte(w.Text)); err != nil {
		return nil, problem.Invalidf("send text", "the pipeline cannot be written: %v", err)
	}
	f, err := rt.writePipeline(w)
	if err != nil {
		return nil, asError(err)
	}
	st, err := rt.Trust(ctx, w.Dir)
	if err != nil {
		return nil, asError(err)
	}
	for _, t := range st.Files {
		if filepath.Join(st.Root, filepath.FromSlash(t.Path)) == realFile(f.File) && t.Hash == f.Digest {
			_, err = rt.SetTrust(ctx, TrustChange{Dir: w.Dir, Files: []trust.File{t}, Trust: true})
		}
	}
	return f, asError(err)
}

// realFile is the path of a file below a directory with links.
func realFile(file string) string {
	dir, err := rootfs.Real(filepath.Dir(file))
	if err != nil {
		return file
	}
	return filepath.Join(dir, filepath.Base(file))
}

// writePipeline writes the file unless somebody else has written there.
func (rt *Runtime) writePipeline(w PipelineWrite) (*PipelineFile, error) {
	tree, err := rootfs.Open(w.Dir)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	unlock, err := lock.Open(filepath.Join(rt.data(), "pipelines.lock")) // of all servers and commands
	if err != nil {
		return nil, err
	}
	defer unlock()
	old, err := pipelineIn(tree, w.Dir, w.Name)
	if err != nil {
		return nil, err
	}
	file, was := configs.PipelinesDir+"/"+w.Name+".yaml", ""
	if old != nil {
		was = old.Digest
	}
	if was != w.Was {
		return nil, changedFile(file)
	}
	if old != nil {
		var info fs.FileInfo
		if info, err = tree.Root.Lstat(file); err == nil {
			b, _ := tree.Root.ReadFile(file) // its text was read already
			err = rootfs.ReplaceIn(tree.Root, file, info.Mode().Perm(), rootfs.Respell(b, w.Text))
		}
	} else if err = tree.Root.MkdirAll(configs.PipelinesDir, 0o755); err == nil {
		err = rootfs.CreateIn(tree.Root, file, 0o644, []byte(w.Text))
	}
	if errors.Is(err, fs.ErrExist) {
		return nil, changedFile(file)
	}
	if err != nil {
		return nil, err
	}
	return pipelineIn(tree, w.Dir, w.Name)
}

func changedFile(file string) error {
	return &problem.Error{Kind: problem.Stale, Message: file + " is not as it was read, and is kept", Hint: "read it again, and choose which of the two is meant"}
}

// PipelineSchema implements [Catalog].
func (rt *Runtime) PipelineSchema(ctx context.Context) (json.RawMessage, error) {
	return configs.PipelineSchema(), rt.may(ctx, ScopeRead)
}

// Skills implements [Catalog].
func (rt *Runtime) Skills(ctx context.Context, in Scope) (*Listing[SkillInfo], error) {
	if err := rt.mayLook(ctx, ScopeRead, in.Dir); err != nil {
		return nil, err
	}
	found, problems, err := rt.scopeSkills(in)
	if err != nil {
		return nil, problem.AsError(err)
	}
	return listed(found, problems, func(s agents.Skill) SkillInfo {
		files := slices.AppendSeq([]string{}, maps.Keys(s.Files))
		slices.Sort(files)
		return SkillInfo{s.Name, s.Description, files, s.Source.Layer, s.Source.File}
	}), nil
}

// ShowSkill implements [Catalog].
func (rt *Runtime) ShowSkill(ctx context.Context, n Named) (*SkillDetail, error) {
	if err := rt.mayLook(ctx, ScopeRead, n.Dir); err != nil {
		return nil, err
	}
	found, _, err := rt.scopeSkills(n.Scope)
	if err != nil {
		return nil, problem.AsError(err)
	}
	var names []string
	for _, s := range found {
		if s.Name == n.Name {
			return &SkillDetail{s, s.Source.Layer, s.Source.File}, nil
		}
		names = append(names, s.Name)
	}
	help := hint.Command("agents skills list") + " lists the skills"
	if near := spelling.Nearest(n.Name, names); near != "" {
		help = "did you mean " + near + "?"
	}
	return nil, problem.Invalidf(help, "unknown skill %q", n.Name)
}

func (rt *Runtime) scopeSkills(in Scope) ([]agents.Skill, agents.Problems, error) {
	if in.Dir == "" {
		found, problems := agents.LoadSkills(rt.o.Skills...)
		return found, problems, nil
	}
	d, err := rt.trusts(in.Dir, in.Trust)
	if err != nil {
		return nil, nil, err
	}
	found, problems := d.Skills(rt.o.Skills)
	return found, problems, nil
}

// LintAgents implements [Catalog].
func (rt *Runtime) LintAgents(ctx context.Context, r LintRequest) (*LintReport, error) {
	if err := rt.mayLook(ctx, ScopeRead, r.Dir); err != nil {
		return nil, err
	}
	set, err := rt.tools()
	if err != nil {
		return nil, problem.AsError(err)
	}
	d, untrusted := rt.lintDecision(r.Scope)
	cat := rt.catalog.Agents(d)
	place := r.Scope
	place.Trust = place.Trust || !d.Ignores()
	servers, err := rt.serverNames(place)
	if err != nil {
		return nil, problem.AsError(err)
	}
	skills, _, err := rt.scopeSkills(place)
	if err != nil {
		return nil, problem.AsError(err)
	}
	there := func(a *agents.DynamicAgent) agents.Problems {
		return append(rt.catalog.LintWorkflow(a), agents.LintPlace(a, set, servers, skills)...)
	}
	if len(r.Files)+len(r.Names) > 0 {
		books, files := rt.lintBooks(r.Files, cat)
		problems := append(books, lint(files, agents.Parse, func(a *agents.DynamicAgent) agents.Problems {
			return append(cat.With(*a).Lint(set, a.Name), there(a)...)
		})...)
		for _, name := range r.Names {
			a, err := rt.catalog.FindAgent(cat, name, r.Dir)
			if err != nil {
				return nil, problem.AsError(err)
			}
			problems = append(append(problems, cat.Lint(set, a.Name)...), there(a)...)
			problems = append(problems, untrusted(a.Source.Layer, a.Source.File)...)
		}
		return report(len(r.Files)+len(r.Names), problems), nil
	}
	b, problems := rt.catalog.Book(d)
	problems = append(append(problems, b.Lint(cat)...), rt.o.Coordination.Lint(b)...)
	problems = append(problems, cat.Lint(set)...)
	for _, a := range cat.List() {
		problems = append(problems, untrusted(a.Source.Layer, a.Source.File)...)
		problems = append(problems, there(a)...)
		problems = append(problems, agents.IdleRules(a, cmp.Or(r.Scope.Dir, rt.o.Dir))...)
	}
	return report(len(cat.Names()), problems), nil
}

// LintPipelines implements [Catalog].
func (rt *Runtime) LintPipelines(ctx context.Context, r LintRequest) (*LintReport, error) {
	if err := rt.mayLook(ctx, ScopeRead, r.Dir); err != nil {
		return nil, err
	}
	if _, err := rt.tools(); err != nil {
		return nil, problem.AsError(err)
	}
	d, untrusted := rt.lintDecision(r.Scope)
	k := rt.catalog.Known(d, rt.models)
	if cat := k.Pipelines; len(r.Files)+len(r.Names) > 0 {
		problems := lint(r.Files, pipeline.Parse, func(p *pipeline.Pipeline) agents.Problems {
			k.Pipelines = cat.With(p)
			return pipeline.Lint(p, k)
		})
		k.Pipelines = cat
		for _, name := range r.Names {
			p, err := catalog.FindPipeline(cat, name)
			if err != nil {
				return nil, problem.AsError(err)
			}
			problems = append(append(problems, pipeline.Lint(p, k)...), untrusted(p.Source.Layer, p.Source.File)...)
		}
		return report(len(r.Files)+len(r.Names), problems.Sort()), nil
	}
	problems := k.Pipelines.Lint(k)
	for _, p := range k.Pipelines.List() {
		problems = append(problems, untrusted(p.Source.Layer, p.Source.File)...)
	}
	return report(len(k.Pipelines.Names()), problems.Sort()), nil
}

// lintDecision has all files of a workspace checked, since that executes nothing.
// untrusted notes the untrusted ones, which are not used.
func (rt *Runtime) lintDecision(in Scope) (d catalog.Decision, untrusted func(layer, file string) agents.Problems) {
	trusted := rt.decide(in)
	none := func(layer, file string) agents.Problems { return nil }
	if in.Dir == "" || in.Trust || trusted.Ignores() {
		return trusted, none
	}
	in.Trust = true
	return rt.decide(in), func(layer, file string) agents.Problems {
		name, err := filepath.Rel(in.Dir, file)
		if layer != "project" || err == nil && trusted.Trusted(filepath.ToSlash(name)) {
			return nil
		}
		return agents.Problems{{File: file, Severity: agents.Note, Message: "nobody trusts this file yet: it is not used", Hint: hint.Command("config trust") + " shows it and asks"}}
	}
}

// serverNames are the servers of a scope.
func (rt *Runtime) serverNames(in Scope) (names []string, err error) {
	l, err := rt.ToolServers(context.Background(), in)
	if err != nil {
		return nil, err
	}
	for _, s := range l.Items {
		names = append(names, s.Name)
	}
	return names, nil
}

func report(checked int, problems agents.Problems) *LintReport {
	return &LintReport{checked, append(agents.Problems{}, problems...)}
}

// lint checks files.
func lint[T any](files []LintFile, parse func(string, []byte) (*T, agents.Problems), check func(*T) agents.Problems) (all agents.Problems) {
	for _, f := range files {
		v, problems := parse(f.Name, f.Text)
		all = append(all, problems...)
		if v != nil {
			all = append(all, check(v)...)
		}
	}
	return all
}

// Tools implements [Catalog].
func (rt *Runtime) Tools(ctx context.Context) (*Listing[ToolInfo], error) {
	if err := rt.may(ctx, ScopeRead); err != nil {
		return nil, err
	}
	set, err := rt.tools()
	if err != nil {
		return nil, problem.AsError(err)
	}
	l := &Listing[ToolInfo]{Items: []ToolInfo{}}
	for t := range set.All() {
		input, err := json.Marshal(t.Input)
		if err != nil {
			return nil, problem.AsError(err)
		}
		l.Items = append(l.Items, ToolInfo{t.Name, t.Description, t.Needs.String(), t.Safe(), input})
	}
	return l, nil
}

// lintBooks checks the files among some that are about problems, and returns the others.
func (rt *Runtime) lintBooks(files []LintFile, cat *agents.Catalog) (problems agents.Problems, others []LintFile) {
	for _, f := range files {
		if ext := path.Ext(f.Name); ext != ".yaml" && ext != ".yml" {
			others = append(others, f)
			continue
		}
		b, found := coordinator.Read(f.Name, f.Text)
		problem.Register(b.Types...)
		problems = append(append(problems, found...), b.Lint(cat)...)
	}
	return problems, others
}

// A Scope is a workspace, and whether all that it brings is used. Files are
// named relative to Dir as it is given.
type Scope struct {
	Dir   string `json:"dir,omitempty"` // empty: none
	Trust bool   `json:"trust_project,omitempty"`
}

// A Named is an agent, a pipeline or a skill by name.
type Named struct {
	Scope
	Name string `json:"name"`
}

// A Listing lists the items found, and what is wrong with the rest.
type Listing[T any] struct {
	Items    []T             `json:"items"`
	Problems agents.Problems `json:"problems,omitempty"`
}

// Info on what requests may name.
type (
	AgentInfo struct {
		*agents.DynamicAgent
		Layer string `json:"layer"`
		File  string `json:"file"`
		// Of a shown one: how small windows shorten its tools, and its file as it is,
		// "" for an agent that a program has made.
		Windows []SmallWindow `json:"windows,omitempty"`
		Source  string        `json:"source,omitempty"`
	}
	PipelineInfo struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Steps       int    `json:"steps"`
		Layer       string `json:"layer"`
		File        string `json:"file"`
	}
	SkillInfo struct {
		Name        string   `json:"name"`
		Description string   `json:"description"`
		Files       []string `json:"files"`
		Layer       string   `json:"layer"`
		File        string   `json:"file"`
	}
	ToolInfo struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Needs       string          `json:"needs,omitempty"` // capabilities
		Effect      tools.Effect    `json:"effect"`          // of performing a call twice
		Input       json.RawMessage `json:"input"`           // JSON Schema
	}
)

// Details of what requests may name.
type (
	PipelineDetail struct {
		*pipeline.Pipeline
		Layer string `json:"layer"`
		File  string `json:"file"`
	}
	SkillDetail struct {
		agents.Skill
		Layer string `json:"layer"`
		File  string `json:"file"`
	}
)

// A PipelineFile is the text of a pipeline.
type PipelineFile struct {
	Name   string `json:"name"` // of a project's, without .yaml
	Layer  string `json:"layer"`
	File   string `json:"file"`
	Text   string `json:"text"`
	Digest string `json:"digest,omitempty"` // SHA-256 of the text in hex; empty: it is of no project
}

// A PipelineWrite is the new content of a project's file .adroit/pipelines/NAME.yaml.
type PipelineWrite struct {
	Dir  string `json:"dir"`
	Name string `json:"name"`
	Text string `json:"text"`
	Was  string `json:"was,omitempty"` // the digest of the file that it replaces; empty: there is none
}

// A SmallWindow is a context window in which tools are shortened or left out.
type SmallWindow struct {
	Tokens int                      `json:"tokens"`
	Tools  []executor.ShortenedTool `json:"tools,omitempty"`
}

// A LintRequest names what is checked: all that a scope has, or some files.
type LintRequest struct {
	Scope
	Files []LintFile `json:"files,omitempty"`
	Names []string   `json:"names,omitempty"` // of all that exist, beside the files
}

// A LintFile is a file by name.
type LintFile struct {
	Name string `json:"name"`
	Text []byte `json:"text"`
}

// A LintReport lists the problems of what was checked.
type LintReport struct {
	Checked  int             `json:"checked"`
	Problems agents.Problems `json:"problems"`
}
