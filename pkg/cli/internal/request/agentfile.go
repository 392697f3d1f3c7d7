package request

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/adroit-run/adroit/internal/agentfile"
	"github.com/adroit-run/adroit/internal/hint"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/format"
)

// maxAgent bounds a file that is run as an agent; a longer one is refused by its
// parser.
const maxAgent = 1<<20 + 1

// ReadAgent takes a target that is a Markdown file as an agent. To name it is to
// trust it for this run; like an agent that a project brings it may narrow what is
// allowed, not widen it, whoever wrote it.
func (f *Flags) ReadAgent(e *env.Env) error {
	name := f.Target
	if !strings.HasSuffix(name, ".md") || !strings.Contains(name, "/") && !exists(name) {
		return nil
	}
	file, err := os.Open(name)
	if err != nil {
		return exit.Usagef("an agent is named, or given as a file that ends in .md: "+hint.Command("run ./agent.md PROMPT"), "%v", err)
	}
	defer file.Close()
	src, err := io.ReadAll(io.LimitReader(file, maxAgent))
	if err != nil {
		return exit.Usagef("", "%v", err)
	}
	a, problems := agentfile.Parse(name, src)
	if problems.Err() != nil || a == nil {
		return exit.Usagef(hint.Command("agents lint %s", name)+" lists all that is wrong with it", "%s is not an agent: %v", name, problems.Err())
	}
	a.Source.Layer = "project"
	for _, words := range agentfile.Ignored(a) {
		fmt.Fprintf(e.Err, "%s: warning: %s\n", hint.Program(), format.SanitizeLine(words))
	}
	a.Permissions, _ = agentfile.Rules(a)
	f.Spec, f.Target = a, ""
	return nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
