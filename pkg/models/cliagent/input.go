package cliagent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/llm"
)

// A session identifies the program's own conversation. An answer carries it.
type session struct {
	ID string `json:"id"`
	// Total is its usage so far, for programs that report usage per session.
	Total llm.Usage `json:"total,omitzero"`
}

// A turnInput is the input of one run of the program.
type turnInput struct {
	session session
	system  string
	prompt  string
}

// input resumes the session of the program's own last answer with the messages
// since then.
func (r *opened) input(req *llm.Request) turnInput {
	for i := len(req.Messages) - 1; i >= 0; i-- {
		m := req.Messages[i]
		if m.Role != llm.Assistant {
			continue
		}
		var was session
		if m.State == nil || m.State.Dialect != "cli/"+r.Name || json.Unmarshal(m.State.Value, &was) != nil || was.ID == "" {
			break // the last answer is another model's
		}
		return turnInput{session: was, prompt: prompt(req.Messages[i+1:], req.Output)}
	}
	return r.newSession(req)
}

// newSession is the whole conversation as the input of a new session.
func (r *opened) newSession(req *llm.Request) turnInput {
	var system []string
	var rest []llm.Message
	for _, m := range req.Messages {
		if m.Role == llm.System {
			system = append(system, m.Text)
		} else {
			rest = append(rest, m)
		}
	}
	system = append(system, fmt.Sprintf(headlessNote, r.at.Access.List()))
	return turnInput{system: strings.TrimSpace(strings.Join(system, "\n\n")), prompt: prompt(rest, req.Output)}
}

const headlessNote = `You are run by a program, and nobody can answer questions while you work: decide yourself, or end and say what you need. Work with the tools that you have; a tool that is named above and that you do not have is not there. In the current directory you may: %s. Leave everything outside of it alone. When you are done, end with a short message that says what you did.`

// prompt writes messages out as one text.
func prompt(msgs []llm.Message, output json.RawMessage) string {
	alone := true // there are only user messages
	for _, m := range msgs {
		alone = alone && m.Role == llm.User
	}
	var parts []string
	for i, m := range msgs {
		text := strings.TrimSpace(m.Text)
		switch {
		case alone:
		case m.Role == llm.Tool:
			text = fmt.Sprintf("[result of %s]\n%s", m.Name, text)
		case m.Role == llm.Assistant:
			for _, c := range m.Calls {
				text += fmt.Sprintf("\n[called %s %s]", c.Name, c.Args)
			}
			text = "[an assistant before you]\n" + strings.TrimSpace(text)
		case i > 0:
			text = "[user]\n" + text
		}
		if text != "" {
			parts = append(parts, text)
		}
	}
	if len(output) > 0 {
		parts = append(parts, "End with JSON that satisfies this schema, and nothing else:\n"+string(output))
	}
	return strings.Join(parts, "\n\n")
}
