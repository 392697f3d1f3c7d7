package script

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/llm"
)

// An asked is the request that a recorded turn answered. A conversation is identified by
// its digest, so that a turn is found whatever happened to the turns before: tools'
// requests and summaries have their own conversations.
type asked struct {
	Digest string          `json:"digest" yaml:"digest"`                   // of the conversation
	After  string          `json:"after,omitempty" yaml:"after,omitempty"` // the digest that it goes on from
	New    []messageDigest `json:"new" yaml:"new"`                         // what it has beyond that
	Tools  string          `json:"tools,omitempty" yaml:"tools,omitempty"` // offered: names with digests
}

// A messageDigest identifies a message and holds enough of it to describe a
// difference.
type messageDigest struct {
	Role   llm.Role `json:"role" yaml:"role"`
	Name   string   `json:"name,omitempty" yaml:"name,omitempty"`
	Digest string   `json:"digest" yaml:"digest"`
	Text   string   `json:"text,omitempty" yaml:"text,omitempty"` // how it begins
}

// volatilePatterns match what differs between runs and means nothing: times,
// durations, and the path of the workspace.
var volatilePatterns = []struct {
	re *lazyregexp.Regexp
	by string
}{
	{lazyregexp.New(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?`), "TIME"},
	{lazyregexp.New(`\b\d+(\.\d+)?(ns|µs|us|ms|s)\b`), "0s"},
	{lazyregexp.New(`(/[A-Za-z0-9._@+~-]+){2,}/?`), "/PATH"},
}

func sum(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:9])
}

func normalize(text string) string {
	for _, p := range volatilePatterns {
		text = p.re.ReplaceAllString(text, p.by)
	}
	return strings.TrimSpace(text)
}

func digestMessage(m *llm.Message) messageDigest {
	parts := []string{string(m.Role), m.Name, normalize(m.Text)}
	text := m.Text
	for _, c := range m.Calls {
		var b bytes.Buffer
		if json.Compact(&b, c.Args) != nil {
			b.Write(c.Args)
		}
		parts = append(parts, c.Name, b.String(), c.Raw)
		text += fmt.Sprintf(" %s(%s)", c.Name, b.String())
	}
	return messageDigest{Role: m.Role, Name: m.Name, Digest: sum(parts...), Text: clipped(strings.TrimSpace(text))}
}

// digestAll returns the messages' digests, and the conversation's up to each.
func digestAll(msgs []llm.Message) (all []messageDigest, digests []string) {
	last := ""
	for i := range msgs {
		h := digestMessage(&msgs[i])
		last = sum(last, h.Digest)
		all, digests = append(all, h), append(digests, last)
	}
	return all, digests
}

func offers(specs []llm.ToolSpec) string {
	var out []string
	for _, t := range specs {
		out = append(out, t.Name+":"+sum(t.Description, string(t.Input))[:8])
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func clipped(s string) string {
	const most = 200
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "")
	}
	return s
}

// describe names a message for people.
func (h messageDigest) describe() string {
	switch {
	case h.Role == llm.Tool:
		return "the result of " + h.Name
	case h.Role == llm.Assistant:
		return "the model's own answer"
	}
	return "the " + string(h.Role) + " message"
}

// differs describes the first difference in one sentence.
func differs(then, now []messageDigest) string {
	for i := range max(len(then), len(now)) {
		switch {
		case i >= len(now):
			return fmt.Sprintf("%s is missing, which began %q", then[i].describe(), then[i].Text)
		case i >= len(then):
			return fmt.Sprintf("%s is new: %q", now[i].describe(), now[i].Text)
		case then[i].Digest == now[i].Digest:
		case then[i].Role != now[i].Role || then[i].Name != now[i].Name:
			return fmt.Sprintf("%s has come in place of %s", now[i].describe(), then[i].describe())
		case then[i].Text == now[i].Text:
			return fmt.Sprintf("%s is another after its first %d bytes, which are %q", now[i].describe(), len(now[i].Text), now[i].Text)
		default:
			return fmt.Sprintf("%s is another: it was %q and is %q", now[i].describe(), then[i].Text, now[i].Text)
		}
	}
	return "nothing that was recorded"
}

// otherTools describes how the offered tools differ.
func otherTools(then, now string) string {
	a, b := strings.Fields(then), strings.Fields(now)
	names := func(list, without []string) (out []string) {
		for _, x := range list {
			if !slices.Contains(without, x) {
				out = append(out, x[:strings.LastIndex(x, ":")])
			}
		}
		return out
	}
	gone, came := names(a, b), names(b, a)
	var changed, words []string
	for _, n := range gone {
		if slices.Contains(came, n) {
			changed = append(changed, n)
		}
	}
	for _, p := range []struct {
		what  string
		names []string
	}{{"described otherwise", changed}, {"missing", slices.DeleteFunc(gone, func(n string) bool { return slices.Contains(changed, n) })},
		{"new", slices.DeleteFunc(came, func(n string) bool { return slices.Contains(changed, n) })}} {
		if len(p.names) > 0 {
			words = append(words, p.what+": "+strings.Join(p.names, ", "))
		}
	}
	return "other tools are offered; " + strings.Join(words, "; ")
}

// Recording returns a script's recording, nil if it was written.
func (m *Model) Recording() *Recording { return m.recording }

// recall finds the recorded answer to a request. A request that was not
// recorded is the first divergence from the recorded run: the error has the
// turn and the difference.
func (m *Model) recall(req *llm.Request) (*turn, error) {
	all, digests := digestAll(req.Messages)
	if len(all) == 0 {
		return nil, m.diverged(1, "the conversation is empty")
	}
	tools := offers(req.Tools)
	last := digests[len(digests)-1]
	var sameText *turn
	at := 0
	for i, p := range m.turns {
		if p.answer.Asked.Digest != last {
			continue
		}
		if p.answer.Asked.Tools == tools {
			return p.answer, nil
		}
		sameText, at = p.answer, i+1
	}
	if sameText != nil {
		return nil, m.diverged(at, otherTools(sameText.Asked.Tools, tools))
	}
	for k := len(digests) - 1; k >= 0; k-- {
		from := ""
		if k > 0 {
			from = digests[k-1]
		}
		ended := 0
		for i, p := range m.turns {
			switch a := p.answer.Asked; {
			case a.After == from:
				return nil, m.diverged(i+1, differs(a.New, all[k:]))
			case a.Digest == from:
				ended = i + 1
			}
		}
		if ended > 0 {
			return nil, &llm.Error{Kind: exhausted, Provider: "script",
				Message: fmt.Sprintf("%s: the recorded job made no request after turn %d, but this one does: %s", m.name, ended, differs(nil, all[k:])),
				Hint:    "record it anew with --record"}
		}
	}
	return nil, m.diverged(1, "nothing like it was asked")
}

func (m *Model) diverged(turn int, what string) error {
	return &llm.Error{Kind: mismatch, Provider: "script",
		Message: fmt.Sprintf("%s: the run differs from the recorded one at turn %d: %s", m.name, turn, what),
		Hint:    "if that is as it should be, record it anew with --record"}
}
