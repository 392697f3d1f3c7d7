package docs

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/adroit-run/adroit/internal/tools/internal/markdown"
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
