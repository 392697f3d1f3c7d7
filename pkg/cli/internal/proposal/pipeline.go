package proposal

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
)

// Pipeline is the text of a pipeline's file that runs the command, and has the failure
// repaired by what has helped. Texts of the failure are in it as data only: in quotes, or
// as a pattern. It is read back before it is returned.
func (c Case) Pipeline(name string) (string, error) {
	if c.Lacks != "" {
		return "", errors.New(c.Lacks)
	}
	if !utf8.ValidString(c.Command + c.did.Action.Fix + c.did.Action.Run) {
		return "", errors.New("what is remembered of it is no text")
	}
	c.text, c.Message = strings.ToValidUTF8(c.text, "\ufffd"), strings.ToValidUTF8(c.Message, "\ufffd") // as an output is kept
	var b strings.Builder
	fmt.Fprintf(&b, "# Proposed by %s. %s\n# It was met as: %s\n", hint.Name("fix failures propose"), comment("What helped: "+c.Helped+" (job "+strings.SplitN(c.did.Key, "/", 2)[0]+")."), comment(c.Message))
	fmt.Fprintf(&b, "name: %s\ndescription: Runs a command, and repairs a failure of it that is known.\nsteps:\n", name)
	a := c.did.Action
	repair := ""
	switch {
	case a.Fix != "":
		repair = "    tool: replay_fix\n    args:\n      diff: " + block(asText(a.Fix), "        ")
	case a.Run != "":
		repair = "    run: " + quoted(asText(a.Run)) + "\n"
	}
	if repair == "" {
		fmt.Fprintf(&b, "  - id: run\n    run: %s\n%s", quoted(asText(c.Command)), c.policy(a.Agent == ""))
		return b.String(), c.check(name, b.String(), "")
	}
	fmt.Fprintf(&b, "  - id: try\n    run: %s\n    onSuccess: end\n    onFailure: repair\n", quoted(asText(c.Command)))
	b.WriteString("  - id: repair\n")
	if p := pattern(c.text); p != "" {
		fmt.Fprintf(&b, "    when: {var: steps.try.output, where: {pattern: %s}} # only this failure\n", quoted(p))
	}
	b.WriteString(repair + "    onFailure: continue\n")
	fmt.Fprintf(&b, "  - id: verify\n    run: %s\n", quoted(asText(c.Command)))
	if c.agent != "" {
		b.WriteString(c.policy(false))
	}
	return b.String(), c.check(name, b.String(), a.Fix)
}

// policy writes the failure policy of a step: it is retried if again is set, else the
// agent repairs it.
func (c Case) policy(again bool) string {
	if again {
		return "    retries: {attempts: 2, backoff: 10s}\n"
	}
	return fmt.Sprintf("    onFailure: {coordinate: {attempts: 2, escalate: report, agents: [%s]}}\n", c.agent)
}

// check reads a pipeline back: it says what was meant, whatever the texts are.
func (c Case) check(name, text, diff string) error {
	p, problems := pipeline.Parse(name+".yaml", []byte(text))
	if err := problems.Err(); err != nil {
		return fmt.Errorf("the proposal cannot be read: %w", err)
	}
	same := p.Name == name
	for _, s := range p.Steps {
		switch {
		case s.ID != "repair":
			same = same && s.Run == asText(c.Command)
		case s.Run != "":
			same = same && s.Run == asText(strings.TrimSpace(c.did.Action.Run))
		default:
			var args struct{ Diff string }
			same = same && json.Unmarshal(s.Args, &args) == nil && args.Diff == asText(diff)
		}
	}
	if !same {
		return errors.New("the proposal would not say what is remembered")
	}
	return nil
}

// asText is a text that a template gives as it is, braces too.
func asText(s string) string { return strings.ReplaceAll(s, "{{", `{{"{{"}}`) }

// quoted is text as JSON has it, which YAML reads as well.
func quoted(s string) string { return string(jsontext.Quote(s)) }

// block is text of several lines, as people read it, if YAML has a form for that.
func block(s, indent string) string {
	plain := strings.HasSuffix(s, "\n") && !strings.HasSuffix(s, "\n\n") && !strings.HasPrefix(s, " ") && !strings.HasPrefix(s, "\n")
	for _, r := range s {
		plain = plain && (r == '\n' || r == '\t' || unicode.IsPrint(r))
	}
	if !plain {
		return quoted(s) + "\n"
	}
	var b strings.Builder
	b.WriteString("|\n")
	for line := range strings.Lines(s) {
		if line != "\n" {
			b.WriteString(indent)
		}
		b.WriteString(line)
	}
	return b.String()
}

// comment is text on one line that a terminal and YAML show as it is.
func comment(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + " […]"
	}
	return s
}

// pattern recognises an output by the longest of its significant lines. The line is
// without figures, times and directories, which stand for anything.
func pattern(text string) string {
	line := ""
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); len(l) > len(line) && len(l) <= 300 {
			line = l
		}
	}
	var parts []string
	for word := range strings.FieldsSeq(line) {
		parts = append(parts, `\S*`+strings.ReplaceAll(regexp.QuoteMeta(word), "#", ".*"))
	}
	return strings.Join(parts, `\s+`)
}
