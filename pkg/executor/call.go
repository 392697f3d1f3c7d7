package executor

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// permissionContext returns the parts of a tool step that decide about the call besides
// the call itself, nil if there are none.
func (t *Task) permissionContext(now callContext) *turn.PermissionContext {
	m := turn.PermissionContext{Rules: append(slices.Clip(t.Rules), now.rules...)}
	if len(m.Rules) > 0 {
		m.Agent = t.Agent
	}
	if t.Mode != ModeEdits {
		m.Mode = string(t.Mode)
	}
	if t.Approve != ApproveEdits {
		m.Approve = string(t.Approve)
	}
	if now.taint.Has(turn.ExfiltrationTaint) || now.taint.Has(tools.Unconfirmed) {
		m.Taint = now.taint
	}
	if len(m.Rules) == 0 && m.Mode == "" && m.Approve == "" && m.Taint == 0 {
		return nil
	}
	return &m
}

// refusal states, in words for the model, why the call may not run; "" if it
// may.
func refusal(t *Task, s *State, now callContext, c llm.Call) string {
	tool := t.tool(c.Name)
	switch {
	case tool == nil && t.Mode == ModePlan:
		// A name that is near is no help where the tool itself is withheld.
		return fmt.Sprintf("there is no tool %q: this job plans and changes nothing, so say in words what should be done; %s", c.Name, t.offers())
	case tool == nil && t.Revision >= 5 && strings.HasPrefix(c.Name, turn.Prefix("")):
		return fmt.Sprintf("there is no tool %q%s: a job keeps the tools of servers that it began with. What a server has added since, a new job gets after the user has accepted it by %s with --accept; %s", c.Name, spelling.DidYouMean(c.Name, t.names()), hint.Replayed("mcp check"), t.offers())
	case tool == nil:
		return fmt.Sprintf("there is no tool %q%s; %s", c.Name, spelling.DidYouMean(c.Name, t.names()), t.offers())
	case c.Malformed != "":
		return fmt.Sprintf("the call was not run: %s. Call %s again with valid JSON arguments.", c.Malformed, c.Name)
	}
	if c.Name == finish && now.failed != "" {
		return "finish was not run: " + now.failed + " before it failed"
	}
	if matches(t.turn.refuse, c.Name) {
		return c.Name + " was not run: it may not be called in this step; answer what was asked without it"
	}
	if lacks := t.missingInputs(tool, s, now); len(lacks) > 0 {
		return fmt.Sprintf("%s needs %s first%s", c.Name, strings.Join(lacks, ", "), t.producers(s, lacks))
	}
	return t.withheld(s, c.Name, s.Turns)
}

// withChecks adds what the checks before a call took and found.
func (r *ToolResult) withChecks(sum *ToolResult) {
	r.Took += sum.Took
	r.ModelCosts = slices.Concat(sum.ModelCosts, r.ModelCosts)
	r.Taint |= sum.Taint
	r.rules = slices.Concat(sum.rules, r.rules)
}

// maxCheckRounds bounds the number of times that the data which a call would publish may
// change while it is checked.
const maxCheckRounds = 3

// precheck makes the checks that must pass before a call and returns the digest of what
// they passed on, or words for the model if one has not. All of them are added to sum.
func precheck(r *flow.Run, t *Task, s *State, now callContext, tool string, raw json.RawMessage, sum *ToolResult) (no, digest string, err error) {
	var u turn.Unchecked
	if err := json.Unmarshal(raw, &u); err != nil {
		return "", "", fmt.Errorf("tool %s: decoding what must be checked first: %w", tool, err)
	}
	with := *t
	with.Checks = slices.Clip(t.Checks)
	for _, c := range u.Tools {
		with.Checks = append(with.Checks, Tool{ToolSpec: llm.ToolSpec{Name: c.Name}, Needs: c.Needs, Effect: c.Effect, Consumes: c.Consumes, Uses: c.Uses})
	}
	now.calls, now.caller = 1, caller{workflow: true, interrupted: turn.Again}
	for _, check := range u.Checks {
		c := llm.Call{Name: check.Tool, Args: check.Args}
		if with.tool(check.Tool) == nil {
			no = fmt.Sprintf("%s was not run: %s must pass first, and this program does not have it. Tell the user", tool, check.Tool)
			return no, "", r.Note("%s", no)
		}
		reply, err := call(r, &with, s, now, c)
		if err != nil {
			return "", "", err
		}
		sum.Took += reply.Took
		sum.ModelCosts = append(sum.ModelCosts, reply.ModelCosts...)
		sum.Taint |= with.taint(c, reply)
		sum.rules = append(sum.rules, reply.rules...)
		now.taint |= sum.Taint
		now.rules = append(slices.Clip(now.rules), reply.rules...)
		if reply.Failed && reply.Inconclusive != tools.NothingToCheck {
			no = fmt.Sprintf("%s was not run: the check %s must pass first on what it makes visible to others, and it has not:\n%s", tool, check.Tool, cmp.Or(reply.Text, "it says nothing more"))
			return no, "", r.Note("%s", strings.TrimSuffix(spelling.FirstLine(no), ":"))
		}
	}
	return "", u.Digest, nil
}

// acceptHeld asks about files that the commands of a call made and that programs outside
// the sandbox would obey, one question for each kind, and adds the decisions to the
// reply.
func acceptHeld(r *flow.Run, t *Task, s *State, now callContext, reply ToolResult, err error) (ToolResult, error) {
	if err != nil || reply.Held == nil {
		return reply, err
	}
	var kinds []turn.Held
	if err := json.Unmarshal(reply.Held, &kinds); err != nil {
		return reply, fmt.Errorf("decoding what a command made that programs obey: %w", err)
	}
	reply.Held = nil
	with := *t
	with.Checks = append(slices.Clip(t.Checks), Tool{ToolSpec: llm.ToolSpec{Name: turn.AcceptFiles}, Needs: tools.Read | tools.Write, Effect: tools.Idempotent})
	now.calls, now.caller = 1, caller{workflow: true, interrupted: turn.Again}
	now.taint |= reply.Taint
	for _, k := range kinds {
		args, err := json.Marshal(map[string]any{"files": k.Files})
		if err != nil {
			return reply, err
		}
		now.rules = append(slices.Clip(now.rules), reply.rules...)
		got, err := call(r, &with, s, now, llm.Call{Name: turn.AcceptFiles, Args: args})
		if err != nil {
			return reply, err
		}
		reply.withChecks(&got)
		reply.Denied = reply.Denied || got.Denied
		var names []string
		for i, f := range k.Files {
			name := spelling.PathLine(f.Path)
			if got.Failed {
				name += " (kept in " + spelling.PathLine(k.Kept[i]) + ")"
			}
			names = append(names, name)
		}
		if got.Failed {
			reply.Text += fmt.Sprintf("\n[the command made files that are not in the workspace, since each %s: %s; %s]", k.What, strings.Join(names, ", "), got.Text)
		} else {
			reply.Text += fmt.Sprintf("\n[the command made files, each of which %s; that was agreed to, and they are in the workspace: %s]", k.What, strings.Join(names, ", "))
		}
	}
	return reply, nil
}

// toolCall is the input of a call's step.
func (t *Task) toolCall(s *State, now callContext, c llm.Call) turn.ToolCall {
	use := turn.ToolCall{Args: c.Args, At: t.At, Permission: t.permissionContext(now), Whole: now.caller.whole}
	use.MaxResultBytes, use.Share = t.resultRoom(s, now)
	if tool := t.tool(c.Name); tool != nil {
		if tool.Needs&tools.Think != 0 {
			use.Think = t.thinking(s)
		}
		use.PlainText = tool.Needs == tools.Read && t.edits()
		use.Artifacts = t.toolInputs(s, now, tool)
	}
	return use
}

// call has a call performed, after the checks that its tool demands, and asks a person first
// if the host wants that. The answer is bound to what was shown: if the call is another by the
// time it is to run, because the host or a file is not as it was, it is asked about again.
func call(r *flow.Run, t *Task, s *State, now callContext, c llm.Call) (done ToolResult, err error) {
	var checks ToolResult // all of them together
	defer func() { done.withChecks(&checks) }()
	use := t.toolCall(s, now, c)
	unknown := ""
	if (now.caller.workflow || t.Revision >= 4) && len(now.undecided)+len(s.Unknown) > 0 {
		unknown = cmp.Or(now.undecided[callDigest(c)], s.Unknown[callDigest(c)])
	}
	var rules []permit.Rule
	for rounds := 0; ; {
		use.Permission = unknownAttempt(use.Permission, unknown)
		path := r.Next()
		reply, err := stored.Do[ToolResult](r, turn.ToolStep, c.Name, use)
		if se, ok := errors.AsType[*flow.StepError](err); ok && se.Code != turn.Gone {
			switch t.afterInterruption(now.caller, c, se) {
			case turn.Again:
			case turn.AskPerson:
				unknown = se.Path
			default:
				return t.failedCall(c, se, unknown), nil
			}
			use.Approved, use.Answers = "", nil // an approval covers one call
			continue
		}
		switch {
		case err == nil && reply.Undecided:
			reply.unknown = path
		case use.Approved == "":
			reply.unknown = unknown // it was not made again
		default:
			reply.unknown = t.unknownAfter(unknown, reply)
		}
		if reply.Inconclusive == "" && t.Revision < turn.TypedResults && reply.Failed && turn.NotRun(reply.Text) {
			reply.Inconclusive = tools.CannotCheck
		}
		if err == nil && reply.Unchecked != nil {
			if rounds++; rounds > maxCheckRounds {
				return notMadeResult(unknown, c.Name+" was not run: what it makes visible to others keeps changing while it is checked"), nil
			}
			no, digest, err := precheck(r, t, s, now, c.Name, reply.Unchecked, &checks)
			if no != "" || err != nil {
				return notMadeResult(unknown, no), err
			}
			use.Checked = digest
			continue
		}
		if err == nil && reply.UserQuestion != nil {
			answer, err := askUser(r, t, reply.UserQuestion, len(use.Answers))
			if err != nil {
				return ToolResult{}, err
			}
			use.Answers = append(slices.Clip(use.Answers), answer)
			continue
		}
		if err != nil || reply.Question == nil {
			reply.rules = rules
			return acceptHeld(r, t, s, now, reply, err)
		}
		if no := t.unattendedRefusal(reply.Question); no != "" {
			return notMadeResult(unknown, no), r.Note("%s: %s", c.Name, no)
		}
		no, denied, rule, err := approve(r, t, reply.Question)
		if err != nil {
			return ToolResult{}, err
		}
		if no != "" {
			reply := notMadeResult(unknown, no)
			reply.Denied = denied
			return reply, nil
		}
		if reply.Question.Changed {
			use.Accepted = reply.Question.Digest
		} else {
			use.Approved = reply.Question.Digest
		}
		rules = append(rules, rule...)
	}
}

// unattendedRefusal explains why a changed call is not made where nobody can accept it,
// "" if it is made.
func (t *Task) unattendedRefusal(q *Question) string {
	if !q.Changed || t.Approve == "" || t.Approve == ApproveEdits || t.Approve == ApproveAsk {
		return ""
	}
	return "not run: " + q.Why + ", and nobody is there to accept it. Go on without it."
}

// taint returns the taint of the reply to a call.
func (t *Task) taint(c llm.Call, r ToolResult) tools.Taint {
	tool := t.tool(c.Name)
	if tool == nil {
		return r.Taint
	}
	if (r.Interrupted || r.unknown != "") && tool.Needs&tools.Publish != 0 {
		r.Taint |= tools.Unconfirmed
	}
	return r.Taint | tools.Metadata{Needs: tool.Needs}.Taints()
}

// approve asks a person. The signals carry the step's path, so that an answer
// covers this call and no other. It returns words for the model if the call
// may not run, whether a person said so, and the rule of an answer that is to hold for the job.
func approve(r *flow.Run, t *Task, q *Question) (no string, denied bool, rules []permit.Rule, err error) {
	yes, deny := "approve@"+r.Next(), "deny@"+r.Next()
	sig, err := flow.AwaitAny(r, q, t.Patience, yes, deny)
	if se, ok := errors.AsType[*flow.StepError](err); ok {
		return "not run: " + se.Message + "; find a way without it", false, nil, nil
	}
	if err != nil {
		return "", false, nil, err
	}
	if sig.Name == yes {
		always, err := Always(sig.Value)
		if err != nil {
			return "not run: the approval cannot be read (" + err.Error() + "), so it approves nothing", false, nil, nil
		}
		if always && q.Always != nil {
			rules = []permit.Rule{*q.Always}
		}
		return "", false, rules, nil
	}
	var why string
	if json.Unmarshal(sig.Value, &why) != nil || why == "" {
		why = "no reason given"
	}
	return "not run: denied by a person (" + why + ")", true, nil, nil
}

// Always reports whether the value of an approval is {"always": true}, so that the rule of the question holds
// for the rest of the job. Another object is an error: what it states may narrow what is approved.
func Always(value json.RawMessage) (bool, error) {
	var how struct {
		Always bool `json:"always,omitempty"`
	}
	if !jsonObject(value) {
		return false, nil
	}
	err := stored.Decode(value, &how)
	return how.Always, err
}

func jsonObject(b json.RawMessage) bool {
	return len(b) > 0 && bytes.TrimLeft(b, " \t\r\n")[0] == '{'
}

// maxUserQuestions bounds what one call may ask: more is cancelled unasked.
const maxUserQuestions = 20

// askUser asks the user what a tool asks. The signals carry the step's path, so
// that an answer is for this call and no other.
func askUser(r *flow.Run, t *Task, q *UserQuestion, before int) (turn.UserAnswer, error) {
	out := turn.UserAnswer{ID: q.ID, Call: q.Call, Action: "cancel"}
	switch {
	case before >= maxUserQuestions:
		return out, nil
	case t.Approve == ApproveNone: // nobody is there
		out.Action = "decline"
		return out, nil
	}
	answer, decline := "answer@"+r.Next(), "decline@"+r.Next()
	sig, err := flow.AwaitAny(r, q, t.Patience, answer, decline)
	if _, late := errors.AsType[*flow.StepError](err); late {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	if sig.Name == decline {
		out.Action = "decline"
		return out, nil
	}
	out.Action, out.Content = "accept", sig.Value
	return out, nil
}

// stepFailure is the result, for the model, of a tool step that failed.
func stepFailure(tool string, se *flow.StepError) ToolResult {
	if se.Code == flow.Interrupted {
		reply := refuse("%s was interrupted: it may or may not have happened. Look before you repeat it.", tool)
		reply.Interrupted = true
		return reply
	}
	reply := refuse("%s could not be run: %s", tool, se.Message)
	reply.Took = se.Took
	return reply
}

// A ToolResult is the output of a tool step.
type ToolResult struct {
	tools.Result
	Took time.Duration `json:"took_ns,omitempty"`
	// Sandbox is the level that the tool's commands ran at, if it may run any.
	Sandbox string `json:"sandbox,omitempty"`
	// ModelCosts are the costs of the models that the tool has called.
	ModelCosts []ModelCost `json:"spent,omitempty"`
	// Repairs describe to the model how its malformed arguments were read.
	Repairs []string `json:"repairs,omitempty"`
	// Kept is set if all of Text is kept and the model is shown a part.
	Kept *struct {
		ID    string `json:"id"` // for read_result
		Bytes int    `json:"bytes"`
	} `json:"kept,omitempty"`
	// Ask is set if nothing was done because a person must approve it first.
	Question *Question `json:"ask,omitempty"`
	// UserQuestion is set if the call waits for an answer of the user.
	UserQuestion *UserQuestion `json:"asks_user,omitempty"`
	// Unchecked is set if nothing was done because checks must pass first, for the loop.
	Unchecked json.RawMessage `json:"unchecked,omitempty"`
	// Held are files that the call's commands made and that a person is asked about before
	// they come into the workspace, for the loop.
	Held json.RawMessage `json:"held,omitempty"`
	// Interrupted is set if the process died during the call: it may or may not
	// have happened. It follows from the journal and is not part of it.
	Interrupted bool `json:"-"`
	// Denied is set if a person was asked about the call and denied it. It follows from
	// their signal and is not part of the journal.
	Denied bool `json:"-"`

	unknown    string        // the path of an attempt of which nobody knows whether it happened
	rules      []permit.Rule // that the approving person has added
	report     *Report       // of a sub-agent
	concurrent bool          // it ran at once with the one before it
	shown      string        // to the model in place of Text, if it is not ""
}

// A UserQuestion is a question that a tool asks the user in the middle of a call, as the
// tools of MCP servers do.
type UserQuestion struct {
	ID   string `json:"id"`
	Call string `json:"call,omitempty"` // that waits for the answer
	// Server and Tool ask.
	Server   string          `json:"server"`
	Tool     string          `json:"asked_by"`
	Question string          `json:"question"`
	Schema   json.RawMessage `json:"schema,omitempty"` // of the answer; nil if it is yes or no
	URL      string          `json:"url,omitempty"`    // that the user is asked to open
	Fault    string          `json:"fault,omitempty"`  // what is wrong with the answer before
}

// A caller identifies the caller of a tool: a model, unless workflow is set.
type caller struct {
	workflow    bool
	interrupted turn.Interruption
	whole       bool // it reads the result's value
}

// A callContext is the part of the state that decides whether the next call may run.
type callContext struct {
	taint     tools.Taint
	rules     []permit.Rule              // added by people in the course of the job
	artifacts map[string]json.RawMessage // by the calls before, in the same answer
	calls     int                        // that share the room for results; 0 is one
	// subAgents is the number of sub-agents that earlier calls of the same answer were
	// given.
	subAgents int
	// undecided has the paths of earlier calls of the same answer with an unknown effect.
	undecided map[string]string
	// last is the digest of the call just before, in the same answer, "" if that only read.
	last string
	// failed is the tool of a change that failed before, in the same answer.
	failed string
	// caller identifies the caller, and how an interrupted call is handled.
	caller caller
}

func refuse(format string, args ...any) ToolResult {
	return ToolResult{Result: tools.Result{Failed: true, Text: fmt.Sprintf(format, args...)}}
}

// A Question is put to a person before a tool runs. It shows exactly what will run.
// Digest is the digest of all of it; an approval carries it and is valid for nothing
// else.
type Question struct {
	Tool    string            `json:"tool"`
	Args    json.RawMessage   `json:"args"`
	Needs   tools.Caps        `json:"needs"`
	Why     string            `json:"why,omitempty"`
	Dir     string            `json:"dir,omitempty"`     // where it runs
	Paths   []string          `json:"paths,omitempty"`   // what it is about, as far as its arguments tell
	Sandbox string            `json:"sandbox,omitempty"` // around a command
	Network string            `json:"network,omitempty"` // that it reaches
	Files   map[string]string `json:"files,omitempty"`   // digests of the files and artifacts that it publishes
	Preview string            `json:"preview,omitempty"` // what it changes, as the tool shows it
	Always  *permit.Rule      `json:"always,omitempty"`  // what an answer of always adds for this job
	Changed bool              `json:"changed,omitempty"` // the tool is not as it was when it was accepted
	Digest  string            `json:"digest"`
}

// A Mode states how far a job may go on its own. Rules make exceptions; no rule
// lets a job in ModePlan change anything.
type Mode string

const (
	ModePlan  Mode = "plan"  // it reads and thinks, and changes nothing
	ModeEdits Mode = "edits" // it changes files; commands and publishing are asked about; the default
	ModeAuto  Mode = "auto"  // in a sandbox its commands run unasked too
)

// Modes lists the valid values of Mode, the narrowest first.
var Modes = []Mode{ModePlan, ModeEdits, ModeAuto}

// Known reports whether m is one of [Modes].
func (m Mode) Known() bool { return slices.Contains(Modes, m) }

// Allows reports whether a tool may be used in a mode at all.
func (m Mode) Allows(t tools.Metadata) bool {
	return m != ModePlan || t.Needs&(tools.Write|tools.Shell|tools.Publish) == 0 && !t.RunsCode && t.Asks == "" && (t.Needs&tools.Exec == 0 || turn.Repeatable(t))
}

// Approve states how questions about tool calls are answered.
type Approve string

const (
	ApproveAsk   Approve = "ask"   // by a person, who is asked about every change of a file, too
	ApproveEdits Approve = "edits" // by a person; the default
	ApproveAll   Approve = "all"   // with yes; what rules deny stays denied
	ApproveNone  Approve = "none"  // with no: nobody is there
)

// Known reports whether a is a defined value.
func (a Approve) Known() bool {
	return slices.Contains([]Approve{ApproveAsk, ApproveEdits, ApproveAll, ApproveNone}, a)
}

// Permissions decide which tool calls run, and who is asked.
type Permissions struct {
	Mode     Mode          `json:"mode,omitempty"` // empty is ModeEdits
	Rules    []permit.Rule `json:"rules,omitempty"`
	Approve  Approve       `json:"approve,omitempty"`
	Patience time.Duration `json:"patience,omitempty"` // how long an approval is awaited; zero waits for ever
}
