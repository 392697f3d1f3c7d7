package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/secret"
)

// cliProvider is followed by the name of a command-line agent.
const cliProvider = "cli"

// splitCLI checks the name after cli/: NAME or NAME:MODEL.
func (m *models) splitCLI(name string) error {
	base, _, _ := strings.Cut(name, ":")
	known := m.conf.CLIAgents()
	if slices.Contains(known, base) {
		return nil
	}
	hint := "there are " + strings.Join(known, ", ") + "; others are configured under cli: in the config file, see docs/cli-agents.md"
	if n := nearest(base, known); n != "" {
		hint = fmt.Sprintf("did you mean %s/%s?\n%s", cliProvider, strings.Replace(name, base, n, 1), hint)
	}
	return adroit.Invalidf(hint, "there is no command-line agent %q", base)
}

// A guardedResident is guarded for a model that works on its own.
type guardedResident struct {
	llm.Model
	own  llm.AgentModel
	hide *secret.Redactor
}

func (g guardedResident) Open(p llm.Session) llm.Model { return guarded(g.own.Open(p), g.hide) }

// cliModel opens cli/NAME[:MODEL] and fails if the program is not there.
func (m *models) cliModel(name string) (llm.Model, error) {
	base, _, _ := strings.Cut(name, ":")
	agent, err := m.conf.CLIAgent(base, m.getenv)
	if err != nil {
		return nil, adroit.WithHint(err, "")
	}
	if _, err := agent.Find(); err != nil {
		return nil, modelFault(err)
	}
	return guardedResident{guarded(agent, m.hide), agent, m.hide}, nil
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
func (m *models) survey(ctx context.Context) []cliState {
	names := m.conf.CLIAgents()
	out := make([]cliState, len(names))
	var wait sync.WaitGroup
	for i, name := range names {
		wait.Go(func() { out[i] = m.examineCLI(ctx, name) })
	}
	wait.Wait()
	return out
}

func (m *models) examineCLI(ctx context.Context, name string) cliState {
	s := cliState{Name: name}
	agent, err := m.conf.CLIAgent(name, m.getenv)
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
func (m *models) cliWords(ctx context.Context, ref string) []string {
	_, name, err := m.split(ref)
	if err != nil {
		return nil
	}
	base, _, _ := strings.Cut(name, ":")
	s := m.examineCLI(ctx, base)
	return []string{s.Version + "; " + s.Words}
}

// examineCLIs are the doctor's findings.
func (m *models) examineCLIs(ctx context.Context) []finding {
	var out []finding
	for _, s := range m.survey(ctx) {
		if s.Path == "" {
			if _, configured := m.conf.CLI[s.Name]; configured {
				out = append(out, finding{cliProvider + "/" + s.Name, lacks, "is configured and not installed", s.Words})
			} else {
				out = append(out, finding{cliProvider + "/" + s.Name, report, "not installed", s.Words})
			}
			continue
		}
		out = append(out, finding{cliProvider + "/" + s.Name, fine, s.Version + "; " + s.Words, ""})
	}
	return out
}

// outside says, for the first line of a run, that the model works beside the
// sandbox: what runs in it are the checks.
func outside(model string) string {
	if !llm.IsAgent(model) {
		return ""
	}
	return " (works on its own, outside of the sandbox)"
}
