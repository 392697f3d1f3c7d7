package script

import (
	"errors"
	"fmt"

	"github.com/adroit-run/adroit/pkg/llm"
)

// checkAsides sees to it that every aside says which requests it answers.
func checkAsides(asides []turn) error {
	for i := range asides {
		t := &asides[i]
		err := t.check()
		if err == nil && t.Expect == nil {
			err = errors.New("it has no expect; that says which requests it answers")
		}
		if err == nil && (t.Error != nil || t.Calls != nil) {
			err = errors.New("it can only answer with text")
		}
		if err != nil {
			return fmt.Errorf("aside %d: %w", i+1, err)
		}
	}
	return nil
}

// aside is the answer to a request that is no turn of the conversation, such as
// one that a tool makes: the first that expects it, nil if none does. Where
// tools are offered it is a turn.
func (m *Model) aside(req *llm.Request) *turn {
	if len(req.Tools) > 0 {
		return nil
	}
	for i := range m.asides {
		if m.asides[i].Expect.unmet(req, 0) == "" {
			return &m.asides[i]
		}
	}
	return nil
}
