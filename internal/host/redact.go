package host

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Guard removes secrets from the outputs of the steps of m: results and artifacts of tools before
// they are journaled, and so also from prompts; answers of models; the text of deltas, whatever
// their pieces; failures. Only known values are removed from the arguments of calls: text that
// merely looks like a secret may be the requested work. With a nil r it removes nothing.
func Guard(m flow.Mux, r *secret.Redactor) flow.Mux {
	if r == nil {
		return m
	}
	out := flow.Mux{}
	for kind, rt := range m {
		clean := r.Known().JSON // a task keeps the operator's own words
		switch kind {
		case turn.ToolStep:
			clean = func(raw json.RawMessage) (json.RawMessage, bool) { return cleanReply(r, raw) }
		case turn.ModelStep:
			clean = func(raw json.RawMessage) (json.RawMessage, bool) { return cleanAnswer(r, raw) }
		}
		perform := rt.Handler
		rt.Handler = func(ctx context.Context, s flow.Step, emit event.Sink) (json.RawMessage, error) {
			show := &deltaRedactor{new: r.Stream, emit: emit, lines: kind == turn.ToolStep}
			res, err := perform(secret.With(ctx, r), s, show.sink)
			show.end()
			if err != nil {
				return nil, cleanError(r, err)
			}
			res, _ = clean(res)
			return res, nil
		}
		out[kind] = rt
	}
	return out
}

// Clean redacts an event. Deltas are left alone: they are pieces of a text,
// which [Guard] takes care of.
func Clean(r *secret.Redactor, ev event.Event) event.Event {
	if r == nil || ev.Kind == event.Delta {
		return ev
	}
	if ev.Kind == event.Approval || ev.Kind == event.JobWaiting {
		r = r.Known() // a person has to see what only looks like a secret
	}
	ev.Name, _ = r.String(ev.Name)
	ev.Text, _ = r.String(ev.Text)
	ev.Error, _ = r.String(ev.Error)
	ev.Data, _ = r.JSON(ev.Data)
	return ev
}

// cleanReply redacts the output of a tool step and states in its taint that
// there was something.
func cleanReply(r *secret.Redactor, raw json.RawMessage) (json.RawMessage, bool) {
	var asks struct{ Ask *struct{} }
	if bytes.Contains(raw, []byte(`"ask":`)) && json.Unmarshal(raw, &asks) == nil && asks.Ask != nil {
		// The approver sees everything that will run: only the call is known, and known values
		// have been removed from it already.
		return raw, false
	}
	clean, hit := r.JSON(raw)
	if !secret.Sure(string(clean)) { // what a command printed was replaced before it came here
		return clean, hit
	}
	var reply executor.ToolResult
	if json.Unmarshal(clean, &reply) != nil {
		return clean, true
	}
	reply.Taint |= tools.Secret
	if b, err := json.Marshal(reply); err == nil {
		clean = b
	}
	return clean, true
}

func cleanAnswer(r *secret.Redactor, raw json.RawMessage) (json.RawMessage, bool) {
	if _, hit := r.JSON(raw); !hit {
		return raw, false // known values are among what was looked for
	}
	raw, known := r.Known().JSON(raw)
	var a turn.ModelResponse
	if json.Unmarshal(raw, &a) != nil {
		return raw, known
	}
	var text, thought bool
	a.Message.Text, text = r.String(a.Message.Text)
	a.Message.Thinking, thought = r.String(a.Message.Thinking)
	a.Message.Written, _ = r.String(a.Message.Written)
	for i := range a.Notes {
		a.Notes[i], _ = r.String(a.Notes[i])
	}
	a.UnreadCall, _ = r.String(a.UnreadCall)
	for name, v := range a.Artifacts {
		a.Artifacts[name], _ = r.JSON(v)
	}
	b, err := json.Marshal(a)
	if err != nil {
		return raw, known
	}
	return b, known || text || thought
}

// A cleanedError is an error whose words were redacted.
type cleanedError struct {
	words string
	err   error
}

func (e *cleanedError) Error() string { return e.words }
func (e *cleanedError) Unwrap() error { return e.err }

// cleanError redacts an error that becomes an outcome. One that states how the
// run was stopped keeps its identity.
func cleanError(r *secret.Redactor, err error) error {
	words, hit := r.String(err.Error())
	if f, ok := errors.AsType[*flow.Failure](err); ok {
		msg, dirty := r.String(f.Message)
		if !dirty {
			return err
		}
		c := *f
		c.Message = msg
		return &c
	}
	if !hit {
		return err
	}
	return &cleanedError{words, err}
}

// A deltaRedactor redacts the deltas of one step. Pieces of its text come as soon as
// nothing in them can be the beginning of a secret.
type deltaRedactor struct {
	mu   sync.Mutex
	new  func() *secret.Stream
	open []deltaStream // by their data
	emit event.Sink
	// lines is set if a delta that ends a line is to be shown at once.
	lines bool
}

// A deltaStream is one of the texts that a step's deltas are pieces of.
type deltaStream struct {
	stream *secret.Stream
	last   event.Event
}

// of returns the text that ev is a piece of: all but the answer of a model have data.
func (s *deltaRedactor) of(ev event.Event) *deltaStream {
	for i := range s.open {
		if bytes.Equal(s.open[i].last.Data, ev.Data) {
			return &s.open[i]
		}
	}
	s.open = append(s.open, deltaStream{stream: s.new(), last: ev})
	return &s.open[len(s.open)-1]
}

func (s *deltaRedactor) sink(ev event.Event) {
	if ev.Kind != event.Delta {
		s.emit(ev)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.of(ev)
	d.last = ev
	whole := s.lines && strings.HasSuffix(ev.Text, "\n")
	if ev.Text = d.stream.Add(ev.Text); whole {
		ev.Text += d.stream.End()
	}
	if ev.Text != "" {
		s.emit(ev)
	}
}

func (s *deltaRedactor) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.open {
		if text := d.stream.End(); text != "" {
			d.last.Text = text
			s.emit(d.last)
		}
	}
}

// overwritesSecret states why a call must not happen that would put the
// replacement of a secret, which the model copied from redacted text, into a file
// with that secret in it; "" if it may.
func overwritesSecret(r *secret.Redactor, p Invocation) string {
	if r == nil || p.Env.Files == nil || p.Tool.Needs&tools.Write == 0 {
		return ""
	}
	held, ok := secret.Marked(string(p.Args))
	if !ok {
		return ""
	}
	var args map[string]json.RawMessage
	if json.Unmarshal(p.Args, &args) != nil {
		return "" // the tool states what is wrong with them
	}
	for _, name := range p.Tool.Paths {
		var file string
		if json.Unmarshal(args[name], &file) != nil {
			continue
		}
		b, err := fs.ReadFile(p.Env.Files.FS(), strings.TrimPrefix(file, "./"))
		if err == nil && len(r.Find(string(b))) > 0 {
			return fmt.Sprintf("not done: %s stands for a secret of %s that you were not shown, and would be written in its place. "+
				"Change the file around it with edit_file, without quoting that part.", held, file)
		}
	}
	return ""
}

// encodeHeld encodes, by kind, the files that a call's commands made and that programs outside the
// sandbox obey; it is nil if there are none.
func encodeHeld(files []process.Held) (json.RawMessage, error) {
	if len(files) == 0 {
		return nil, nil
	}
	type kind struct {
		place int
		rule  string
	}
	all := map[kind]*turn.Held{}
	for _, f := range files {
		what, place, _ := rootfs.Obeyed(f.Path)
		of := kind{place, f.Rule}
		if f.Rule != "" {
			of.place, what = -1, "is what a person is asked about ("+f.Rule+")"
		}
		if all[of] == nil {
			all[of] = &turn.Held{What: what}
		}
		k := all[of]
		k.Files = append(k.Files, turn.HeldFile{Path: f.Path, SHA256: f.Digest, Executable: f.Executable, Rule: f.Rule, Was: f.Was})
		k.Kept = append(k.Kept, f.Kept)
	}
	var kinds []turn.Held
	for _, of := range slices.SortedFunc(maps.Keys(all), func(a, b kind) int { return cmp.Or(a.place-b.place, strings.Compare(a.rule, b.rule)) }) {
		kinds = append(kinds, *all[of])
	}
	return json.Marshal(kinds)
}
