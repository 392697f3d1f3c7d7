package agents

import (
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/turn"
)

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
	for _, name := range d.Names(n, what) {
		if rest, ok := strings.CutPrefix(name, turn.Prefix("")); ok && what == "tools" && !strings.Contains(rest, "__") {
			d.a.MCPServers = append(d.a.MCPServers, strings.ReplaceAll(rest, "_", "-")) // all of them, as Claude Code writes it
			continue
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

// model reads a model's name. Names that only Claude Code knows leave the
// choice to the caller.
func (d *decoder) model(n *node) {
	d.String(n, "model", &d.a.Model)
	switch d.a.Model {
	case "inherit":
		d.a.Model, d.claude = "", true
	case "sonnet", "opus", "haiku":
		d.rep.at(n.Place, Note, "name one as provider/model, or with -m", "model %s is not known here; the default is used", d.a.Model)
		d.a.Model, d.claude = "", true
	case "":
	default:
		if !strings.ContainsAny(d.a.Model, "/:") && !nameRule.MatchString(d.a.Model) {
			d.bad(n, "write it like ollama/qwen3:8b, or name a role as in cheap", "model %q names no provider", d.a.Model)
		}
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
		d.rep.at(k.Place, Warning, "", "%s is not read: what it asks for does not happen", k.Text)
	default:
		return false
	}
	d.claude = d.claude || k.Text != "problemTypes"
	return true
}

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

// claudeName is a name of Claude Code's, which may have any characters, as one of ours.
func claudeName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '_':
			return r
		}
		return '-'
	}, strings.ToLower(name))
	return strings.Trim(name, "-_")
}
