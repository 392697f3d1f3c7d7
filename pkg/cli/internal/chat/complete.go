package chat

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// Bounds of completion.
const (
	maxChoices     = 6
	completionTime = 2 * time.Second
)

// A Completion is what could be meant at the cursor.
type Completion struct {
	Start   int // in the text before the cursor, in bytes, of what a choice replaces
	Choices []Choice
}

// A Choice is one completion, and what it is.
type Choice struct{ Text, About string }

// Complete finds what the text before the cursor could become: a command, or a file
// behind @. then gets it on the owner's goroutine, and once more what was found late.
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
	start := strings.LastIndexAny(before, " \n\t") + 1
	word, ok := strings.CutPrefix(before[start:], "@")
	if !ok {
		then(Completion{})
		return
	}
	in := s.Dir
	s.do(func(ctx context.Context) func() {
		c := Completion{Start: start}
		for _, name := range s.files(ctx, in, word) {
			c.Choices = append(c.Choices, Choice{Text: "@" + name})
		}
		return func() { then(c) }
	})
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
		for l := range strings.Lines(r.Text) {
			l = strings.TrimSuffix(l, "\n")
			if first, _, inside := strings.Cut(strings.TrimPrefix(l, dir), "/"); glob == under && inside {
				l = dir + first + "/"
			}
			if l == "" || strings.HasPrefix(l, "[") || l == "no file matches" || seen[l] || kit.SanitizeLine(l) != l {
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
