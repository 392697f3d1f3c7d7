package agents

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/plainyaml"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Bounds of agent files: what is larger is no agent, and may be an attack on
// the reader.
const (
	maxFile  = 1 << 20
	maxFront = 64 << 10
)

// Parse reads an agent file. name is the file's name, for problems, and gives
// the agent its name unless the front matter does. The agent is nil if the
// front matter cannot be read at all; with other errors among the problems it
// is as much as was understood. Whether its tools exist is for [Lint].
func Parse(name string, src []byte) (*DynamicAgent, Problems) {
	return parseFile(Source{File: name, Claude: strings.Contains("/"+name, "/.claude/")}, src)
}

func parseFile(from Source, src []byte) (*DynamicAgent, Problems) {
	rep := &report{src: from}
	front, body, bodyLine, ok := split(src, rep)
	if !ok {
		return nil, rep.list
	}
	root := frontMatter(front, rep, agentText)
	if root == nil {
		return nil, rep.list
	}
	rep.src.Places = plainyaml.Places{}
	root.Places("", rep.src.Places)
	rep.src.Places["prompt"] = plainyaml.At(bodyLine, 1)
	base := strings.TrimSuffix(path.Base(from.File), ".md")
	a := &DynamicAgent{Name: base, Source: rep.src, Prompt: body}
	d := decode(a, rep)
	d.agent(root)
	if a.Description == "" {
		a.Description = heading(body)
	}
	a.Source.Claude = d.isClaude()
	if a.Source.Claude && !d.seen["tools"] {
		a.Tools = []string{"read_file", "list_files", "search", "edit_file", "write_file", "run_tests"}
		rep.at(plainyaml.At(1, 1), Note, "add tools: to choose", "the file names no tools; it gets %s", strings.Join(a.Tools, ", "))
	}
	if a.Source.Claude {
		a.Description = strings.ReplaceAll(a.Description, `\n`, "\n") // Claude Code writes it on one line
	}
	if name := claudeName(a.Name, base); a.Source.Claude && name != a.Name && nameRule.MatchString(name) {
		rep.key("name", Note, "", "the name %q is %s here", a.Name, name)
		a.Name = name
	}
	if !nameRule.MatchString(a.Name) {
		rep.key("name", Error, "use lower case letters, digits, - and _, as in code-reviewer", "the name %q cannot be used", a.Name)
	}
	return a, rep.list.Sort()
}

// split takes the front matter off the prompt.
func split(src []byte, rep *report) (front, body string, bodyLine int, ok bool) {
	if len(src) > maxFile {
		rep.at(plainyaml.At(1, 1), Error, "keep long material in files that the agent reads", "the file has %d bytes; an agent has at most %d", len(src), maxFile)
		return "", "", 0, false
	}
	s, err := normalized(src)
	if err != nil {
		rep.at(plainyaml.At(1, 1), Error, "", "the file cannot be read: %v", err)
		return "", "", 0, false
	}
	opened, ok := opens(s)
	if !ok {
		rep.at(plainyaml.At(1, 1), Error, "begin with a line ---, then name: and description:, then another ---", "there is no front matter")
		return "", "", 0, false
	}
	lines := strings.Split(s, "\n")
	clear(lines[:opened+1]) // so that what follows keeps its lines
	for i, line := range lines[1:] {
		if line = strings.TrimRight(line, " \t"); line != "---" && line != "..." || i < opened {
			continue
		}
		front = strings.Join(lines[1:i+1], "\n")
		if len(front) > maxFront {
			rep.at(plainyaml.At(1, 1), Error, "put the prompt below it", "the front matter has %d bytes; it may have %d", len(front), maxFront)
			return "", "", 0, false
		}
		rest := lines[i+2:]
		bodyLine = i + 3
		body = strings.TrimSpace(strings.Join(rest, "\n"))
		for body != "" && strings.TrimSpace(rest[0]) == "" {
			rest, bodyLine = rest[1:], bodyLine+1
		}
		return front, body, bodyLine, true
	}
	rep.at(plainyaml.At(1, 1), Error, "close it with a line ---", "the front matter does not end")
	return "", "", 0, false
}

// normalized is the text of a file with one form of line ends.
func normalized(src []byte) (string, error) {
	s, err := rootfs.Plain(src)
	if s = strings.ReplaceAll(s, "\r\n", "\n"); !strings.Contains(s, "\n") {
		s = strings.ReplaceAll(s, "\r", "\n")
	}
	return s, err
}

// opens returns the index of the line that opens a text's front matter: the first one that is
// not blank.
func opens(s string) (line int, ok bool) {
	trimmed := strings.TrimLeft(s, " \t\n")
	first, _, _ := strings.Cut(trimmed, "\n")
	before := s[:len(s)-len(trimmed)]
	return strings.Count(before, "\n"), strings.TrimRight(first, " \t") == "---" && (before == "" || strings.HasSuffix(before, "\n"))
}

func decode(a *DynamicAgent, rep *report) *decoder {
	d := &decoder{rep: rep, a: a}
	d.Nearest, d.Odd = spelling.Nearest, d.claudeKey
	d.Report = func(p place, hint, words string) { rep.at(p, Error, hint, "%s", words) }
	return d
}

func (d *decoder) agent(n *node) {
	keys := d.keys()
	if d.rep.src.Claude {
		for _, key := range describing {
			keys[key] = d.orNothing(key, keys[key])
		}
	}
	d.seen = d.Fields(n, "", keys)
}

// orNothing reads a key whose value is left out, with a warning, if it does not fit.
func (d *decoder) orNothing(key string, read func(*node)) func(*node) {
	return func(v *node) {
		before, from := *d.a, len(d.rep.list)
		if read(v); d.rep.list[from:].Err() == nil && (key != "output" || v.Kind == mapping) {
			return
		}
		*d.a, d.rep.list = before, d.rep.list[:from]
		d.rep.at(v.Place, Warning, "", "%s is not read: it does not mean here what it means there", key)
	}
}

func (d *decoder) keys() map[string]func(*node) {
	a := d.a
	return map[string]func(*node){
		"name":           func(v *node) { d.String(v, "name", &a.Name) },
		"description":    func(v *node) { d.String(v, "description", &a.Description) },
		"default_prompt": func(v *node) { d.String(v, "default_prompt", &a.DefaultPrompt) },
		"model":          func(v *node) { d.model(v) },
		"think_model":    func(v *node) { d.String(v, "think_model", &a.ThinkModel) },
		"tools":          func(v *node) { a.Tools = d.tools(v, "tools") },
		"deny":           func(v *node) { a.Deny = d.tools(v, "deny") },
		"mcp_servers":    func(v *node) { a.MCPServers = d.Names(v, "mcp_servers") },
		"auto":           func(v *node) { a.Auto = d.tools(v, "auto") },
		"mode":           d.mode,
		"calling":        d.calling,
		"effort":         d.effort,
		"workflow":       func(v *node) { d.String(v, "workflow", &a.Workflow) },
		"permissions":    d.permissions,
		"spawn":          d.spawn,
		"skills":         func(v *node) { a.Skills = d.Names(v, "skills") },
		"done":           func(v *node) { a.Done = d.criterion(v) },
		"limits":         func(v *node) { d.limits(v) },
		"capabilities":   func(v *node) { a.Capabilities = d.Names(v, "capabilities") },
		"problem_types":  func(v *node) { a.ProblemTypes = d.problemTypes(v, "problem_types") },
		"priority":       func(v *node) { d.Whole(v, "priority", &a.Priority) },
		"inputs":         func(v *node) { d.inputs(v) },
		"grant":          func(v *node) { d.grant(v) },
		"aliases":        func(v *node) { a.Aliases = d.Names(v, "aliases") },
		"output":         func(v *node) { a.Output = v.JSON() },
		"options":        func(v *node) { d.options(v) },
		"expose":         func(v *node) { a.Expose = d.flag(v, "expose") },
		"hidden":         func(v *node) { a.Hidden = d.flag(v, "hidden") },
		"memory":         d.memory,
	}
}

func (d *decoder) flag(v *node, name string) bool {
	if v.Kind != boolean {
		d.bad(v, "", "%s is true or false", name)
	}
	return v.Text == "true"
}

func (d *decoder) limits(n *node) {
	l := &d.a.Limits
	d.Fields(n, "limits", map[string]func(*node){
		"turns":    func(v *node) { d.Whole(v, "limits.turns", &l.Turns) },
		"tokens":   func(v *node) { d.Whole(v, "limits.tokens", &l.Tokens) },
		"cost_usd": func(v *node) { d.Decimal(v, "limits.cost_usd", &l.CostUSD) },
		"time":     func(v *node) { d.Duration(v, "limits.time", &l.Time) },
		"rejects":  func(v *node) { d.Whole(v, "limits.rejects", &l.Rejects) },
		"calls":    d.callLimits,
	})
}

func (d *decoder) options(n *node) {
	o := &d.a.Options
	d.Fields(n, "options", map[string]func(*node){
		"temperature": func(v *node) {
			o.Temperature = new(float64)
			d.Decimal(v, "options.temperature", o.Temperature)
		},
		"max_tokens": func(v *node) { d.Whole(v, "options.max_tokens", &o.MaxTokens) },
		"window":     func(v *node) { d.Whole(v, "options.window", &o.Window) },
	})
}

func (d *decoder) grant(n *node) {
	var c tools.Caps
	if err := c.UnmarshalText([]byte(strings.Join(d.Names(n, "grant"), ","))); err != nil {
		d.bad(n, "", "grant: %v", err)
		return
	}
	d.a.Grant = &c
}

// inputs reads name: description, or name: {description, optional, default, artifact, bytes}.
func (d *decoder) inputs(n *node) {
	if n.Kind != mapping {
		d.bad(n, "write it like file: The file to read.", "inputs is %s, not names with descriptions", n.Kind)
		return
	}
	for i, k := range n.Keys {
		f, v := Field{Name: k.Text}, n.Kids[i]
		if v.Kind == mapping {
			d.Fields(v, "inputs."+k.Text, map[string]func(*node){
				"description": func(v *node) { d.String(v, "description", &f.Description) },
				"optional": func(v *node) {
					if f.Optional = v.Text == "true"; v.Kind != boolean {
						d.bad(v, "", "optional is true or false")
					}
				},
				"default":  func(v *node) { f.Default, f.Optional = v.JSON(), true },
				"artifact": func(v *node) { d.String(v, "artifact", &f.Artifact) },
				"bytes": func(v *node) {
					if d.Whole(v, "inputs."+k.Text+".bytes", &f.Bytes); f.Bytes < 0 {
						d.bad(v, "leave it out for all of the text", "bytes is negative")
					}
				},
			})
		} else {
			d.String(v, "inputs."+k.Text, &f.Description)
		}
		d.a.Inputs = append(d.a.Inputs, f)
	}
}

func (d *decoder) criterion(n *node) executor.Criterion {
	var c executor.Criterion
	parts := func(into *[]executor.Criterion) func(*node) {
		return func(v *node) {
			if v.Kind != list {
				d.bad(v, "", "all and any take a list")
				return
			}
			*into = []executor.Criterion{}
			for _, kid := range v.Kids {
				*into = append(*into, d.criterion(kid))
			}
		}
	}
	d.Fields(n, "done", map[string]func(*node){
		"signal":   func(v *node) { d.String(v, "signal", &c.Signal) },
		"artifact": func(v *node) { d.String(v, "artifact", &c.Artifact) },
		"where":    func(v *node) { c.Where = json.RawMessage(v.JSON()) },
		"tool":     func(v *node) { d.String(v, "tool", &c.Tool) },
		"check": func(v *node) {
			var check executor.Criterion
			if err := json.Unmarshal(fmt.Appendf(nil, `{"check":%s}`, v.JSON()), &check); err != nil {
				d.bad(v, "", "%v", err)
			}
			c.Check, c.With, c.Run = check.Check, check.With, check.Run
		},
		"if_missing": func(v *node) {
			instead := d.criterion(v)
			c.IfMissing = &instead
		},
		"when": func(v *node) {
			when := d.criterion(v)
			c.When = &when
		},
		"all": parts(&c.All),
		"any": parts(&c.Any),
	})
	return c
}
