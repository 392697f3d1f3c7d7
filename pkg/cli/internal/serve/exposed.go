package serve

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
)

// exposed are the flags that say what the Model Context Protocol exposes.
type exposed struct {
	Options
	dir string
}

func (x *exposed) flags(f *pflag.FlagSet) {
	r := &x.Request
	f.StringArrayVar(&x.Agents, "agent", nil, "expose this agent; else those that say expose: true")
	f.StringArrayVar(&x.Tools, "tool", nil, "expose this tool, which is called without a job and without asking")
	f.StringArrayVar(&x.Skills, "skill", nil, "make this skill a prompt")
	f.BoolVar(&x.Memory, "memory", false, "expose what is remembered: remember, recall, memory_list, memory_forget")
	f.StringVarP(&x.dir, "dir", "C", ".", "work in this directory")
	f.StringVarP(&r.Model, "model", "m", "", "the model of all jobs whose request names none, provider/model or script:FILE")
	f.StringVar((*string)(&r.Approve), "approve", "", "what is approved without asking: ask (nothing), edits, all; none denies what would be asked")
	f.StringVar((*string)(&r.Mode), "mode", "", "permission mode of the jobs: plan, edits or auto")
	f.StringVar((*string)(&r.Sandbox), "sandbox", "", "confine commands at this level: auto, full, bubblewrap, landlock, off")
	f.BoolVar(&r.Trust, "trust-project", false, "use what this project brings: agents, skills, AGENTS.md")
	f.BoolVar(&x.ModelApproves, "model-approves", false, "let the calling model approve calls of a job in a person's place")
}

// open makes the server that the flags describe. It serves until ctx ends.
func (x *exposed) open(ctx context.Context, e *kit.Env) (*Server, error) {
	var err error
	if x.Request.Dir, err = kit.Directory(x.dir); err != nil {
		return nil, err
	}
	x.Request.Model = request.Script(x.Request.Model)
	x.Request.ForAll = x.Request.Model != ""
	x.Version = kit.Read().Version
	x.Log = logger(e)
	c, err := e.Client()
	if err != nil {
		return nil, err
	}
	return New(ctx, c, x.Options)
}

// logger prints lines for the operator.
func logger(e *kit.Env) func(format string, args ...any) {
	return func(text string, args ...any) {
		fmt.Fprintln(e.Err, hint.Program()+": "+kit.SanitizeLine(fmt.Sprintf(text, args...)))
	}
}
