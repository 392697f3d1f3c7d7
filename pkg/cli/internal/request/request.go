// Package request turns a command line into a request for a job, submits it, and follows
// the job in the foreground: it shows its events, asks at the terminal what the job asks,
// and goes on with the answer. The end of the context stops the job, so that it can be
// resumed.
package request

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Flags are a request as the command line has it. Flags that need no reading are
// bound to the fields of the request.
type Flags struct {
	adroit.Request
	Workspace string   // as it was named
	Pairs     []string // inputs, key=value
	typed     string   // of the prompt, what stands in the command line
}

// ReadPrompt joins the words of the prompt, and reads what a - at their end stands for.
func (f *Flags) ReadPrompt(e *kit.Env, words []string) (err error) {
	if slices.ContainsFunc(f.Pairs, func(p string) bool { return strings.HasSuffix(p, "=-") || strings.HasSuffix(p, "=@-") }) {
		f.typed = strings.Join(words, " ") // standard input is an input
		f.Prompt = f.typed
		return nil
	}
	if f.typed, f.Prompt, err = Words(e, words); err != nil || f.typed == f.Prompt {
		return err
	}
	f.Taint = tools.Untrusted // what is piped in, others may have written
	f.taint(e, f.Prompt)
	return nil
}

// Typed returns the command line's part of the prompt that [Flags.ReadPrompt] read.
func (f *Flags) Typed() string { return f.typed }

// Words is a message of what was typed and of what is piped in, which is data beside what
// was typed and the message without that. A - at the end demands it.
func Words(e *kit.Env, words []string) (typed, message string, err error) {
	read, last := e.Piped, len(words)-1
	demanded := last >= 0 && words[last] == "-"
	if demanded {
		read, words = func() (string, error) { return e.Content("-") }, words[:last]
	}
	text, err := read()
	typed = strings.Join(words, " ")
	switch {
	case err != nil:
		return "", "", err
	case strings.TrimSpace(text) == "" && demanded:
		return "", "", kit.Usagef("- reads standard input, which has ended", "standard input is empty")
	case strings.TrimSpace(text) == "":
		return typed, typed, nil
	case typed == "":
		return "", text, nil
	}
	return typed, Beside(typed, text), nil
}

// Beside is a message of what was typed with what was piped in as its data.
func Beside(typed, piped string) string {
	return typed + "\n\n" + turn.Quote(piped, "from", "standard input")
}

// taint marks the request as one with a secret if text has one.
func (f *Flags) taint(e *kit.Env, text string) {
	c, _ := e.Config() // nil if it cannot be read
	if _, secret := config.Redactor(c, e.Getenv).String(text); secret {
		f.Taint |= tools.Secret
	}
}

// Read completes the request with what its flags name.
func (f *Flags) Read(e *kit.Env) (err error) {
	f.Model = Script(f.Model)
	if f.Record != "" {
		if f.Record, err = filepath.Abs(f.Record); err != nil { // a server is elsewhere
			return err
		}
	}
	f.ForAll, f.Test = f.Model != "", strings.TrimSpace(f.Test)
	if f.Dir, err = kit.Directory(f.Workspace); err != nil {
		return err
	}
	if f.typed != "" {
		f.Attached = Attached(f.typed, f.Dir)
	}
	c, err := e.Config()
	if err != nil {
		return err
	}
	for _, p := range f.Pairs {
		key, value, ok := strings.Cut(p, "=")
		if !ok || key == "" {
			return kit.Usagef("for example -i issue=@issue.md", "-i %q is not key=value", p)
		}
		if _, twice := f.Inputs[key]; twice {
			return kit.Usagef("give each input once", "-i %s is given twice", key)
		}
		if file, ok := strings.CutPrefix(value, "@"); ok && c.Names().NameError(file) != nil {
			f.Taint |= tools.Secret
			e.Warn("%s is on the list of secrets; what it holds goes to the model, as you ask", file)
		}
		text, err := e.Content(value)
		if err != nil {
			return kit.Usagef("@ reads the value from a file", "-i %s: %v", key, err)
		}
		f.taint(e, text)
		if f.Inputs == nil {
			f.Inputs = map[string]json.RawMessage{}
		}
		if f.Inputs[key], err = structured(text); err != nil {
			return err
		}
	}
	f.Pairs = nil // they are read once: standard input has ended then
	return nil
}

// Script makes the file of a model script:FILE absolute: who plays it may be a server
// that runs elsewhere.
func Script(model string) string {
	if file, ok := strings.CutPrefix(model, "script:"); ok && file != "" {
		if abs, err := filepath.Abs(file); err == nil {
			return "script:" + abs
		}
	}
	return model
}

// structured takes text as JSON if it is an object or an array, else as a
// string: an input of 007 stays what it is.
func structured(text string) (json.RawMessage, error) {
	if t := strings.TrimSpace(text); json.Valid([]byte(t)) && (strings.HasPrefix(t, "{") || strings.HasPrefix(t, "[")) {
		return json.RawMessage(t), nil
	}
	return json.Marshal(text)
}

// Resolve returns what a request resolves to, without a job.
func Resolve(ctx context.Context, e *kit.Env, c adroit.Client, r adroit.Request) (*adroit.Plan, error) {
	p, err := c.Resolve(ctx, r)
	if err == nil {
		warnIgnored(e, p)
	}
	return p, err
}

// oldPrice is after how many months a built-in price is mentioned as old.
const oldPrice = 6

// WarnReplaced warns of secrets in what was sent to a server, whose own warnings are in its
// log.
func WarnReplaced(e *kit.Env, j *jobs.Job) {
	if !e.Served() {
		return
	}
	for _, r := range j.Replaced {
		e.Warn("%s", secret.ReplacedWords(r))
	}
}

// Submit adds the job of a request. With a key it may be one that there is.
func Submit(ctx context.Context, e *kit.Env, c adroit.Client, r adroit.Request) (*adroit.Submitted, error) {
	s, err := c.Submit(ctx, r)
	if err != nil {
		return nil, err
	}
	WarnReplaced(e, s.Job)
	warnIgnored(e, s.Plan)
	prices := llm.Prices{s.Plan.Task.Model: s.Plan.Task.Price}
	maps.Copy(prices, s.Plan.Task.Prices)
	for _, model := range slices.Sorted(maps.Keys(prices)) {
		if p := prices[model]; p.Old(e.Now(), oldPrice) && (p.In > 0 || p.Out > 0) {
			e.Warn("costs of %s are at the price of %s; prices: in the config file replaces it", model, p.Date)
		}
	}
	Begins(e, s)
	return s, nil
}

// warnIgnored prints which of an agent's permissions do not hold.
func warnIgnored(e *kit.Env, p *adroit.Plan) {
	for _, words := range p.Ignored {
		fmt.Fprintf(e.Err, "%s: warning: %s\n", hint.Program(), kit.SanitizeLine(words))
	}
}

// DryRun prints what a request resolves to, and runs nothing.
func DryRun(ctx context.Context, e *kit.Env, c adroit.Client, r adroit.Request, asJSON bool) error {
	p, err := Resolve(ctx, e, c, r)
	switch {
	case err != nil:
		return err
	case asJSON && p.Pinned != nil:
		return kit.JSON(e.Out, p.Pinned)
	case asJSON:
		return kit.JSON(e.Out, p.Task)
	}
	noEffort := ""
	if p.Task.Options.Effort != "" && p.Pinned == nil {
		if m, err := c.ModelState(ctx, adroit.ModelQuery{Model: p.Task.Model, BaseURL: r.BaseURL}); err == nil {
			noEffort = m.NoEffort
		}
	}
	show.Plan(e.OutScreen(), p, noEffort, e.Home)
	return nil
}

// maxAgent bounds a file that is run as an agent; a longer one is refused by its
// parser.
const maxAgent = 1<<20 + 1

// ReadAgent takes a target that is a Markdown file as an agent. To name it is to
// trust it for this run; like an agent that a project brings it may narrow what is
// allowed, not widen it, whoever wrote it.
func (f *Flags) ReadAgent(e *kit.Env) error {
	name := f.Target
	if !strings.HasSuffix(name, ".md") || !strings.Contains(name, "/") && !exists(name) {
		return nil
	}
	file, err := os.Open(name)
	if err != nil {
		return kit.Usagef("an agent is named, or given as a file that ends in .md: "+hint.Command("run ./agent.md PROMPT"), "%v", err)
	}
	defer file.Close()
	src, err := io.ReadAll(io.LimitReader(file, maxAgent))
	if err != nil {
		return kit.Usagef("", "%v", err)
	}
	a, problems := agents.Parse(name, src)
	if problems.Err() != nil || a == nil {
		return kit.Usagef(hint.Command("agents lint %s", name)+" lists all that is wrong with it", "%s is not an agent: %v", name, problems.Err())
	}
	a.Source.Layer = "project"
	for _, words := range agents.Ignored(a) {
		fmt.Fprintf(e.Err, "%s: warning: %s\n", hint.Program(), kit.SanitizeLine(words))
	}
	a.Permissions, _ = agents.Rules(a)
	f.Spec, f.Target = a, ""
	return nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// CallTool calls a tool with the arguments that args names, if any, and prints its
// result. hint says where the arguments of the tool can be seen.
func CallTool(ctx context.Context, e *kit.Env, call adroit.ToolCall, args []string, hint string, asJSON bool) error {
	input, err := "{}", error(nil)
	if len(args) > 0 {
		if input, err = e.Content(args[0]); err != nil {
			return err
		}
	}
	if !json.Valid([]byte(input)) {
		return kit.Usagef(hint, "the arguments are not valid JSON")
	}
	call.Args = json.RawMessage(input)
	if call.Dir, err = kit.Directory(call.Dir); err != nil {
		return err
	}
	c, err := e.Client()
	if err != nil {
		return err
	}
	res, err := c.CallTool(ctx, call)
	if err != nil {
		return err
	}
	err = kit.Print(e.Out, asJSON, res, func(w io.Writer, r *executor.ToolResult) {
		fmt.Fprintln(w, strings.TrimSuffix(kit.Sanitize(r.Text), "\n"))
	})
	if err == nil && res.Failed {
		return kit.With(kit.Failed)
	}
	return err
}
