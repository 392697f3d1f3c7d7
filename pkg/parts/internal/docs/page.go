// Package docs checks what documents say as far as a program can: that links
// lead somewhere and that code in them can be read.
//
//	set, err := tools.NewSet(docs.Check)
//
// It visits no address on the network, runs no example and judges no prose.
package docs

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/markdown"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A checker collects what is wrong in files.
type checker struct {
	env                      *tools.Env
	pages                    map[string]*markdown.Page
	faults                   []string
	links, blocks, elsewhere int
}

func (c *checker) page(name string) (*markdown.Page, error) {
	if p, ok := c.pages[name]; ok {
		return p, nil
	}
	t, err := c.env.Files.ReadText(name)
	if err != nil {
		return nil, err
	}
	p := markdown.Read(t.Content)
	c.pages[name] = &p
	return &p, nil
}

func (c *checker) fault(name string, line int, format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf("%s:%d: %s", name, line, fmt.Sprintf(format, args...)))
}

func (c *checker) file(name string) {
	p, err := c.page(name)
	if err != nil {
		c.faults = append(c.faults, err.Error())
		return
	}
	for _, l := range p.Links {
		c.links++
		c.link(name, l)
	}
	for _, b := range p.Code {
		ok, err := readable(b)
		if ok {
			c.blocks++
		}
		if err != nil {
			c.fault(name, b.Line+err.line-1, "the %s in this block cannot be parsed: %s", b.Lang, err.words)
		}
	}
}

func (c *checker) link(name string, l markdown.Link) {
	u, err := url.Parse(l.Target)
	if err != nil {
		c.fault(name, l.Line, "the link %q is malformed", l.Target)
		return
	}
	if u.Scheme != "" || u.Host != "" {
		c.elsewhere++
		return
	}
	to := name
	if u.Path != "" {
		to = path.Join(path.Dir(name), u.Path)
		if strings.HasPrefix(u.Path, "/") {
			to = strings.TrimPrefix(path.Clean(u.Path), "/")
		}
		if to == "." || to == "" {
			return // the top of the workspace
		}
		if _, err := c.env.Files.Stat(to); err != nil {
			c.fault(name, l.Line, "the link %s leads nowhere: %v", l.Target, err)
			return
		}
	}
	if ext := strings.ToLower(path.Ext(to)); u.Fragment == "" || ext != ".md" && ext != ".markdown" {
		return
	}
	p, err := c.page(to)
	if err != nil {
		c.fault(name, l.Line, "the link %s: %v", l.Target, err)
	} else if !p.Anchors[u.Fragment] && !p.Anchors[strings.ToLower(u.Fragment)] {
		c.fault(name, l.Line, "the link %s leads to a heading that %s does not have", l.Target, to)
	}
}

// input of check_docs.
type input struct {
	Paths []string `json:"paths,omitempty" jsonschema:"description=Markdown files; default those that were changed"`
}

//go:embed check_docs.md
var prose string

// Check is the tool check_docs. Without paths it looks at what the artifact
// "diff" says was changed, so that old faults elsewhere are not held against a
// job.
var Check = tools.New(tools.Metadata{
	Name: "check_docs", Category: "content", Needs: tools.Read, Consumes: []string{"diff"}, Paths: []string{"paths"},
	Optionality: tools.Conditional, When: "you have changed documents", Proves: "the links and code blocks of the pages hold",
	Examples: []tools.Example{{Note: "one page", Args: json.RawMessage(`{"paths":["docs/config.md"]}`)}},
}.Prose(prose), check)

const mostFaults = 40

func check(ctx context.Context, env *tools.Env, in input) (tools.Result, error) {
	names := in.Paths
	if len(names) == 0 {
		var diff string
		if raw := env.Artifacts.Value("diff"); raw != nil {
			if err := json.Unmarshal(raw, &diff); err != nil {
				return tools.Result{}, fmt.Errorf("the diff of this job cannot be read (%w); name paths", err)
			}
		}
		names = changed(diff)
	}
	if len(names) == 0 {
		return tools.Result{Text: "No Markdown file was changed; nothing to check."}, nil
	}
	c := checker{env: env, pages: map[string]*markdown.Page{}}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return tools.Result{}, err
		}
		c.file(strings.TrimPrefix(path.Clean(name), env.Files.Dir()+"/"))
	}
	seen := fmt.Sprintf("%s, %s, %s", spelling.Plural(len(names), "file"), spelling.Plural(c.links, "link"), spelling.Plural(c.blocks, "code block"))
	if c.elsewhere > 0 {
		seen += fmt.Sprintf(" (%d to other sites, not visited)", c.elsewhere)
	}
	if len(c.faults) == 0 {
		return tools.Result{Text: "Checked " + seen + ": all right.", Summary: seen}, nil
	}
	if n := len(c.faults); n > mostFaults {
		c.faults = append(c.faults[:mostFaults], fmt.Sprintf("and %d more", n-mostFaults))
	}
	return tools.Result{Failed: true, Text: "Checked " + seen + ":\n" + strings.Join(c.faults, "\n"), Summary: spelling.Plural(len(c.faults), "fault")}, nil
}

// changed lists the Markdown files that a diff leaves behind.
func changed(diff string) []string {
	var out []string
	for l := range strings.Lines(diff) {
		name, ok := strings.CutPrefix(strings.TrimRight(l, "\n"), "+++ b/")
		if ext := strings.ToLower(path.Ext(name)); ok && (ext == ".md" || ext == ".markdown") && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
