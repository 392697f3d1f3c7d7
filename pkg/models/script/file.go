package script

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/adroit-run/adroit/pkg/llm"
)

type file struct {
	Recording *Recording `json:"recording" yaml:"recording"` // set by Record
	Turns     []turn     `json:"turns" yaml:"turns"`
	Loop      bool       `json:"loop" yaml:"loop"` // start again after the last turn, for ever
	// Asides answer requests outside of the conversation's turns, such as those that
	// tools make: the first one whose expect matches.
	Asides []turn `json:"asides" yaml:"asides"`
	// Estimate gives turns without usage the tokens that what is sent and said
	// would be about.
	Estimate bool `json:"estimate" yaml:"estimate"`
	// Scenes are the conversations of jobs that have several, such as sub-agents'. Turns
	// and Loop apply to conversations without a scene.
	Scenes []scene `json:"scenes" yaml:"scenes"`
}

type turn struct {
	Text     string   `json:"text" yaml:"text"`
	Thinking string   `json:"thinking" yaml:"thinking"`
	Calls    []call   `json:"calls" yaml:"calls"`
	Stop     llm.Stop `json:"stop" yaml:"stop"` // default: calls if there are any, else end
	Notes    []string `json:"notes" yaml:"notes"`
	Error    *failure `json:"error" yaml:"error"`
	Expect   *expect  `json:"expect" yaml:"expect"`
	Usage    *usage   `json:"usage" yaml:"usage"`
	Delay    duration `json:"delay" yaml:"delay"`       // before the answer or error
	Asked    *asked   `json:"asked" yaml:"asked"`       // of a recording
	TooLong  bool     `json:"too_long" yaml:"too_long"` // of a recording: there was no answer
}

type call struct {
	ID        string    `json:"id" yaml:"id"`
	Name      string    `json:"name" yaml:"name"`
	Args      arguments `json:"args" yaml:"args"`
	Malformed string    `json:"malformed" yaml:"malformed"` // as if the arguments could not be read
	Raw       string    `json:"raw" yaml:"raw"`             // what was written in place of arguments, of a recording
	Spaced    bool      `json:"spaced" yaml:"spaced"`       // the blanks between arguments, of a recording: see [llm.Call]
	Written   string    `json:"written" yaml:"written"`
}

type failure struct {
	Kind       llm.ErrorKind `json:"kind" yaml:"kind"`
	Message    string        `json:"message" yaml:"message"`
	RetryAfter duration      `json:"retry_after" yaml:"retry_after"`
	Status     int           `json:"status" yaml:"status"`
}

// expect are a turn's conditions on the request that asks for it.
type expect struct {
	Last     pattern  `json:"last" yaml:"last"`         // matches the last message's text
	Tool     string   `json:"tool" yaml:"tool"`         // the last message is this tool's result
	Contains string   `json:"contains" yaml:"contains"` // is in the text of some message
	Tools    []string `json:"tools" yaml:"tools"`       // are all offered
	Turn     int      `json:"turn" yaml:"turn"`         // is the number of the turn, from 1
	Images   []string `json:"images" yaml:"images"`     // of all messages, with their bytes, by their names
}

type usage struct {
	In     int `json:"in" yaml:"in"`
	Out    int `json:"out" yaml:"out"`
	Cached int `json:"cached" yaml:"cached"`
}

// Load reads a script from a file.
func Load(path string) (*Model, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading script: %w", err)
	}
	return Parse(path, b)
}

// Parse reads a script in YAML or JSON. name stands for it in errors, which
// name the line.
func Parse(name string, b []byte) (*Model, error) {
	f, err := decode(b)
	if err != nil {
		return nil, fmt.Errorf("script %s: %w", name, err)
	}
	if len(f.Turns) == 0 && f.Recording != nil {
		return nil, fmt.Errorf("script %s: the job was recorded before its model said anything", name)
	}
	if len(f.Turns) == 0 && len(f.Scenes) == 0 {
		return nil, fmt.Errorf("script %s: it has no turns; one looks like this: - text: Hello", name)
	}
	if err := checkAsides(f.Asides); err != nil {
		return nil, fmt.Errorf("script %s: %w", name, err)
	}
	m := &Model{name: name, loop: f.Loop, recording: f.Recording, failed: map[int]int{}, asides: f.Asides, estimate: f.Estimate}
	for i := range f.Turns {
		if t := &f.Turns[i]; f.Recording != nil && (t.Asked == nil || t.Error != nil) {
			return nil, fmt.Errorf("script %s: turn %d was not recorded; take the key recording out of a script that was written", name, i+1)
		}
	}
	if err := m.play(f.Turns); err != nil {
		return nil, fmt.Errorf("script %s: %w", name, err)
	}
	if m.scenes, err = stage(name, f); err != nil {
		return nil, fmt.Errorf("script %s: %w", name, err)
	}
	return m, nil
}

func (t *turn) check() error {
	switch t.Stop {
	case "", llm.StopEnd, llm.StopCalls, llm.StopLength, llm.StopFilter:
	default:
		return fmt.Errorf("stop is %q; use end, calls, length or filter", t.Stop)
	}
	for i, c := range t.Calls {
		if c.Name == "" {
			return fmt.Errorf("call %d has no name", i+1)
		}
	}
	e := t.Error
	if e == nil {
		return nil
	}
	if t.Text != "" || t.Thinking != "" || t.Calls != nil || t.Usage != nil {
		return fmt.Errorf("an error turn says nothing else; make the answer a turn of its own after it")
	}
	switch e.Kind {
	case llm.Auth, llm.NoModel, llm.BadRequest, llm.Unsupported, llm.TooLong, llm.RateLimit, llm.Overloaded,
		llm.Unreachable, llm.Timeout, llm.Cut, llm.Garbled, exhausted, mismatch:
		return nil
	}
	return fmt.Errorf("error kind is %q; use one of auth, no_model, bad_request, unsupported, too_long, rate_limit, "+
		"overloaded, unreachable, timeout, cut, garbled, exhausted, mismatch", e.Kind)
}

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

// aside returns the answer to a request outside of the conversation's turns, such as one
// that a tool makes: the first that expects it, nil if none does. A request that offers
// tools is always a turn.
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

// bytesPerToken is the approximate number of bytes of English, code and JSON in a token.
const bytesPerToken = 3.3

// estimate estimates the usage that a server would count: the whole request and the
// answer. Nothing counts as cached.
func estimate(req *llm.Request, answer *llm.Message) llm.Usage {
	in := len(req.Output)
	for i := range req.Messages {
		in += bytesOf(&req.Messages[i])
	}
	for _, t := range req.Tools {
		in += len(t.Name) + len(t.Description) + len(t.Input) + templateBytes
	}
	return llm.Usage{In: int(float64(in) / bytesPerToken), Out: int(float64(bytesOf(answer)) / bytesPerToken)}
}

// templateBytes is the overhead of a chat template for a message or a tool, in bytes.
const templateBytes = 16

func bytesOf(m *llm.Message) int {
	n := len(m.Text) + len(m.Thinking) + templateBytes
	for _, c := range m.Calls {
		n += len(c.Name) + len(c.Args) + templateBytes
	}
	return n
}

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
