package cliagent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/pkg/llm"
)

// Args are the arguments of a program of format jsonl. Those whose placeholder
// has nothing to stand for are left out: {model}, {session}, {system}.
type Args struct {
	Read    []string // with no right but to read
	Write   []string // with the right to change files
	Run     []string // with the right to run commands too
	Model   []string // with {model}
	Session []string // with {session}
	System  []string // with {system}; without it the system's words precede the prompt
	Prompt  []string // with {prompt}; default {prompt} alone
}

// lines is a program that was described in the configuration. Each line of its
// stream is an object; one field says what it is.
type lines struct {
	args   Args
	fields map[string][]string // ours to the path of theirs
	types  map[string]string   // theirs to ours
}

// lineFields maps the fields of a line of format jsonl to their default paths.
var lineFields = map[string]string{
	"type": "type", "session": "session_id", "text": "text", "id": "id", "name": "name", "args": "args", "status": "status", "output": "output",
	"code": "exit_code", "path": "path", "change": "change", "in": "usage.in", "out": "usage.out", "cached": "usage.cached", "cost": "usage.cost_usd",
	"error": "error", "http": "http_status",
}

// lineTypes lists the types of lines of format jsonl. failed and done are terminal.
var lineTypes = []string{"session", "message", "thinking", "turn", "tool.started", "tool.finished", "file.changed", "usage", "warning", "retry", "done", "failed"}

func newLines(a Args, fields, types map[string]string) (lines, error) {
	l := lines{args: a, fields: map[string][]string{}, types: map[string]string{}}
	if l.args.Prompt == nil {
		l.args.Prompt = []string{"{prompt}"}
	}
	for name, path := range lineFields {
		l.fields[name] = strings.Split(path, ".")
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if _, ok := lineFields[name]; !ok {
			return l, fmt.Errorf("fields: there is no %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(lineFields)), ", "))
		}
		l.fields[name] = strings.Split(fields[name], ".")
	}
	for _, t := range lineTypes {
		l.types[t] = t
	}
	for _, theirs := range slices.Sorted(maps.Keys(types)) {
		if !slices.Contains(lineTypes, types[theirs]) {
			return l, fmt.Errorf("types: %s is %q; it is one of %s", theirs, types[theirs], strings.Join(lineTypes, ", "))
		}
		l.types[theirs] = types[theirs]
	}
	for _, p := range []struct {
		name, holder string
		args         []string
	}{{"model", "{model}", a.Model}, {"session", "{session}", a.Session}, {"system", "{system}", a.System}, {"prompt", "{prompt}", l.args.Prompt}} {
		if p.args != nil && !strings.Contains(strings.Join(p.args, "\x00"), p.holder) {
			return l, fmt.Errorf("args: %s says nowhere %s", p.name, p.holder)
		}
	}
	return l, nil
}

func (lines) keys() []string { return nil }

func (l lines) command(o invocation) (commandLine, error) {
	var args []string
	put := func(words []string, holder, value string) {
		if value == "" && holder != "" {
			return
		}
		for _, w := range words {
			if holder != "" {
				w = strings.ReplaceAll(w, holder, value)
			}
			args = append(args, w)
		}
	}
	switch {
	case o.Access.Run && o.Access.Write && l.args.Run != nil:
		put(l.args.Run, "", "")
	case o.Access.Write:
		put(l.args.Write, "", "")
	default:
		put(l.args.Read, "", "")
	}
	put(l.args.Model, "{model}", o.Model)
	put(l.args.Session, "{session}", o.Session)
	prompt := o.promptWithSystem()
	if l.args.System != nil {
		put(l.args.System, "{system}", o.System)
		prompt = o.Prompt
	}
	if len(prompt) > most {
		return commandLine{args: args, stdin: []byte(prompt)}, nil
	}
	put(l.args.Prompt, "{prompt}", notAFlag(prompt))
	return commandLine{args: args}, nil
}

// at is the value at a path of a line, nil if there is none.
func (l lines) at(line json.RawMessage, field string) json.RawMessage {
	for _, key := range l.fields[field] {
		var m map[string]json.RawMessage
		if json.Unmarshal(line, &m) != nil {
			return nil
		}
		line = m[key]
	}
	return line
}

func (l lines) text(line []byte, field string) string {
	raw := l.at(line, field)
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if raw = bytes.TrimSpace(raw); string(raw) == "null" {
		return ""
	}
	return string(raw)
}

func (l lines) number(line []byte, field string) (n float64) {
	if json.Unmarshal(l.at(line, field), &n) != nil {
		return 0
	}
	return max(n, 0)
}

func (l lines) read(s *run, line []byte) {
	s.identify(l.text(line, "session"), s.program)
	id, name, text := l.text(line, "id"), l.text(line, "name"), l.text(line, "text")
	switch l.types[l.text(line, "type")] {
	case "message":
		s.text(text)
	case "thinking":
		s.think(text)
	case "turn":
		s.turn()
	case "tool.started":
		s.start(id, name, l.text(line, "args"))
	case "tool.finished":
		var code *int
		var n int
		if json.Unmarshal(l.at(line, "code"), &n) == nil && l.at(line, "code") != nil {
			code = &n
		}
		status := l.text(line, "status")
		switch {
		case status == extagent.StatusOK || status == extagent.StatusError || status == extagent.StatusDenied:
		case status == "" && code != nil && *code == 0:
			status = extagent.StatusOK
		case status == "" && code != nil:
			status = extagent.StatusError
		default:
			status = extagent.StatusUnknown
		}
		s.finish(id, name, status, code, l.text(line, "output"))
	case "file.changed":
		s.file(l.text(line, "path"), l.text(line, "change"))
	case "usage":
		l.count(s, line)
	case "warning":
		s.warn("%s", text)
	case "retry":
		s.retry("%s", text)
	case "done":
		l.count(s, line)
		if s.answer() == "" {
			s.text(text)
		}
		s.end(nil)
	case "failed":
		l.count(s, line)
		f := blame(l.text(line, "error"))
		if n := int(l.number(line, "http")); n > 0 {
			f.status = n
			f = f.judge()
		}
		s.end(f)
	}
}

func (l lines) count(s *run, line []byte) {
	u := llm.Usage{In: int(l.number(line, "in")), Out: int(l.number(line, "out")), Cached: int(l.number(line, "cached"))}
	if cost := l.number(line, "cost"); u != (llm.Usage{}) || cost > 0 {
		s.spend(u, cost)
	}
}

func (lines) exited(s *run, code int, stderr string) {
	if words := lastLine(stderr); s.session == "" && !s.acted && code != 0 && words != "" {
		f := blame(words)
		f.lost = s.began != "" && strings.Contains(strings.ToLower(words), "session")
		s.end(f)
	}
}
