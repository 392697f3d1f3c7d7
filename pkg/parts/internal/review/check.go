package review

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	yamlparser "github.com/goccy/go-yaml/parser"
	"mvdan.cc/sh/v3/syntax"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
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
	p, err := markdown.Read(t.Content)
	if err != nil {
		return nil, fmt.Errorf("%s %w", name, err)
	}
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
type checkInput struct {
	Paths []string `json:"paths,omitempty" jsonschema:"description=Markdown files; default those that were changed"`
}

// Check is the tool check_docs. Without paths it looks at what the artifact
// "diff" says was changed, so that old faults elsewhere are not held against a
// job.
var Check = tools.New(tools.Metadata{
	Name: "check_docs", Category: "content", Needs: tools.Read, Consumes: []string{"diff"}, Paths: []string{"paths"},
	Optionality: tools.Conditional, When: "you have changed documents", Proves: "the links and code blocks of the pages hold",
	Examples: []tools.Example{{Note: "one page", Args: json.RawMessage(`{"paths":["docs/config.md"]}`)}},
}.ProseIn(descriptions), check)

const mostFaults = 40

func check(ctx context.Context, env *tools.Env, in checkInput) (tools.Result, error) {
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
	c.faults = spelling.First(c.faults, mostFaults)
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

// maxBlock is the largest block that is parsed, in bytes: what is longer is
// data rather than an example.
const maxBlock = 64 << 10

// unreadable is code that cannot be parsed; line counts from 1 in the block.
type unreadable struct {
	line  int
	words string
}

// readable parses the block if its language is known, and reports whether it did.
// A block that leaves something out, with an ellipsis, a placeholder or as a template,
// cannot be held to a grammar: it counts if it can be parsed as it is.
func readable(c markdown.Code) (checked bool, fault *unreadable) {
	if len(c.Text) > maxBlock {
		return false, nil
	}
	switch c.Lang {
	case "go", "golang":
		fault = goCode(c.Text)
	case "json", "jsonc":
		fault = jsonCode(c.Text)
	case "yaml", "yml":
		fault = yamlCode(c.Text)
	case "sh", "bash":
		fault = shellCode(c.Text)
	default:
		return false, nil
	}
	if fault != nil && elision.MatchString(c.Text) {
		return false, nil
	}
	return true, fault
}

// elision matches placeholders: dots, a name in angle brackets, a template, or the prompt
// of a session, which has output behind it.
var elision = lazyregexp.New(`…|\.\.\.|\{\{|<[A-Za-z][\w .:|/-]*>|(?m:^[$%>] )`)

// goCode takes a file, declarations, or declarations and the statements that use them. The
// fault belongs to the form the code seems to have.
func goCode(code string) *unreadable {
	parse := func(text string) *unreadable {
		_, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
		var list scanner.ErrorList
		switch {
		case err == nil:
			return nil
		case errors.As(err, &list) && len(list) > 0:
			return &unreadable{list[0].Pos.Line, list[0].Msg}
		}
		return &unreadable{1, err.Error()}
	}
	fault := parse(code)
	if fault == nil {
		return nil
	}
	next := parse("package p;" + code)
	if next == nil {
		return nil
	}
	// From some line on, text that is not a declaration belongs to a function.
	lines := strings.SplitAfter(code, "\n")
	at := min(next.line, len(lines)) - 1
	inside := parse("package p;" + strings.Join(lines[:at], "") + "func _() {" + strings.Join(lines[at:], "") + "\n}")
	if inside == nil {
		return nil
	}
	// The form that gets furthest is the one that was meant, and a file has its package.
	if !strings.HasPrefix(strings.TrimSpace(code), "package") {
		fault = next
	}
	for _, f := range []*unreadable{next, inside} {
		if f.line > fault.line {
			fault = f
		}
	}
	return fault
}

// jsonCode takes values, members without their object, and elements without their list,
// with comments and trailing commas.
func jsonCode(code string) *unreadable {
	code = plainJSON(code)
	fault := jsonValues(code)
	if fault == nil || jsonValues("{"+code+"}") == nil || jsonValues("["+code+"]") == nil {
		return nil
	}
	return fault
}

// plainJSON has spaces in the place of comments and trailing commas.
func plainJSON(code string) string {
	out, comma := []byte(code), -1
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	for i := 0; i < len(out); {
		rest := code[i:]
		switch c := out[i]; {
		case c == '"':
			end := i + 1
			for end < len(code) && code[end] != '"' && code[end] != '\n' {
				if code[end] == '\\' {
					end++
				}
				end++
			}
			comma, i = -1, min(end+1, len(code))
		case strings.HasPrefix(rest, "//") || c == '#':
			line, _, _ := strings.Cut(rest, "\n")
			blank(i, i+len(line))
			i += len(line)
		case strings.HasPrefix(rest, "/*"):
			text, _, _ := strings.Cut(rest[2:], "*/")
			end := min(i+len(text)+4, len(out))
			blank(i, end)
			i = end
		default:
			switch {
			case c == ',':
				comma = i
			case (c == '}' || c == ']') && comma >= 0:
				out[comma], comma = ' ', -1
			case c != ' ' && c != '\t' && c != '\n' && c != '\r':
				comma = -1
			}
			i++
		}
	}
	if comma >= 0 {
		out[comma] = ' '
	}
	return string(out)
}

func jsonValues(code string) *unreadable {
	dec := json.NewDecoder(strings.NewReader(code))
	for {
		var v any
		err := dec.Decode(&v)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			at := dec.InputOffset()
			if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
				at = syntax.Offset
			}
			return &unreadable{1 + strings.Count(code[:min(int(at), len(code))], "\n"), err.Error()}
		}
	}
}

func yamlCode(code string) *unreadable {
	_, err := yamlparser.ParseBytes([]byte(code), 0)
	if err == nil {
		return nil
	}
	if ye, ok := errors.AsType[yaml.Error](err); ok && ye.GetToken() != nil && ye.GetToken().Position != nil {
		return &unreadable{ye.GetToken().Position.Line, ye.GetMessage()}
	}
	return &unreadable{1, strings.ReplaceAll(err.Error(), "\n", " ")}
}

func shellCode(code string) *unreadable {
	_, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(code), "")
	if err == nil {
		return nil
	}
	if pe, ok := errors.AsType[syntax.ParseError](err); ok {
		return &unreadable{int(pe.Pos.Line()), pe.Text}
	}
	return &unreadable{1, err.Error()}
}
