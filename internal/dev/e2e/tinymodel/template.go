package tinymodel

import (
	"fmt"
	"strings"
)

// A Turn is the model's output when the conversation has as many of its messages as there are
// turns before this one. The last turn is repeated.
type Turn struct {
	// Say is the exact output, tags included: a tool call is <tool_call>{"name": …, "arguments":
	// {…}}</tool_call>.
	Say string
	// If, when set, makes the model say Then instead of Say after a last tool result that is
	// exactly If, so that a test sees which result reached the model.
	If, Then string
}

// head renders a conversation in the form Hermes and Qwen models use, so that
// the size of prompts, their common beginnings and their truncation are
// realistic. It counts the model's messages in $n and keeps the last tool
// result in $last.
const head = `{{- if or .System .Tools }}<|im_start|>system
{{ .System }}
{{- if .Tools }}

# Tools
<tools>
{{- range .Tools }}
{"type": "function", "function": {{ json .Function }}}
{{- end }}
</tools>
{{- end }}<|im_end|>
{{ end }}
{{- $n := "" }}{{- $last := "" }}
{{- range .Messages }}
{{- if eq .Role "user" }}<|im_start|>user
{{ .Content }}<|im_end|>
{{ else if eq .Role "assistant" }}{{ $n = printf "%sx" $n }}<|im_start|>assistant
{{ if .Thinking }}<think>{{ .Thinking }}</think>{{ end }}{{ .Content }}
{{- if .ToolCalls }}
{{- range .ToolCalls }}<tool_call>
{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}
</tool_call>
{{- end }}
{{- end }}<|im_end|>
{{ else if eq .Role "tool" }}{{ $last = .Content }}<|im_start|>user
<tool_response>
{{ .Content }}
</tool_response><|im_end|>
{{ end }}
{{- end }}<|im_start|>assistant
`

// Template writes the chat template, in Ollama's form, of a tape that plays
// turns.
func Template(turns []Turn) (string, error) { return Vocabulary(nil).Template(turns) }

// Template is like [Template], for a model with the vocabulary.
func (v Vocabulary) Template(turns []Turn) (string, error) { return v.play(head, turns) }

// Plain is like [Template], for a model that knows no tools and does not think.
func Plain(turns []Turn) (string, error) { return Vocabulary(nil).Plain(turns) }

// Plain is like [Plain], for a model with the vocabulary.
func (v Vocabulary) Plain(turns []Turn) (string, error) { return v.play(plainHead, turns) }

// Endless writes the template of a model that repeats text and never stops by itself.
func Endless(text string) string {
	return plainHead + "{{ " + quote(strings.Repeat(text, Period/len(text)+1)[:Period]) + " }}"
}

const plainHead = `{{- if .System }}<|im_start|>system
{{ .System }}<|im_end|>
{{ end }}
{{- $n := "" }}{{- $last := "" }}
{{- range .Messages }}
{{- if eq .Role "assistant" }}{{ $n = printf "%sx" $n }}{{ end }}<|im_start|>{{ .Role }}
{{ .Content }}<|im_end|>
{{ end }}<|im_start|>assistant
`

func (v Vocabulary) play(head string, turns []Turn) (string, error) {
	if len(turns) == 0 {
		return "", fmt.Errorf("tinymodel: a model needs at least one turn")
	}
	var b strings.Builder
	b.WriteString(head)
	for i, t := range turns {
		say, err := v.tape(t.Say)
		if err != nil {
			return "", fmt.Errorf("turn %d: %w", i+1, err)
		}
		switch {
		case len(turns) == 1:
			b.WriteString("{{ if true }}")
		case i == 0:
			b.WriteString("{{ if eq (len $n) 0 }}")
		case i < len(turns)-1:
			fmt.Fprintf(&b, "{{ else if eq (len $n) %d }}", i)
		default:
			b.WriteString("{{ else }}")
		}
		if t.If == "" {
			b.WriteString(say)
			continue
		}
		then, err := v.tape(t.Then)
		if err != nil {
			return "", fmt.Errorf("turn %d: %w", i+1, err)
		}
		fmt.Fprintf(&b, "{{ if eq $last %s }}%s{{ else }}%s{{ end }}", quote(t.If), then, say)
	}
	b.WriteString("{{ end }}")
	return b.String(), nil
}

// tape returns a template that renders script, the end token and padding, exactly Period tokens
// long.
func (v Vocabulary) tape(script string) (string, error) {
	n := v.Tokens(script) + 1
	if n > Period {
		return "", fmt.Errorf("tinymodel: the script has %d tokens, the tape holds %d", n-1, Period-1)
	}
	return "{{ " + quote(script+"<|im_end|>"+strings.Repeat("<|pad|>", Period-n)) + " }}", nil
}

// quote writes s for a template, where a backquoted string is the only kind
// that needs no escapes.
func quote(s string) string {
	parts := strings.Split(s, "`")
	if len(parts) == 1 {
		return "`" + s + "`"
	}
	return "(print `" + strings.Join(parts, "` \"`\" `") + "`)"
}

// Head returns the template of a model with free output.
func Head() string { return head }
