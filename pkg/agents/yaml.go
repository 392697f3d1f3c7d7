package agents

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/plainyaml"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
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

// frontMatter reads YAML that begins on the second line of a file. What is no YAML, or
// refers to what is not there, is read as the programs read it that such files are written for:
// a tab at the start of a line indents, a no-break space is a space, and a key that lenient names has for its text what
// stands behind it. All else is refused by its line.
func frontMatter(src string, rep *report, lenient func(key, value string) bool) *node {
	doc, err := plainyaml.Parse(src, 2)
	if err != nil || unusable(doc.WithReferences()) {
		spaced, tab := expandBlanks(src)
		quoted, keys := quoteText(spaced, lenient)
		again, worse := plainyaml.Parse(quoted, 2)
		switch {
		case worse == nil && (keys != nil || tab > 0):
			if tab > 0 {
				rep.at(plainyaml.At(1+tab, 1), Note, "write spaces", "YAML has no tabs at the start of a line, and no no-break spaces; they are read as spaces")
			}
			for _, k := range keys {
				rep.at(k.Place, Note, "quote it", "the %s is not valid YAML and was taken as it is", k.Text)
			}
			doc = again.WithReferences()
		case err != nil:
			rep.at(err.Place, Error, err.Hint, "the front matter %s", err.Message)
			return nil
		}
	}
	return doc.Read(func(p place, hint, words string) {
		rep.at(p, Error, hint, "%s", strings.Replace(words, "it is", "the front matter is", 1))
	})
}

// unusable reports whether a document has parts that cannot be read, such as a reference.
func unusable(doc *plainyaml.Document) (bad bool) {
	doc.Read(func(place, string, string) { bad = true })
	return bad
}

// expandBlanks writes each tab at the start of a line as two spaces, and a no-break space, which
// pages have, as one. It returns the first line that has either, 0 for none.
func expandBlanks(src string) (out string, first int) {
	lines := strings.Split(src, "\n")
	for i, line := range lines {
		line = strings.ReplaceAll(line, "\u00a0", " ")
		rest := strings.TrimLeft(line, "\t")
		if line = strings.Repeat("  ", len(line)-len(rest)) + rest; line != lines[i] && strings.TrimSpace(rest) != "" {
			lines[i] = line
			first = cmp.Or(first, i+1)
		}
	}
	return strings.Join(lines, "\n"), first
}

// agentText are the keys of agent files that hold text, or names between commas, and those
// that are not ours, which are text to us. Keys that decide more are YAML or nothing.
func agentText(key, value string) bool {
	switch key {
	case "name", "description", "model", "color":
		return isWords(value)
	case "tools", "disallowedTools":
		return isWords(value) && !strings.ContainsAny(value[:1], "[{")
	case "maxTurns", "permissionMode", "problemTypes":
		return false
	}
	return (&decoder{a: &DynamicAgent{}}).keys()[key] == nil
}

// skillText are the keys of skills: those that are not ours are text to us, whatever they
// are to others.
func skillText(key, value string) bool {
	return key != "name" && key != "description" || isWords(value)
}

// isWords reports whether a value that is no YAML was meant as words, and not begun as
// something else and left unfinished: what opens with a bracket or a quotation mark closes it.
func isWords(value string) bool {
	switch {
	case value == "":
		return false
	case strings.ContainsAny(value[:1], "[{"):
		return bracketEnd(value) > 0
	case strings.ContainsAny(value[:1], `"'`):
		return quoteEnd(value) > 0
	case strings.ContainsAny(value[:1], "|>"):
		return strings.Trim(value[1:], "+-0123456789 ") != ""
	}
	return true
}

// bracketEnd returns where the bracket that a value opens with is closed, 0 if nowhere.
func bracketEnd(value string) int {
	depth := 0
	for i := range len(value) {
		switch value[i] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// quoteEnd returns where the quotation that a value opens with ends, 0 if nowhere. Others may
// lie within it: a mark opens behind a space, and closes ahead of a space or of punctuation.
func quoteEnd(value string) int {
	depth := 0
	for i := range len(value) {
		if value[i] != value[0] || i > 0 && value[i-1] == '\\' {
			continue
		}
		last := i+1 == len(value)
		switch {
		case !last && (i == 0 || strings.IndexByte(" ([{", value[i-1]) >= 0):
			depth++
		case last || strings.IndexByte(" .,;:!?)]}", value[i+1]) >= 0:
			if depth--; depth == 0 || last {
				return i + 1
			}
		}
	}
	return 0
}

var frontKey = lazyregexp.New(`^([A-Za-z][A-Za-z0-9_-]*):(?:[ \t]+(.*)|)$`)

// quoteText writes the values that are no YAML by themselves, and that may be text, as
// quoted text. Each key keeps its line. It returns the keys too.
func quoteText(src string, lenient func(key, value string) bool) (string, []node) {
	lines := strings.Split(src, "\n")
	var keys []node
	for from := 0; from < len(lines); {
		m := frontKey.FindStringSubmatch(lines[from])
		to := from + 1
		if m != nil && m[1] == "description" {
			to = exampleEnd(lines, from)
		}
		for to < len(lines) && frontKey.FindStringSubmatch(lines[to]) == nil && !strings.HasPrefix(lines[to], "#") {
			to++
		}
		if m == nil {
			from = to
			continue
		}
		value := strings.Join(strings.Fields(strings.Join(append([]string{m[2]}, lines[from+1:to]...), " ")), " ")
		doc, err := plainyaml.Parse(strings.Join(lines[from:to], "\n"), 1)
		if (err != nil || refers(value, src) && unusable(doc)) && lenient(m[1], value) {
			if n := len(value); n > 1 && strings.ContainsAny(value[:1], `"'`) && quoteEnd(value) == n {
				value = value[1 : n-1]
			}
			keys = append(keys, node{Place: plainyaml.At(2+from, 1), Text: m[1]})
			lines[from] = m[1] + ": '" + strings.ReplaceAll(value, "'", "''") + "'"
			clear(lines[from+1 : to])
		}
		from = to
	}
	return strings.Join(lines, "\n"), keys
}

// refers reports whether YAML takes a value for a reference to what is not in src, or for a
// tag: *.ts, !important. What has an anchor is YAML, and stays refused.
func refers(value, src string) bool {
	name, _, _ := strings.Cut(value, " ")
	if anchor, ok := strings.CutPrefix(name, "*"); ok {
		return !strings.Contains(src, "&"+anchor)
	}
	return strings.HasPrefix(name, "!") || name == "&"
}

// exampleEnd returns the line behind a description's first line and the examples that begin in it or follow
// it: what Claude Code writes there has lines such as "user: …", which are no keys.
func exampleEnd(lines []string, from int) int {
	to, open := from, 0
	for i := from; i < len(lines); i++ {
		if i > to && open == 0 && frontKey.MatchString(lines[i]) {
			break
		}
		if open += strings.Count(lines[i], "<example>") - strings.Count(lines[i], "</example>"); open <= 0 {
			to, open = i, 0
		}
	}
	return to + 1
}

// counterpart names our tool for one of Claude Code's; "" means there is none.
func counterpart(name string) (string, bool) {
	switch name {
	case "Read", "NotebookRead":
		return "read_file", true
	case "Edit", "MultiEdit":
		return "edit_file", true
	case "Write":
		return "write_file", true
	case "Grep":
		return "search", true
	case "Glob", "LS":
		return "list_files", true
	case "Bash":
		return "shell", true
	case "TodoWrite":
		return "todo", true
	case "WebFetch":
		return "web_fetch", true
	case "WebSearch":
		return "web_search", true
	case "BashOutput":
		return "shell_output", true
	case "KillShell", "KillBash":
		return "shell_kill", true
	case "Agent", "Task", "NotebookEdit", "AskUserQuestion", "ExitPlanMode", "Skill", "SlashCommand":
		return "", true
	}
	return "", false
}

// tools reads a list of tools; Claude Code's names become ours.
func (d *decoder) tools(n *node, what string) []string {
	var out, from []string
	for _, name := range d.toolNames(n, what) {
		if rest, ok := strings.CutPrefix(name, turn.Prefix("")); ok && !strings.Contains(rest, "__") && rest != "*" {
			if what == "tools" {
				d.a.MCPServers = append(d.a.MCPServers, strings.ReplaceAll(rest, "_", "-")) // all of them, as Claude Code writes it
				continue
			}
			name += "__*"
		}
		base, pattern, restricted := strings.Cut(name, "(")
		ours, claude := counterpart(base)
		d.claude = d.claude || claude
		switch {
		case !claude:
			ours = name
		case ours == "":
			d.rep.at(n.Place, Warning, "", "%s has no counterpart here and is left out", name)
			continue
		case restricted && what == "tools":
			// Granting all where a part was granted would be a surprise.
			d.rep.at(n.Place, Warning, "name "+ours+" to allow all of it", "%s(%s cannot be restricted like that and is left out", base, pattern)
			continue
		default:
			from = append(from, name)
		}
		if !slices.Contains(out, ours) {
			out = append(out, ours)
		}
	}
	if from != nil {
		d.rep.at(n.Place, Note, "", "%s: %s read as our tools of the same purpose", what, strings.Join(from, ", "))
	}
	return out
}

// toolNames reads names between commas, also within the entries of a list. Names have no
// spaces: where there are no commas, spaces lie between them.
func (d *decoder) toolNames(n *node, what string) (names []string) {
	for _, entry := range d.Names(n, what) {
		from, depth := 0, 0
		for i, c := range entry + " " {
			switch {
			case c == '(':
				depth++
			case c == ')' && depth > 0:
				depth--
			case (c == ' ' || c == '\t' || c == ',') && (depth == 0 || i == len(entry)):
				if from < i {
					names = append(names, entry[from:i])
				}
				from = i + 1
			}
		}
	}
	return names
}

// claudeModel reports whether only Claude Code knows a model's name: an alias, also with the
// size of its window as in sonnet[1m], or a model without its provider.
func claudeModel(name string) bool {
	name, _, _ = strings.Cut(name, "[")
	return slices.Contains([]string{"sonnet", "opus", "haiku", "opusplan", "best", "default"}, name) ||
		strings.HasPrefix(name, "claude-") && !strings.ContainsAny(name, "/:")
}

// model reads a model's name. Names that only Claude Code knows leave the
// choice to the caller.
func (d *decoder) model(n *node) {
	d.String(n, "model", &d.a.Model)
	unknown := !strings.ContainsAny(d.a.Model, "/:") && !nameRule.MatchString(d.a.Model)
	switch {
	case d.a.Model == "":
	case d.a.Model == "inherit":
		d.a.Model, d.claude = "", true
	case claudeModel(d.a.Model), unknown && d.rep.src.Claude:
		d.rep.at(n.Place, Note, "name one as provider/model, or with -m", "model %s is not known here; the default is used", d.a.Model)
		d.a.Model, d.claude = "", true
	case unknown:
		d.bad(n, "write it like ollama/qwen3:8b, or name a role as in cheap", "model %q names no provider", d.a.Model)
	}
}

// claudeKey reads the keys that only Claude Code has and reports whether k is
// one.
func (d *decoder) claudeKey(k, v *node) bool {
	switch k.Text {
	case "disallowedTools":
		d.a.Deny = d.tools(v, "deny")
	case "problemTypes":
		d.a.ProblemTypes = d.problemTypes(v, "problem_types")
	case "maxTurns":
		d.Whole(v, "maxTurns", &d.a.Limits.Turns)
	case "color", "background", "initialPrompt", "memory", "isolation":
		d.rep.at(k.Place, Note, "", "%s is of no use here", k.Text)
	case "permissionMode", "hooks", "mcpServers":
		if k.Text == "permissionMode" && v.Text == string(executor.ModePlan) {
			d.a.Mode = executor.ModePlan // the one that restricts
			break
		}
		d.rep.at(k.Place, Warning, "", "%s is not read: what it asks for does not happen", k.Text)
	default:
		// Claude Code passes over what it does not know. What may be a restriction, misspelt, is
		// a fault all the same.
		if !d.rep.src.Claude || spelling.Nearest(strings.ToLower(k.Text), restricting) != "" {
			return false
		}
		d.rep.at(k.Place, Warning, "", "%s is not read", k.Text)
	}
	d.claude = d.claude || k.Text != "problemTypes"
	return true
}

// restricting are the keys that take something from an agent.
var restricting = []string{"tools", "disallowedTools", "deny", "permissions", "permissionMode", "mode", "limits", "maxTurns", "grant"}

// describing are keys of ours whose names others use for something else in their files: a
// value that does not fit is left out of a file of Claude Code's.
var describing = []string{"capabilities", "priority", "aliases", "hidden", "expose", "output", "options", "inputs", "memory", "effort", "problem_types"}

// ownKeys are the keys of an agent file that Claude Code has too. One that also has
// others is ours, whatever its tools are called.
var ownKeys = []string{"name", "description", "tools", "model", "skills", "memory", "effort"}

// isClaude reports whether the file has the form of Claude Code: it is where that
// keeps its agents, or has something that only Claude Code has and no key of ours.
func (d *decoder) isClaude() bool {
	for key := range d.seen {
		if d.claude && !slices.Contains(ownKeys, key) {
			return d.rep.src.Claude
		}
	}
	return d.claude || d.rep.src.Claude
}

// claudeName is a name of Claude Code's, which may have any characters, as one of ours. That of
// the file takes the place of one that would lose letters, or that begins with a digit.
func claudeName(name, file string) string {
	lost := func(r rune) bool { return r > unicode.MaxASCII && unicode.IsLetter(r) }
	if begins := strings.TrimLeft(name, "0123456789"); (begins != name || strings.ContainsFunc(name, lost)) && nameRule.MatchString(file) {
		return file
	}
	name = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '_':
			return r
		}
		return '-'
	}, strings.ToLower(name))
	return strings.Trim(name, "-_")
}

// Inline reads an agent that is written out within another file: the keys that
// an agent file has in its front matter, and prompt. name is the agent's unless
// it gives itself one. As with [Parse], whether its tools exist is for [Lint].
func Inline(file, name string, n *plainyaml.Node) (*DynamicAgent, Problems) {
	rep := &report{src: Source{File: file, Places: plainyaml.Places{}}}
	root := n
	n.Places("", rep.src.Places)
	rep.src.Places["prompt"] = n.Place // unless it has one
	a := &DynamicAgent{Name: name, Description: "An agent of " + file + "."}
	d := decode(a, rep)
	front := *root
	front.Keys, front.Kids = nil, nil
	for i, k := range root.Keys {
		if k.Text != "prompt" && spelling.Nearest(k.Text, []string{"prompt"}) != "" {
			d.bad(k, "did you mean prompt?", "unknown key %q", k.Text)
			continue
		}
		if k.Text != "prompt" {
			front.Keys, front.Kids = append(front.Keys, k), append(front.Kids, root.Kids[i])
			continue
		}
		d.String(root.Kids[i], "prompt", &a.Prompt)
		at := root.Kids[i].Place
		if at.Line == k.Line && strings.Contains(a.Prompt, "\n") {
			at.Line++ // of a text in a block, the first line is below the key
		}
		rep.src.Places["prompt"] = at
	}
	d.agent(&front)
	if !nameRule.MatchString(a.Name) {
		rep.key("name", Error, "use lower case letters, digits, - and _, as in code-reviewer", "the name %q cannot be used", a.Name)
	}
	a.Source = rep.src
	return a, rep.list.Sort()
}

// InlineLimits reads limits that are written in another file, in the form that
// they have in an agent's.
func InlineLimits(file string, n *plainyaml.Node, what string) (executor.Limits, Problems) {
	rep := &report{src: Source{File: file}}
	d := decode(&DynamicAgent{}, rep)
	d.limits(n)
	for _, name := range negative(d.a.Limits) {
		d.bad(n, "-1 means no limit", "%s.%s is negative", what, name)
	}
	return d.a.Limits, rep.list.Sort()
}

// place is a position in a file; lines and columns count from 1.
type place = plainyaml.Place

// jobToolPrefix begins the names of the tools for jobs beside which exposed agents
// are tools.
const jobToolPrefix = "job_"

// Name of an agent: it is typed, and becomes part of step names and URLs.
var nameRule = lazyregexp.New(`^[a-z][a-z0-9_-]{0,63}$`)

// report collects the problems of one file.
type report struct {
	src  Source
	list Problems
}

func (r *report) at(p place, s Severity, hint, format string, args ...any) {
	r.list = append(r.list, Problem{File: r.src.File, Line: p.Line, Col: p.Col, Severity: s, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (r *report) key(key string, s Severity, hint, format string, args ...any) {
	r.at(r.src.Places.Of(key), s, hint, format, args...)
}

// Skeleton is the text of a new agent file, with what one usually needs and
// comments on what else there is.
func Skeleton(name string) (string, error) {
	if !nameRule.MatchString(name) {
		return "", fmt.Errorf("an agent cannot be named %q; use lower case letters, digits, - and _, as in code-reviewer", name)
	}
	return strings.ReplaceAll(skeleton, "NAME", name), nil
}

const skeleton = `---
name: NAME
description: Say in one sentence what it is for; people and other agents choose by it.
tools: [read_file, list_files, search, finish]
# What must hold before a run counts as done. Also possible: artifact, where,
# tool, check (run for the model: run_tests, {tool: run_check, with: {check: lint}}
# or {run: make lint}), any.
done: {all: [{signal: TASK_COMPLETE}]}
limits: {turns: 30, time: 30m}
# grant: [read]           what its tools may need at most: read, write, exec, shell, net, think, publish
# model: ollama/qwen3:8b  else the default
# inputs: {topic: What it is about.}
---
You are … Say what to do, in what order, and what a good result looks like.

{{range .Tools}}{{if .UsageHint}}- {{.Name}}: {{.UsageHint}}
{{end}}{{end}}`

// A Severity states how bad a problem is.
type Severity string

const (
	Error   Severity = "error"   // the agent cannot be used
	Warning Severity = "warning" // it can, but something will not be as written
	Note    Severity = "note"    // good to know
)

// A Problem is something wrong with an agent, at a place. Line and Col count
// from 1 and are zero if there is no place.
type Problem struct {
	File     string   `json:"file,omitempty"`
	Line     int      `json:"line,omitempty"`
	Col      int      `json:"col,omitempty"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	Hint     string   `json:"hint,omitempty"`
}

// String is the problem on one line: file:line:col: severity: message; hint.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File + ":")
	}
	if p.Line > 0 {
		fmt.Fprintf(&b, "%d:%d:", p.Line, p.Col)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	fmt.Fprintf(&b, "%s: %s", p.Severity, p.Message)
	if p.Hint != "" {
		b.WriteString("; " + strings.ReplaceAll(p.Hint, "\n", "; "))
	}
	return unbroken.Replace(b.String())
}

// unbroken keeps names of files, and what stands in them, from making lines of their own.
var unbroken = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\v", `\v`, "\f", `\f`, "\u0085", `\u0085`, "\u2028", `\u2028`, "\u2029", `\u2029`)

// Problems is a list of problems in the order of the text. As an error it reports an
// agent that cannot be used.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Err gives those that keep an agent from being used as one error, nil if
// there are none.
func (ps Problems) Err() error {
	var bad Problems
	for _, p := range ps {
		if p.Severity == Error {
			bad = append(bad, p)
		}
	}
	if bad == nil {
		return nil
	}
	return bad
}

// Sort gives the problems in the order of the text, each once.
func (ps Problems) Sort() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return slices.Compact(ps)
}
