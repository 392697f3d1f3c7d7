package coordinator

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/plainyaml"
	"github.com/adroit-run/adroit/pkg/executor"
)

// A Book is what users add to a coordinator: types of problems, detectors, and what
// is done about a type. A job has it by value from its beginning.
type Book struct {
	Types      []string            `json:"types,omitempty"` // beside those built in
	Detectors  []Detector          `json:"detectors,omitempty"`
	Strategies map[string]Strategy `json:"strategies,omitempty"` // by type
	// Named are other strategies, by name and type: see Policy.
	Named map[string]map[string]Strategy `json:"named,omitempty"`
	// Coded are detectors that are code of the program; without their code.
	Coded []Detector `json:"coded,omitempty"`

	mentioned []namedAgent
}

// A Detector recognises a failure by its output or its exit code, and says of what
// type it is. One with a Decision also says what happens, so that no model is asked.
type Detector struct {
	Name     string        `json:"name"`
	Type     string        `json:"type"`
	Pattern  string        `json:"pattern,omitempty"`
	Codes    []int         `json:"exit_codes,omitempty"`
	Decision Decision      `json:"decision,omitempty"` // RETRY, ESCALATE, FAIL, or empty
	Reason   string        `json:"reason,omitempty"`
	Hint     string        `json:"hint,omitempty"`
	Wait     time.Duration `json:"wait_ns,omitempty"`
	Times    int           `json:"times,omitempty"` // that a retry makes sense; then a person is asked

	// Match is the code of a detector that is code.
	Match func(command, output string, exitCode int) bool `json:"-"`
	re    *regexp.Regexp
}

// NewDetector checks a detector that is code.
func NewDetector(d Detector) (Detector, error) {
	d.Decision = Decision(strings.ToUpper(string(d.Decision)))
	d.Type, _ = problem.Canonical(d.Type)
	switch {
	case !typeRule.MatchString(d.Name):
		return d, errors.New("its name has other signs than lower case letters, digits and -")
	case !typeRule.MatchString(d.Type):
		return d, fmt.Errorf("its type is %q", d.Type)
	case d.Match == nil:
		return d, errors.New("it matches nothing")
	case d.Decision != "" && d.Decision != Retry && d.Decision != Escalate && d.Decision != Fail:
		return d, fmt.Errorf("its decision is %q; it is retry, escalate or fail", d.Decision)
	}
	return d, nil
}

// name adds a strategy that has a name.
func (b *Book) name(name, typ string, s Strategy) {
	if b.Named == nil {
		b.Named = map[string]map[string]Strategy{}
	}
	if b.Named[name] == nil {
		b.Named[name] = map[string]Strategy{}
	}
	b.Named[name][typ] = s
}

// Empty reports whether nothing is added.
func (b *Book) Empty() bool {
	return len(b.Types) == 0 && len(b.Detectors) == 0 && len(b.Strategies) == 0 && len(b.Named) == 0 && len(b.Coded) == 0
}

// readBook makes of a pinned book one that can be used.
func readBook(raw json.RawMessage) (*Book, error) {
	b := &Book{}
	if len(raw) == 0 {
		return b, nil
	}
	if err := json.Unmarshal(raw, b); err != nil {
		return nil, fmt.Errorf("the detectors as they were pinned: %w", err)
	}
	for i := range b.Detectors {
		var err error
		if b.Detectors[i].re, err = regexp.Compile(b.Detectors[i].Pattern); err != nil {
			return nil, fmt.Errorf("detector %s: %w", b.Detectors[i].Name, err)
		}
	}
	return b, nil
}

// repairCommands are the commands that strategies of the task's book run, in order.
func repairCommands(sc *executor.Scope) (out []string, err error) {
	b, err := readBook(sc.Task.Problems)
	if err != nil {
		return nil, err
	}
	of := func(all map[string]Strategy) {
		for _, t := range slices.Sorted(maps.Keys(all)) {
			for _, m := range all[t] {
				if m.Run != "" {
					out = append(out, m.Run)
				}
			}
		}
	}
	of(b.Strategies)
	for _, name := range slices.Sorted(maps.Keys(b.Named)) {
		of(b.Named[name])
	}
	return out, nil
}

// matching is the line of a text that a pattern matches first, "" if it matches nothing
// that can be shown.
func matching(re *regexp.Regexp, text string) string {
	at := re.FindStringIndex(text)
	if at == nil || at[0] == at[1] {
		return ""
	}
	begin := strings.LastIndexByte(text[:at[0]], '\n') + 1
	line, _, _ := strings.Cut(text[begin:], "\n")
	if strings.TrimSpace(line) == "" {
		line = text[at[0]:at[1]]
	}
	return strings.TrimSpace(line)
}

// A namedAgent is one that a strategy names, and where.
type namedAgent struct {
	name, file string
	plainyaml.Place
}
