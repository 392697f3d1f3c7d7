package script

import (
	"fmt"

	"github.com/adroit-run/adroit/pkg/llm"
)

// Recording says with what a script was recorded, nil if it was written.
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
			return nil, &llm.Error{Kind: Exhausted, Provider: "script",
				Message: fmt.Sprintf("%s: the recorded job made no request after turn %d, but this one does: %s", m.name, ended, differs(nil, all[k:])),
				Hint:    "record it anew with --record"}
		}
	}
	return nil, m.diverged(1, "nothing like it was asked")
}

func (m *Model) diverged(turn int, what string) error {
	return &llm.Error{Kind: Mismatch, Provider: "script",
		Message: fmt.Sprintf("%s: the run differs from the recorded one at turn %d: %s", m.name, turn, what),
		Hint:    "if that is as it should be, record it anew with --record"}
}
