package request

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// maxAgent bounds a file that is run as an agent; a longer one is refused by its
// parser.
const maxAgent = 1<<20 + 1

// ReadAgent takes a target that is a Markdown file as an agent. To name it is to
// trust it for this run; like an agent that a project brings it may narrow what is
// allowed, not widen it, whoever wrote it.
func (f *Flags) ReadAgent(e *kit.Env) error {
	name := f.Target
	if !strings.HasSuffix(name, ".md") || !strings.Contains(name, "/") && !exists(name) {
		return nil
	}
	file, err := os.Open(name)
	if err != nil {
		return kit.Usagef("an agent is named, or given as a file that ends in .md: "+hint.Command("run ./agent.md PROMPT"), "%v", err)
	}
	defer file.Close()
	src, err := io.ReadAll(io.LimitReader(file, maxAgent))
	if err != nil {
		return kit.Usagef("", "%v", err)
	}
	a, problems := agents.Parse(name, src)
	if problems.Err() != nil || a == nil {
		return kit.Usagef(hint.Command("agents lint %s", name)+" lists all that is wrong with it", "%s is not an agent: %v", name, problems.Err())
	}
	a.Source.Layer = "project"
	for _, words := range agents.Ignored(a) {
		fmt.Fprintf(e.Err, "%s: warning: %s\n", hint.Program(), kit.SanitizeLine(words))
	}
	a.Permissions, _ = agents.Rules(a)
	f.Spec, f.Target = a, ""
	return nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
