package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/match"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/tools"
)

// defaultVerdict decides about a call that no rule covers, and gives the reason. harmless judges
// the call's command where the sandbox keeps it from all but the workspace; nil: there is none.
func defaultVerdict(m turn.PermissionContext, t tools.Metadata, f func() Confinement, harmless func() (permit.Do, string)) (permit.Do, string) {
	switch {
	case !executor.Mode(m.Mode).Allows(t):
		return permit.Deny, "the mode is plan, in which this job plans and changes nothing; say in words what should be done"
	case t.Needs&tools.Publish != 0:
		return permit.Ask, "others will see it"
	case t.Outside:
		return permit.Ask, "it runs outside the sandbox, as in your own shell: with the network, your files and your credentials"
	case t.Online && !f().open():
		return permit.Ask, onlineReason
	case t.Asks != "":
		return permit.Ask, t.Asks
	case t.Needs&tools.Shell != 0 && executor.Mode(m.Mode) == executor.ModeAuto && executor.Approve(m.Approve) != executor.ApproveAsk && f().closed():
		if !f().locks() && len(m.Rules.DeniedPaths(m.Agent, t.Name)) > 0 {
			return permit.Ask, "a rule denies paths, and nothing keeps a command from them at this level of the sandbox"
		}
		if !f().locks() && len(m.Rules.AskedPaths(permit.Call{Agent: m.Agent, Tool: t.Name})) > 0 {
			return permit.Ask, "a rule asks about paths, and nothing keeps a command from them at this level of the sandbox"
		}
		return permit.Allow, ""
	case t.Needs&tools.Shell != 0 && harmless != nil && executor.Approve(m.Approve) != executor.ApproveAsk && f().sealed():
		return harmless()
	case t.Needs&tools.Shell != 0:
		return permit.Ask, ""
	case t.RunsCode && !f().closed():
		// The workspace's code is as good as any command.
		return permit.Ask, fmt.Sprintf("it runs the project's code, and no sandbox confines it; --sandbox auto confines it, and --approve all or a rule {tool: %s, do: allow} lets it run as it is", t.Name)
	case executor.Approve(m.Approve) == executor.ApproveAsk && (t.RunsCode || t.Needs&tools.Write != 0 || t.Needs&tools.Exec != 0 && !turn.Repeatable(t)):
		return permit.Ask, ""
	}
	return permit.Allow, ""
}

const onlineReason = "it gets the network of this machine, which its sandbox keeps from commands"

// untrustedReason explains why people are asked about the project's own commands.
const untrustedReason = "it runs the project's code, and the project has files that would instruct agents and that nobody has trusted"

// command judges the command of a call that runs in a sandbox without a network: what only reads is
// allowed, and so are builds and tests of a project that is trusted.
func (h Host) command(m turn.PermissionContext, p Invocation) func() (permit.Do, string) {
	if p.Tool.Command == "" || p.Env == nil || p.Env.Files == nil {
		return nil
	}
	return func() (permit.Do, string) {
		switch ok, own := permit.Harmless(ruleCall(m, p, permit.Ask).Script, p.Env.Files.Dir(), leadsOut(p.Env)); {
		case !ok:
			return permit.Ask, ""
		case own && (h.Trusted == nil || !h.Trusted()):
			return permit.Ask, untrustedReason
		}
		return permit.Allow, ""
	}
}

// approvalError is the error of a call that a person must approve first.
type approvalError struct{ executor.Question }

func (a *approvalError) Error() string { return a.Tool + " needs approval" }

const leakReason = "the job has read something secret and text that others wrote, so what it sends may be what they want"

// Why a person is asked about a call that may have been made already.
const (
	republishReason = "an earlier publication may have happened, and nobody can tell: look there first; to publish again may publish twice"
	repeatReason    = "an earlier attempt may have happened, and nobody can tell: look there first; to run it again may do it twice"
)

const guardedReason = "an agent or an editor would obey what the command made, which no tool may write"

// guarded reports whether a call brings in files that only a person can agree to: no rule, and no
// approval beforehand, covers it.
func guarded(m turn.PermissionContext, p Invocation) bool {
	return p.Tool.Name == turn.AcceptFiles && slices.ContainsFunc(ruleCall(m, p, permit.Ask).Paths, func(name string) bool {
		_, _, guarded := rootfs.Obeyed(name)
		return guarded
	})
}

// repeats explains why a call may repeat an earlier one, or returns "".
func repeats(m turn.PermissionContext, t tools.Tool, args json.RawMessage) string {
	switch {
	case m.Unknown != "" && (t.Needs&tools.Publish != 0 || t.Command != "" && permit.Publishes(turn.TextArgument(args, t.Command))):
		return republishReason
	case m.Unknown != "":
		return repeatReason
	case m.Taint.Has(tools.Unconfirmed) && t.Needs&tools.Publish != 0:
		return republishReason
	}
	return ""
}

// permitted returns the innermost handler of a call: it decides about the call
// and runs it if it may. A call that must be approved is an *approvalError and
// has not happened; one that is denied is a result in words for the model.
func (h Host) permitted(use turn.ToolCall, emit event.Sink) ToolHandler {
	may := turn.PermissionContext{}
	if use.Permission != nil {
		may = *use.Permission
	}
	return func(ctx context.Context, p Invocation) (tools.Result, error) {
		may := may
		var err error
		if may.Rules, err = withTargets(ctx, may.Rules, p.Env); err != nil {
			return tools.Result{}, err
		}
		v, leaks := verdict(may, p, h.confinement, h.command(may, p), h.policy(ctx, use.Approved, p))
		if v.Do != permit.Allow {
			args, _ := p.Tool.Input.Repair(p.Args)
			if p.Tool.Input != nil && p.Tool.Input.Validate(args) != nil {
				// Not a valid call: the tool explains the error without running.
				return p.Tool.Run(ctx, p.Env, p.Args)
			}
			p.Args = args
		}
		files, err := h.checked(p, use, v.Do == permit.Deny || v.Do == permit.Ask && executor.Approve(may.Approve) == executor.ApproveNone)
		if err != nil {
			return tools.Result{}, err
		}
		again := repeats(may, p.Tool, p.Args)
		switch {
		case v.Do == permit.Ask && executor.Approve(may.Approve) == executor.ApproveAll && guarded(may, p):
			return denied(guardedReason + ", and nobody has looked at it"), nil
		case v.Do == permit.Ask && executor.Approve(may.Approve) == executor.ApproveAll && again == "":
			if leaks {
				emit(event.Event{Kind: event.Note, Text: p.Tool.Name + " was approved beforehand, although " + leakReason})
			}
		case v.Do == permit.Ask && executor.Approve(may.Approve) == executor.ApproveNone:
			if again != "" {
				return denied(again + ". Nobody is there to approve it; tell the user"), nil
			}
			why := "nobody is there to approve it"
			if v.Why != "" {
				why += " (" + v.Why + ")"
			}
			without := p.Tool.Name
			if without == turn.AcceptFiles {
				without = "these files"
			}
			return denied(why + "; find a way without " + without), nil
		case v.Do == permit.Ask:
			if err := refused(p); err != nil {
				return tools.Result{}, err // no answer would let it run
			}
			q, err := h.question(p, may, use.Artifacts, v, leaks)
			if err != nil {
				return tools.Result{}, err
			}
			if use.Approved == "" || use.Approved != q.Digest {
				return tools.Result{}, &approvalError{*q}
			}
			files = q.Files
		case v.Do == permit.Deny:
			return denied(v.Why), nil
		}
		if p.Env != nil && files != nil {
			// The tool reads the files after this: their content then must be the content that was
			// approved and checked.
			env := *p.Env
			env.Approved, p.Env = files, &env
		}
		if bars := may.Rules.DeniedPaths(may.Agent, p.Tool.Name); p.Env != nil && p.Env.Files != nil && len(bars) > 0 {
			env := *p.Env
			env.Files = env.Files.WithGuard(func(name string, _ bool) string { return may.Rules.Bars(may.Agent, p.Tool.Name, name) })
			p.Env = &env
		}
		ctx = process.WithDenied(ctx, keptPaths(may, p))
		if !p.Tool.RunsCode && p.Tool.Needs&tools.Shell == 0 {
			ctx = process.WithOwnProgram(ctx)
		}
		return p.Tool.Run(ctx, p.Env, p.Args)
	}
}

// refused returns why a tool whose call is a command cannot run it here.
func refused(p Invocation) error {
	if p.Tool.Command == "" || p.Env == nil {
		return nil
	}
	if c, ok := p.Env.Exec.(interface{ Refused() error }); ok {
		return c.Refused()
	}
	return nil
}

// withTargets adds to rules that narrow those for what their paths lead to: a link in a rule
// stands for its target, too, also one that a wildcard finds.
func withTargets(ctx context.Context, rules permit.Rules, env *tools.Env) (permit.Rules, error) {
	if env == nil || env.Files == nil {
		return rules, nil
	}
	out := rules
	add := func(r permit.Rule, real string, rest []string) {
		to := r
		to.Path = path.Join(append([]string{real}, rest...)...)
		if to.Why == "" {
			to.Why = "the rule: " + r.String() + ", which leads to " + to.Path
		}
		out = append(slices.Clip(out), to)
	}
	var links []string
	listed := false
	for _, r := range rules {
		if !r.Narrows() || r.Path == "" {
			continue
		}
		parts := strings.Split(strings.TrimPrefix(r.Path, "./"), "/")
		named := slices.IndexFunc(parts, func(p string) bool { return strings.ContainsAny(p, "*?[{\\") })
		if named < 0 {
			named = len(parts)
		}
		plain := path.Join(parts[:named]...)
		if real, err := env.Files.Real(plain); plain != "" && err == nil && real != plain {
			add(r, real, parts[named:])
		}
		if named == len(parts) {
			continue
		}
		if !listed {
			var err error
			if links, err = env.Files.Links(ctx); err != nil {
				return nil, err
			}
			listed = true
		}
		for _, link := range links {
			rests := match.Rests(parts, strings.Split(link, "/"))
			if match.Covers(r.Path, link, true) {
				rests = [][]string{nil}
			}
			if len(rests) == 0 {
				continue
			}
			if real, err := env.Files.Real(link); err == nil && real != link { // else it leads out, where no tool follows
				for _, rest := range rests {
					add(r, real, rest)
				}
			}
		}
	}
	return out, nil
}

// keptPaths are the paths of rules that what a call starts must not change, or not without
// a question, with the rules in words. What the call itself names, a person has agreed to.
func keptPaths(may turn.PermissionContext, p Invocation) []process.Denied {
	if len(may.Rules) == 0 || p.Env == nil || p.Env.Files == nil {
		return nil
	}
	rules := may.Rules.DeniedPaths(may.Agent, p.Tool.Name)
	if executor.Approve(may.Approve) != executor.ApproveAll {
		rules = append(rules, may.Rules.AskedPaths(ruleCall(may, p, permit.Ask))...)
	}
	var out []process.Denied
	for _, r := range rules {
		words := "the rule: " + r.String()
		if r.Why != "" {
			words += ", " + r.Why
		}
		out = append(out, process.Denied{Path: r.Path, Rule: words, Ask: r.Do == permit.Ask})
	}
	return out
}

func denied(why string) tools.Result {
	return tools.Result{Failed: true, Refused: true, Inconclusive: tools.CannotCheck, Text: "not run: " + why, Summary: "not run: " + spelling.FirstLine(why)}
}

// verdict decides, and reports whether the call could send data that it should not, or send it
// twice, or change something that no rule covers. It runs nothing.
func verdict(m turn.PermissionContext, p Invocation, f func() Confinement, harmless func() (permit.Do, string), policy func() permit.Verdict) (v permit.Verdict, leaks bool) {
	t := p.Tool
	do, why := defaultVerdict(m, t.Metadata, f, harmless)
	if do == permit.Deny {
		return permit.Verdict{Do: do, Why: why}, false
	}
	if writes := t.Needs & (tools.Write | tools.Exec); do == permit.Allow && writes == tools.Write && executor.Approve(m.Approve) != executor.ApproveAll && p.Env != nil && p.Env.Files != nil {
		// A command cannot write these: the sandbox takes them away.
		if i := slices.IndexFunc(ruleCall(m, p, do).Paths, p.Env.Files.NeedsApproval); i >= 0 {
			do, why = permit.Ask, "it says what runs later without a question, in continuous integration, with a commit, or when a program starts"
		}
	}
	v = permit.Verdict{Do: do}
	if len(m.Rules) > 0 || do == permit.Ask {
		v = m.Rules.Judge(ruleCall(m, p, do))
	}
	if v.Why == "" {
		v.Why = why
	}
	if policy != nil && v.Do != permit.Deny {
		if own := policy(); own.Do != "" {
			v = own
		}
	}
	leaks = m.Taint.Has(turn.ExfiltrationTaint) && (t.Needs&(tools.Net|tools.Publish) != 0 || t.Needs&tools.Shell != 0 && f().open())
	if leaks && v.Do != permit.Deny {
		v.Do = permit.Ask
		v.Why = leakReason
	}
	if again := repeats(m, t, p.Args); again != "" && v.Do != permit.Deny {
		leaks, v.Do, v.Why = true, permit.Ask, again
	}
	if v.Do != permit.Deny && guarded(m, p) {
		leaks, v.Do, v.Why = true, permit.Ask, guardedReason
	}
	return v, leaks
}

// policy judges a call by the program's own code. What a person has approved it is not asked
// about again: its word from before the question is in the journal.
func (h Host) policy(ctx context.Context, approved string, p Invocation) func() permit.Verdict {
	if h.Policy == nil {
		return nil
	}
	return func() permit.Verdict {
		if approved != "" {
			return permit.Verdict{Do: permit.Ask}
		}
		v := h.Policy(ctx, p)
		switch v.Do {
		case "", permit.Allow, permit.Ask:
		case permit.Deny:
			v.Why = cmp.Or(v.Why, "the program's policy denies it")
		default:
			v = permit.Verdict{Do: permit.Deny, Why: fmt.Sprintf("the program's policy says %q, which is none of allow, ask and deny", v.Do)}
		}
		return v
	}
}

// ruleCall returns the parts of a call that rules judge.
func ruleCall(m turn.PermissionContext, p Invocation, def permit.Do) permit.Call {
	t := p.Tool
	c := permit.Call{Agent: m.Agent, Tool: t.Name, Source: t.Source, Default: def, Shell: t.Command != "", Named: t.Online}
	if t.Command == "" && len(t.Paths) == 0 && t.Touches == nil {
		return c // it has nothing in its arguments that rules are about
	}
	args, _ := t.Input.Repair(p.Args)
	var fields map[string]json.RawMessage
	if json.Unmarshal(args, &fields) != nil {
		return c
	}
	_ = json.Unmarshal(fields[t.Command], &c.Script) // what is no text runs nothing
	c.Paths = callPaths(p, fields, args)
	if p.Env != nil && p.Env.Files != nil {
		c.Follow = follower(p.Env)
	}
	return c
}

// callPaths lists the paths that a call is about, each with the targets of its links.
func callPaths(p Invocation, fields map[string]json.RawMessage, args json.RawMessage) []string {
	var names []string
	for _, arg := range p.Tool.Paths {
		var one string
		var many []string
		switch {
		case json.Unmarshal(fields[arg], &one) == nil && one != "":
			names = append(names, one)
		case json.Unmarshal(fields[arg], &many) == nil && len(many) > 0:
			names = append(names, many...)
		default:
			names = append(names, ".") // left out, it means everything
		}
	}
	if p.Tool.Touches != nil {
		names = append(names, p.Tool.Touches(args)...)
	}
	var out []string
	for _, name := range names {
		plain := filepath.ToSlash(filepath.Clean(name))
		if p.Env != nil && p.Env.Files != nil {
			if rel, err := filepath.Rel(p.Env.Files.Dir(), name); err == nil && filepath.IsAbs(name) {
				plain = filepath.ToSlash(rel)
			}
			if real, err := p.Env.Files.Real(name); err == nil && real != plain {
				out = append(out, real)
			}
		}
		out = append(out, plain)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// question returns the question that a person is asked to approve a call.
func (h Host) question(p Invocation, m turn.PermissionContext, given map[string]json.RawMessage, v permit.Verdict, leaks bool) (*executor.Question, error) {
	t := p.Tool
	c := ruleCall(m, p, permit.Ask)
	q := &executor.Question{Tool: t.Name, Args: p.Args, Needs: t.Needs, Paths: c.Paths}
	if p.Env != nil && p.Env.Files != nil {
		q.Dir = p.Env.Files.Dir()
	}
	if t.Needs&(tools.Shell|tools.Exec) != 0 {
		f := h.confinement()
		q.Sandbox, q.Network = f.Sandbox, f.Network
		if !f.closed() {
			q.Sandbox = "off"
		}
		if f.open() {
			q.Network = "open"
		}
	}
	if t.Outside {
		q.Sandbox, q.Network = "off", "open"
	}
	if t.Needs&(tools.Net|tools.Publish) != 0 && !strings.HasPrefix(t.Name, turn.Prefix("")) { // whose question has what its server reaches
		q.Network = "open"
	}
	if t.Needs&tools.Publish != 0 {
		q.Files = digests(p, c.Paths, given)
	}
	whole, err := json.Marshal(struct {
		*executor.Question
		Given map[string]json.RawMessage `json:"given,omitempty"`
	}{q, given})
	if err != nil {
		return nil, fmt.Errorf("tool %s: encoding the question: %w", t.Name, err)
	}
	q.Digest, q.Why = flow.Digest(whole), v.Why
	q.Needs = shownNeeds(t) // not part of the digest: the tool is what it was for an answer given before
	if t.Preview != nil && p.Env != nil && p.Env.Files != nil {
		// Not part of the digest: it follows from the arguments, artifacts and files
		// that are, and from the day.
		q.Preview = t.Preview(p.Env, p.Args)
	}
	if !leaks && t.Needs&tools.Publish == 0 {
		q.Always = alwaysRule(m, c)
	}
	return q, nil
}

// shownNeeds returns the needs of a tool for a question. A server's tool needs the network even
// where the server has none, since its results come from strangers.
func shownNeeds(t tools.Tool) tools.Caps {
	if t.Offline {
		return t.Needs &^ tools.Net
	}
	return t.Needs
}

// digests returns the digests of everything that a call makes visible to others: the artifacts
// that it is given and its files.
func digests(p Invocation, paths []string, given map[string]json.RawMessage) map[string]string {
	out := map[string]string{}
	for name, value := range given {
		out["artifact "+name] = flow.Digest(value)
	}
	if p.Env == nil || p.Env.Files == nil {
		return out
	}
	for _, name := range paths {
		if b, err := content(p, name); err == nil {
			out[name] = flow.Digest(b)
		}
	}
	return out
}

// An uncheckedError is the error of a call before which checks must pass.
type uncheckedError struct{ turn.Unchecked }

func (u *uncheckedError) Error() string { return "checks must pass first" }

// checked returns the digests of everything that a call would make visible to others if the checks
// that its tool demands have passed on it, or nil if it demands none. The error demands them. A
// call that is refused anyway is not checked.
func (h Host) checked(p Invocation, use turn.ToolCall, refused bool) (map[string]string, error) {
	if p.Tool.Before == nil || refused || p.Tool.Input.Validate(p.Args) != nil {
		return nil, nil
	}
	u := &uncheckedError{turn.Unchecked{Checks: p.Tool.Before(p.Args)}}
	if len(u.Checks) == 0 {
		return nil, nil
	}
	files := digests(p, ruleCall(turn.PermissionContext{}, p, permit.Ask).Paths, use.Artifacts)
	whole, err := json.Marshal(struct {
		Args   json.RawMessage
		Checks []tools.Precondition
		Files  map[string]string
	}{p.Args, u.Checks, files})
	if err != nil {
		return nil, fmt.Errorf("tool %s: encoding what is checked: %w", p.Tool.Name, err)
	}
	if u.Digest = flow.Digest(whole); use.Checked == u.Digest {
		return files, nil
	}
	for _, c := range u.Checks {
		if t, ok := h.lookup(c.Tool); ok {
			u.Tools = append(u.Tools, turn.CheckTool{Name: c.Tool, Needs: t.Needs, Effect: t.Effect, Consumes: t.Consumes, Uses: t.Uses})
		}
	}
	return nil, u
}

// maxPublished bounds the size of a file that is read to bind an approval to it.
const maxPublished = 32 << 20

func content(p Invocation, name string) ([]byte, error) {
	f, err := p.Env.Files.FS().Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.IsDir() {
		return nil, errors.Join(err, errors.New("not a file"))
	}
	return io.ReadAll(io.LimitReader(f, maxPublished))
}

// alwaysRule returns the rule that would have avoided the question, or nil if each such rule would
// cover more than the person sees.
func alwaysRule(m turn.PermissionContext, c permit.Call) *permit.Rule {
	r, ok := m.Rules.Propose(c)
	if !c.Shell {
		r, ok = permit.Rule{Tool: c.Tool, Source: c.Source, Do: permit.Allow}, true
	}
	if !ok || append(slices.Clone(m.Rules), r).Judge(c).Do != permit.Allow {
		return nil
	}
	return &r
}

// idle reports that a step cannot have run its tool, however the host was set
// up when it began: it must be asked about, or is denied, everywhere. Such a
// step may be begun again.
func (h Host) idle(s flow.Step, t tools.Tool) bool {
	var use turn.ToolCall
	if json.Unmarshal(s.Input, &use) != nil || use.Approved != "" {
		return false
	}
	may := turn.PermissionContext{}
	if use.Permission != nil {
		may = *use.Permission
	}
	most := func() Confinement { return Confinement{Sandbox: "full", Network: "off"} } // that any host allows
	p := Invocation{Step: s, Tool: t, Args: use.Args}
	runs := func() (permit.Do, string) {
		if ok, _ := permit.Harmless(turn.TextArgument(use.Args, t.Command), "/", nil); ok { // in some directory
			return permit.Allow, ""
		}
		return permit.Ask, ""
	}
	v, _ := verdict(may, p, most, runs, nil)
	return v.Do == permit.Deny || v.Do == permit.Ask && h.Policy == nil && (may.Unknown != "" || executor.Approve(may.Approve) != executor.ApproveAll)
}
