package acp

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"

	sdk "github.com/coder/acp-go-sdk"
)

// Answers to a question about a call.
const (
	once   = "once"
	always = "always"
	deny   = "deny"
)

// ask has the person answer a question of the job. Who cancels the turn there has
// denied the call, so that the next prompt is not about it again. A question that the
// editor leaves by going away, or by closing the session, waits on.
func (s *server) ask(ctx context.Context, ses *session, t *translator, q *jobs.Question) (answered bool, err error) {
	req := sdk.RequestPermissionRequest{SessionId: ses.id}
	var about executor.Question
	if json.Unmarshal(q.About, &about) == nil && about.Tool != "" && signal(q, "approve") != "" && signal(q, "deny") != "" {
		req.ToolCall, req.Options = t.question(about), options(about)
	} else {
		req.ToolCall = sdk.ToolCallUpdate{ToolCallId: sdk.ToolCallId(q.Path), Title: sdk.Ptr("The job waits for an answer"), Content: textContent(readable(q.About)), Status: sdk.Ptr(sdk.ToolCallStatusPending)}
		for _, name := range q.Signals {
			short, _, _ := strings.Cut(name, "@")
			req.Options = append(req.Options, sdk.PermissionOption{OptionId: sdk.PermissionOptionId(name), Name: short, Kind: sdk.PermissionOptionKindAllowOnce})
		}
	}
	res, err := s.conn.RequestPermission(ctx, req)
	if ctx.Err() != nil || err == nil && res.Outcome.Selected == nil {
		if full := signal(q, "deny"); full != "" && s.there(ses) {
			t.denied()
			return false, s.answer(ctx, ses, t, q, adroit.Signal{Name: full, Value: json.RawMessage(`"cancelled in the editor"`)})
		}
		return false, nil
	}
	if err != nil {
		return false, err
	}
	sig := adroit.Signal{Name: string(res.Outcome.Selected.OptionId)}
	switch sig.Name {
	case once:
		sig.Name = signal(q, "approve")
	case always:
		sig.Name, sig.Value = signal(q, "approve"), json.RawMessage(`{"always":true}`)
	case deny:
		sig.Name = signal(q, "deny")
		t.denied()
	}
	if signal(q, sig.Name) == "" {
		return false, problem.Invalidf("", "the editor answers %q, which was not offered", res.Outcome.Selected.OptionId)
	}
	err = s.answer(ctx, ses, t, q, sig)
	return err == nil, err
}

// answer answers a question of the job. If another surface was faster, that answer
// holds, and the turn goes on with it.
func (s *server) answer(ctx context.Context, ses *session, t *translator, q *jobs.Question, sig adroit.Signal) error {
	sig.Question, sig.About = q.Path, q.About
	_, err := s.c.Signal(context.WithoutCancel(ctx), ses.job, sig)
	if e := problem.AsError(err); e != nil && (e.Kind == problem.Answered || e.Kind == problem.Ended) {
		t.elsewhere, err = true, nil
	}
	return err
}

// there reports whether the editor is there, and has the session.
func (s *server) there(ses *session) bool {
	select {
	case <-s.conn.Done():
		return false
	default:
	}
	ses.mu.Lock()
	defer ses.mu.Unlock()
	return s.ctx.Err() == nil && !ses.closed
}

// signal is the full name of a signal that a question waits for, "" if it does not.
func signal(q *jobs.Question, name string) string {
	for _, full := range q.Signals {
		if short, _, _ := strings.Cut(full, "@"); full == name || short == name {
			return full
		}
	}
	return ""
}

// options are the answers to a question about a call. Always is for this job, and
// for what its name says.
func options(q executor.Question) []sdk.PermissionOption {
	out := []sdk.PermissionOption{{OptionId: once, Name: "Allow once", Kind: sdk.PermissionOptionKindAllowOnce}}
	if q.Always != nil {
		out = append(out, sdk.PermissionOption{OptionId: always, Name: "Always in this conversation: " + oneLine(q.Always.String()), Kind: sdk.PermissionOptionKindAllowAlways})
	}
	return append(out, sdk.PermissionOption{OptionId: deny, Name: "Deny", Kind: sdk.PermissionOptionKindRejectOnce})
}

// question is a call as a person is asked about it: all of what will run.
func (t *translator) question(q executor.Question) sdk.ToolCallUpdate {
	title, where := t.about(q.Tool, q.Args)
	id := t.asked.id
	if id == "" {
		id = "question-" + q.Digest
		t.asked = askedCall{id: id, name: q.Tool}
		t.send(sdk.StartToolCall(sdk.ToolCallId(id), title, sdk.WithStartKind(t.kind(q.Tool)), sdk.WithStartStatus(sdk.ToolCallStatusPending)))
	}
	var lines []string
	for _, l := range []struct{ name, value string }{{"why", q.Why}, {"in", q.Dir}, {"sandbox", q.Sandbox}, {"network", q.Network}} {
		if l.value != "" {
			lines = append(lines, l.name+": "+l.value)
		}
	}
	lines = append(lines, readable(q.Args))
	content := textContent(strings.Join(lines, "\n"))
	for _, f := range splitDiff(q.Preview) {
		old := []string{f.old}
		if f.old == "" { // it is not there yet
			old = nil
		}
		content = append(content, sdk.ToolDiffContent(filepath.Join(t.dir, filepath.FromSlash(f.path)), f.new, old...))
	}
	if q.Preview == "" {
		content = append(content, editDiffs(q.Tool, q.Args, t.dir)...)
	}
	return sdk.ToolCallUpdate{ToolCallId: sdk.ToolCallId(id), Title: &title, Kind: sdk.Ptr(t.kind(q.Tool)), Status: sdk.Ptr(sdk.ToolCallStatusPending),
		RawInput: q.Args, Content: content, Locations: where}
}

// editDiffs returns the changes that an edit would make, judged by its arguments.
func editDiffs(tool string, args json.RawMessage, dir string) (out []sdk.ToolCallContent) {
	type edit struct{ Old, New string }
	var a struct {
		edit
		Path, Content string
		Edits         []edit
	}
	if json.Unmarshal(args, &a) != nil || !filepath.IsLocal(a.Path) || len(args) > maxDiff {
		return nil
	}
	file := filepath.Join(dir, filepath.FromSlash(a.Path))
	switch tool {
	case "edit_file", "edit_long_file":
		for _, e := range append([]edit{a.edit}, a.Edits...) {
			if e.Old != e.New {
				out = append(out, sdk.ToolDiffContent(file, e.New, e.Old))
			}
		}
	case "write_file":
		if old, err := readIn(dir, a.Path, maxDiff); err == nil {
			return []sdk.ToolCallContent{sdk.ToolDiffContent(file, a.Content, old)}
		}
		if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
			return []sdk.ToolCallContent{sdk.ToolDiffContent(file, a.Content)}
		}
	}
	return out
}

// denied ends the call that was asked about.
func (t *translator) denied() {
	if t.asked.id == "" {
		return
	}
	t.send(sdk.UpdateToolCall(sdk.ToolCallId(t.asked.id), sdk.WithUpdateStatus(sdk.ToolCallStatusFailed), sdk.WithUpdateContent(textContent("denied"))))
	id := t.asked.id
	t.asked = askedCall{}
	t.drop(id)
}

func (t *translator) drop(id string) {
	for i, path := range t.open {
		if path == id {
			t.open = append(t.open[:i], t.open[i+1:]...)
			return
		}
	}
}

// readable is JSON with line ends where its texts have them.
func readable(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var fields map[string]any
	if json.Unmarshal(raw, &fields) != nil {
		return string(raw)
	}
	b, err := json.MarshalIndent(fields, "", "  ")
	if err != nil {
		return string(raw)
	}
	return string(b)
}

// permit asks about what a model that works itself is about to do. It does not say
// in which job: so there must be one turn alone.
func (s *server) permit(ctx context.Context, about []byte) (no string, err error) {
	const nobody = "nobody can be asked in this editor; find a way without it"
	s.mu.Lock()
	var at *session
	n := 0
	for _, ses := range s.sessions {
		ses.mu.Lock()
		if ses.stop != nil {
			at, n = ses, n+1
		}
		ses.mu.Unlock()
	}
	s.mu.Unlock()
	var q executor.Question
	if n != 1 || json.Unmarshal(about, &q) != nil {
		return nobody, nil
	}
	q.Always = nil
	t := s.translator(at)
	res, err := s.conn.RequestPermission(ctx, sdk.RequestPermissionRequest{SessionId: at.id, ToolCall: t.question(q), Options: options(q)})
	if err != nil {
		return "", err
	}
	if sel := res.Outcome.Selected; sel == nil || sel.OptionId != once {
		t.denied()
		return "denied by a person; find a way without it", nil
	}
	t.send(sdk.UpdateToolCall(sdk.ToolCallId(t.asked.id), sdk.WithUpdateStatus(sdk.ToolCallStatusCompleted)))
	return "", nil
}

// toolKinds are the kinds of the tools that there are, by what they need.
func toolKinds(ctx context.Context, c adroit.Client) map[string]sdk.ToolKind {
	kinds := map[string]sdk.ToolKind{"delete_file": sdk.ToolKindDelete, "move_file": sdk.ToolKindMove, "search": sdk.ToolKindSearch}
	list, err := c.Tools(ctx)
	if err != nil {
		return kinds
	}
	for _, t := range list.Items {
		if kinds[t.Name] != "" {
			continue
		}
		switch {
		case strings.Contains(t.Needs, "exec") || strings.Contains(t.Needs, "shell"):
			kinds[t.Name] = sdk.ToolKindExecute
		case strings.Contains(t.Needs, "write"):
			kinds[t.Name] = sdk.ToolKindEdit
		case strings.Contains(t.Needs, "net"):
			kinds[t.Name] = sdk.ToolKindFetch
		case strings.Contains(t.Needs, "read"):
			kinds[t.Name] = sdk.ToolKindRead
		}
	}
	return kinds
}
