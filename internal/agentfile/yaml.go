package agentfile

import (
	"strings"

	"github.com/adroit-run/adroit/internal/plainyaml"
	"github.com/adroit-run/adroit/pkg/agents"
)

// Kinds of nodes.
const (
	null    = plainyaml.Null
	boolean = plainyaml.Boolean
	number  = plainyaml.Number
	text    = plainyaml.Text
	list    = plainyaml.List
	mapping = plainyaml.Mapping
)

// A node is a value of front matter with its place.
type node = plainyaml.Node

// frontMatter reads YAML that begins on the second line of a file.
func frontMatter(src string, rep *report) *node {
	doc, err := plainyaml.Parse(src, 2)
	if err != nil {
		quoted, ok := quoteDescription(src)
		if !ok {
			rep.at(err.Place, agents.Error, err.Hint, "the front matter %s", err.Message)
			return nil
		}
		again, worse := plainyaml.Parse(quoted, 2)
		if worse != nil {
			rep.at(err.Place, agents.Error, err.Hint, "the front matter %s", err.Message)
			return nil
		}
		p := plainyaml.At(2+strings.Count(src[:strings.Index("\n"+src, "\ndescription:")], "\n"), 1)
		rep.at(p, agents.Note, "quote it", "the description is not valid YAML and was taken as it is")
		doc = again
	}
	return doc.Read(func(p place, hint, words string) {
		rep.at(p, agents.Error, hint, "%s", strings.Replace(words, "it is", "the front matter is", 1))
	})
}

// quoteDescription quotes a plain description of one line: descriptions with
// a colon in them are common in agent files, and no valid YAML.
func quoteDescription(src string) (string, bool) {
	lines := strings.Split(src, "\n")
	for i, line := range lines {
		v, ok := strings.CutPrefix(line, "description:")
		if v = strings.TrimSpace(v); !ok || v == "" || strings.ContainsAny(v[:1], `"'|>[{&*!`) {
			continue
		}
		lines[i] = "description: '" + strings.ReplaceAll(v, "'", "''") + "'"
		return strings.Join(lines, "\n"), true
	}
	return "", false
}
