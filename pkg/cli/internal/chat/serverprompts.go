package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	loop "github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/executor"
)

// A serverPrompt is a prompt of an MCP server that is a command: /SERVER/PROMPT.
type serverPrompt struct {
	name, about string
	args        []string
}

// serverPrompts caches the prompts of the servers that were started before, as last read.
type serverPrompts struct {
	list    []serverPrompt
	reading bool
	then    func() // of the last that asked meanwhile
}

// withServerPrompts reads the prompts of servers elsewhere, and calls then on the
// owner's goroutine if others were known so far.
func (s *Session) withServerPrompts(then func()) {
	p := &s.prompts
	p.then = then
	if p.reading {
		return
	}
	p.reading = true
	dir := s.Dir
	s.do(func(context.Context) func() {
		list := s.readServerPrompts(dir)
		return func() {
			same := slices.EqualFunc(list, p.list, func(a, b serverPrompt) bool {
				return a.name == b.name && a.about == b.about && slices.Equal(a.args, b.args)
			})
			p.list, p.reading = list, false
			if !same {
				p.then()
			}
		}
	})
}

// readServerPrompts are the prompts of the servers that there are.
func (s *Session) readServerPrompts(dir string) []serverPrompt {
	out, _ := s.readServers(dir)
	return out
}

// readServers waits until completionTime at most, and not for a session that has
// ended. It also reports whether a server is known to be none. Any goroutine may
// call it.
func (s *Session) readServers(dir string) (out []serverPrompt, none func(server string) bool) {
	ctx, cancel := context.WithTimeout(s.ctx, completionTime)
	defer cancel()
	l, err := s.c.ToolServers(ctx, adroit.Scope{Dir: dir})
	if err != nil {
		return nil, func(string) bool { return false } // the command says what is wrong
	}
	for _, server := range l.Items {
		for _, p := range server.Prompts {
			one := serverPrompt{name: server.Name + "/" + p.Name, about: kit.FirstSentence(p.Description)}
			for _, a := range p.Arguments {
				word := a.Name + "=…"
				if !a.Required {
					word = "[" + word + "]"
				}
				one.args = append(one.args, word)
			}
			out = append(out, one)
		}
	}
	return out, func(name string) bool {
		return len(l.Problems) == 0 && !slices.ContainsFunc(l.Items, func(i adroit.ToolServerInfo) bool { return i.Name == name })
	}
}

// serverPrompt sends a prompt of a server, with its arguments as key=value or in
// their order. Where there is no such server, line is a message that begins with a
// path.
func (s *Session) serverPrompt(server, prompt, words, line string) {
	dir := s.Dir
	s.do(func(context.Context) func() {
		prompts, none := s.readServers(dir)
		if none(server) {
			return func() { s.send(line) }
		}
		args, err := arguments(prompts, server+"/"+prompt, words)
		var text string
		if err == nil { // a server may be silent: leaving does not wait for it
			text, err = s.c.ToolServerPrompt(s.ctx, adroit.ToolServerPrompt{Named: adroit.Named{Scope: adroit.Scope{Dir: dir}, Name: server}, Prompt: prompt, Args: args})
		}
		return func() {
			if err != nil {
				s.fail(err)
				return
			}
			s.send(text)
		}
	})
}

// arguments are the words for the prompt of this name.
func arguments(known []serverPrompt, prompt, words string) (map[string]string, error) {
	args := map[string]string{}
	var names []string
	if i := slices.IndexFunc(known, func(p serverPrompt) bool { return p.name == prompt }); i >= 0 {
		for _, a := range known[i].args {
			name, _, _ := strings.Cut(strings.Trim(a, "[]"), "=")
			names = append(names, name)
		}
	}
	for i, w := range fields(words) {
		key, value, ok := strings.Cut(w, "=")
		switch {
		case ok:
			args[key] = value
		case i < len(names):
			args[names[i]] = w
		default:
			return nil, fmt.Errorf("the prompt %s has no argument for %q", prompt, w)
		}
	}
	return args, nil
}

// Bounds of completion.
const (
	maxChoices     = 6
	completionTime = 2 * time.Second
)

// A Completion lists the candidates at the cursor.
type Completion struct {
	Start   int // in the text before the cursor, in bytes, of what a choice replaces
	Choices []Choice
	Pick    bool // Enter takes the choice, and what was typed finds it
}

// A Choice is one completion, and what it is.
type Choice struct{ Text, About string }

// Complete completes the text before the cursor to a command, or to a file behind @. It
// calls then on the owner's goroutine, and again when more candidates are found.
func (s *Session) Complete(before string, then func(Completion)) {
	if word, ok := strings.CutPrefix(before, "/"); ok && !strings.ContainsAny(word, " \n") {
		show := func() { then(Completion{Choices: s.named(word, s.kept)}) }
		if s.kept != nil {
			show()
		} else {
			s.withTemplates(func([]template, error) { show() }) // Enter reports what is wrong with them
		}
		s.withServerPrompts(show)
		return
	}
	if strings.HasPrefix(before, "/") && !strings.Contains(before, "\n") {
		name, _ := commandName(before)
		if find := s.arguments(name); find != nil {
			start := len(name) + 2
			words := before[start:]
			s.do(func(ctx context.Context) func() {
				ctx, cancel := context.WithTimeout(ctx, completionTime)
				defer cancel()
				found := find(ctx, words)
				c := Completion{Start: start, Choices: found[:min(len(found), maxChoices)], Pick: name == "resume" || name == "fork"}
				return func() { then(c) }
			})
			return
		}
	}
	start, word, ok := mentioned(before)
	if !ok {
		then(Completion{})
		return
	}
	in := s.Dir
	s.do(func(ctx context.Context) func() {
		c := Completion{Start: start}
		for _, name := range s.files(ctx, in, word) {
			c.Choices = append(c.Choices, Choice{Text: loop.MentionOf(name)})
		}
		return func() { then(c) }
	})
}

// mentioned returns where the text before the cursor mentions a file, and the part of its path that
// is there: blanks in it are behind a backslash, or between quotes that are still open.
func mentioned(before string) (start int, path string, ok bool) {
	line := strings.LastIndexByte(before, '\n') + 1
	if i := strings.LastIndex(before[line:], `@"`); i >= 0 && !strings.Contains(before[line+i+2:], `"`) {
		return line + i, before[line+i+2:], true
	}
	for i, r := range before {
		if unicode.IsSpace(r) && (i == 0 || before[i-1] != '\\') {
			start = i + utf8.RuneLen(r)
		}
	}
	path, ok = strings.CutPrefix(before[start:], "@")
	return start, strings.ReplaceAll(path, `\ `, " "), ok
}

// files are some of those whose path has word in it, those first whose name begins
// with it, then directories whose name does. The tool that lists files bounds what it looks at and returns.
func (s *Session) files(ctx context.Context, in, word string) (found []string) {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	plain := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`*?[]{}\`, r) {
			return -1
		}
		return r
	}, word)
	dir, name := "", plain
	if i := strings.LastIndexByte(plain, '/'); i >= 0 {
		dir, name = plain[:i+1], plain[i+1:]
	}
	seen := map[string]bool{}
	under := dir + name + "*/**"
	for _, glob := range []string{dir + name + "*", under, dir + "**/" + name + "*", dir + "**/*" + name + "*"} {
		args, _ := json.Marshal(map[string]string{"glob": glob}) // strings always can be
		r, err := s.c.CallTool(ctx, adroit.ToolCall{Name: "list_files", Args: args, Dir: in})
		if err != nil || r.Failed {
			return found
		}
		var listed struct {
			Files []string `json:"files"`
		}
		if json.Unmarshal(r.Value, &listed) != nil {
			return found
		}
		for _, l := range listed.Files {
			if first, _, inside := strings.Cut(strings.TrimPrefix(l, dir), "/"); glob == under && inside {
				l = dir + first + "/"
			}
			if seen[l] || kit.SanitizeLine(l) != l {
				continue
			}
			if seen[l] = true; len(found) < maxChoices {
				found = append(found, l)
			}
		}
		if len(found) == maxChoices {
			break
		}
	}
	return found
}

// arguments returns what finds the arguments of a command by words, nil if it has none to find.
// It is called elsewhere.
func (s *Session) arguments(name string) func(ctx context.Context, words string) []Choice {
	dir, trusted, said := s.Dir, s.Trust, s.messages()
	switch name {
	case "resume":
		return func(ctx context.Context, words string) []Choice { return s.conversations(ctx, dir, words) }
	case "fork":
		return func(_ context.Context, words string) []Choice {
			if slices.ContainsFunc(said, func(c Choice) bool { return c.Text == words }) {
				return nil
			}
			return filter(said, words)
		}
	case "model":
		return func(ctx context.Context, words string) []Choice { return filter(s.models.list(ctx, s.c), words) }
	case "agent":
		return func(ctx context.Context, words string) []Choice {
			return s.agentsWith(ctx, adroit.Scope{Dir: dir, Trust: trusted}, words)
		}
	case "mode":
		return func(_ context.Context, words string) (found []Choice) {
			for _, m := range executor.Modes {
				if strings.HasPrefix(string(m), words) {
					found = append(found, Choice{Text: string(m)})
				}
			}
			return found
		}
	}
	return nil
}

// filter returns those of the choices that have all of the words: first those whose names, behind a
// provider perhaps, begin with them, then those whose names have them.
func filter(list []Choice, words string) []Choice {
	found := slices.DeleteFunc(list, func(c Choice) bool { return !hasAll(c.Text+" "+c.About, words) })
	rank := func(c Choice) int {
		switch {
		case strings.Contains("/"+strings.ToLower(c.Text), "/"+strings.ToLower(strings.TrimSpace(words))):
			return 0
		case hasAll(c.Text, words):
			return 1
		}
		return 2
	}
	slices.SortStableFunc(found, func(a, b Choice) int { return cmp.Compare(rank(a), rank(b)) })
	return found
}

// agentsWith lists the agents that have all of the words.
func (s *Session) agentsWith(ctx context.Context, in adroit.Scope, words string) (found []Choice) {
	list, err := s.c.Agents(ctx, in)
	if err != nil {
		return nil // the command reports why
	}
	for _, a := range list.Items {
		found = append(found, Choice{a.Name, kit.FirstSentence(a.Description)})
	}
	return filter(found, words)
}

// modelList caches the models that servers list. Any goroutine may use it.
type modelList struct {
	mu    sync.Mutex
	at    time.Time
	found []Choice
}

// modelsKept is the time for which a list of models is not asked for again.
const modelsKept = time.Minute

// list returns the models that can be asked by their names.
func (l *modelList) list(ctx context.Context, c adroit.Client) []Choice {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.at) < modelsKept {
		return slices.Clone(l.found)
	}
	list, err := c.Models(ctx)
	if err != nil {
		return nil // the command reports why
	}
	l.at, l.found = time.Now(), nil
	for _, m := range list {
		if m.Lacks == "" {
			l.found = append(l.found, Choice{m.Model, m.Note})
		}
	}
	return slices.Clone(l.found)
}
