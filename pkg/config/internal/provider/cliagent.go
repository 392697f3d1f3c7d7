package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/llm"
)

// splitCLI checks the name after cli/: NAME or NAME:MODEL.
func (m *Source) splitCLI(name string) error {
	base, _, _ := strings.Cut(name, ":")
	known := m.conf.CLIs
	if slices.Contains(known, base) {
		return nil
	}
	hint := "there are " + strings.Join(known, ", ") + "; others are configured under cli: in the config file, see docs/cli-agents.md"
	if n := spelling.Nearest(base, known); n != "" {
		hint = fmt.Sprintf("did you mean %s/%s?\n%s", CLI, strings.Replace(name, base, n, 1), hint)
	}
	return problem.Invalidf(hint, "there is no command-line agent %q", base)
}

// A guardedResident is guarded for a model that works on its own.
type guardedResident struct {
	llm.Model
	own  extagent.Model
	hide *secret.Redactor
}

func (g guardedResident) Open(p extagent.Session) llm.Model { return guarded(g.own.Open(p), g.hide) }

// cliModel opens cli/NAME[:MODEL] and fails if the program is not there.
func (m *Source) cliModel(name string) (llm.Model, error) {
	base, _, _ := strings.Cut(name, ":")
	agent, err := m.conf.CLI(base)
	if err != nil {
		return nil, problem.WithHint(err, "")
	}
	if _, err := agent.Find(); err != nil {
		return nil, problem.ModelError(err)
	}
	return guardedResident{guarded(agent, m.conf.Secrets), agent, m.conf.Secrets}, nil
}

// A cliState is what is known of a command-line agent on this machine.
type cliState struct {
	Name    string
	Path    string // empty: it is not installed
	Version string
	Words   string // how it is driven, or how to get it
}

// survey looks at every command-line agent, at once: some take seconds to say
// their version.
func (m *Source) survey(ctx context.Context) []cliState {
	names := m.conf.CLIs
	out := make([]cliState, len(names))
	var wait sync.WaitGroup
	for i, name := range names {
		wait.Go(func() { out[i] = m.examineCLI(ctx, name) })
	}
	wait.Wait()
	return out
}

func (m *Source) examineCLI(ctx context.Context, name string) cliState {
	s := cliState{Name: name}
	agent, err := m.conf.CLI(name)
	if err != nil {
		s.Words = err.Error()
		return s
	}
	if s.Path, err = agent.Find(); err != nil {
		var e *llm.Error
		if s.Words = err.Error(); errors.As(err, &e) && e.Hint != "" {
			s.Words = e.Hint
		}
		return s
	}
	if s.Version, err = agent.Version(ctx); err != nil {
		s.Version = "version not known"
	}
	s.Words = agent.Driven()
	return s
}

// cliWords say which program a model is and how it is driven.
func (m *Source) cliWords(ctx context.Context, ref string) []string {
	_, name, err := m.split(ref)
	if err != nil {
		return nil
	}
	base, _, _ := strings.Cut(name, ":")
	s := m.examineCLI(ctx, base)
	return []string{s.Version + "; " + s.Words}
}
