package script

import (
	"errors"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/llm"
)

// A scene has the turns of the conversations that open with certain words.
type scene struct {
	When  string `json:"when" yaml:"when"` // is in the system prompt or in the first request
	Turns []turn `json:"turns" yaml:"turns"`
	Loop  bool   `json:"loop" yaml:"loop"`
}

type staged struct {
	when string
	*Model
}

func stage(name string, f *file) (out []staged, err error) {
	for i, s := range f.Scenes {
		m := &Model{name: fmt.Sprintf("%s, scene %q", name, s.When), loop: s.Loop, estimate: f.Estimate, failed: map[int]int{}}
		err := m.play(s.Turns)
		switch {
		case s.When == "":
			err = errors.New("when: is missing; it is words of the prompt that opens the conversation")
		case err == nil && len(s.Turns) == 0:
			err = errors.New("it has no turns")
		}
		if err != nil {
			return nil, fmt.Errorf("scene %d: %w", i+1, err)
		}
		out = append(out, staged{s.When, m})
	}
	return out, nil
}

// scene is the model of the conversation that req is part of, nil if it has no
// scene of its own.
func (m *Model) scene(req *llm.Request) *Model {
	for _, s := range m.scenes {
		for _, msg := range req.Messages {
			if msg.Role == llm.Assistant {
				break
			}
			if strings.Contains(msg.Text, s.when) {
				return s.Model
			}
		}
	}
	return nil
}
