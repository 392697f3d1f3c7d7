package edit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/tools"
)

// A Format is a form in which a model writes edits.
type Format string

const (
	Edit        Format = "edit"   // edit_file: the two texts as arguments
	BlockFormat Format = "blocks" // edit_blocks: search/replace blocks in a text
	PatchFormat Format = "patch"  // apply_patch
	WholeFormat Format = "whole"  // write_file, but edit_long_file where a file is long
)

// Formats are all there are.
var Formats = []Format{Edit, BlockFormat, PatchFormat, WholeFormat}

// A formatRule gives the models whose provider/model matches Pattern a format. A *
// stands for any text, slashes too; case does not count.
type formatRule struct {
	Pattern string
	Format  Format
}

// formatRules are the ones that ship. What is known of a family decides: models that
// were trained on a form get it, and small ones, of which published boards say
// that every fourth of their search/replace answers is malformed and hardly
// any whole file, write whole files. Everything else gets edit_file.
func formatRules() []formatRule {
	return []formatRule{
		{"*gpt-4.1*", PatchFormat}, {"*gpt-5*", PatchFormat}, {"*gpt-oss*", PatchFormat}, {"*codex*", PatchFormat},
		{"*qwen2.5-coder*", WholeFormat}, {"*qwen2.5coder*", WholeFormat}, {"*qwen-2.5-coder*", WholeFormat},
		{"*llama3.2*", WholeFormat}, {"*llama-3.2*", WholeFormat}, {"*granite3*", WholeFormat}, {"*deepseek-coder*", WholeFormat},
		{"*:0.5b*", WholeFormat}, {"*:0.6b*", WholeFormat}, {"*:1b*", WholeFormat}, {"*:1.5b*", WholeFormat},
		{"*:1.7b*", WholeFormat}, {"*:2b*", WholeFormat}, {"*:3b*", WholeFormat}, {"*:4b*", WholeFormat},
	}
}

// formatFor is the format of a model: the rule of own that matches decides, else the
// one of those that ship. Of several the longest pattern does, then the first
// in the alphabet.
func formatFor(model string, own map[string]Format) Format {
	var mine []formatRule
	for _, p := range slices.Sorted(maps.Keys(own)) {
		mine = append(mine, formatRule{p, own[p]})
	}
	for _, rules := range [][]formatRule{mine, formatRules()} {
		slices.SortStableFunc(rules, func(a, b formatRule) int { return cmp.Compare(len(b.Pattern), len(a.Pattern)) })
		for _, r := range rules {
			if glob(strings.ToLower(r.Pattern), strings.ToLower(model)) {
				return r.Format
			}
		}
	}
	return Edit
}

// glob matches a pattern in which * stands for any text.
func glob(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	first, last := parts[0], parts[len(parts)-1]
	if !strings.HasPrefix(s, first) || len(s) < len(first)+len(last) || !strings.HasSuffix(s, last) {
		return false
	}
	s = s[len(first) : len(s)-len(last)]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(s, p)
		if i < 0 {
			return false
		}
		s = s[i+len(p):]
	}
	return true
}

// Instead returns the tools that a model is offered where an agent names edit_file:
// those of the model's format, as agents.Defaults takes them. own comes
// before the rules that ship and may be nil.
func Instead(own map[string]Format) func(model string) map[string][]string {
	return func(model string) map[string][]string {
		switch formatFor(model, own) {
		case BlockFormat:
			return map[string][]string{File.Name: {Blocks.Name}}
		case PatchFormat:
			return map[string][]string{File.Name: {Patch.Name}}
		case WholeFormat:
			return map[string][]string{File.Name: {"write_file", Long.Name}}
		}
		return nil
	}
}

// longFrom is the least number of lines of a file for which Long is meant.
const longFrom = 300

// Long is the tool edit_long_file, the companion of write_file for models that
// do better with whole files: it takes the two texts as edit_file does, and
// sends short files back to write_file when the text is not found.
var Long = previewed(tools.New(tools.Metadata{
	Name: "edit_long_file", Category: "code", Needs: tools.Read | tools.Write, Effect: tools.Unsafe, Paths: []string{"path"},
	Optionality: tools.Conditional, When: fmt.Sprintf("the file has more than %d lines", longFrom),
	Examples: File.Examples[:1],
}.ProseIn(descriptions), func(ctx context.Context, env *tools.Env, in longInput) (tools.Result, error) {
	r, err := edit(ctx, env, Input{Path: in.Path, Old: in.Old, New: in.New})
	if err == nil {
		return r, nil
	}
	err = called("old", err)
	if t, e := env.Files.ReadText(in.Path); e == nil && strings.Count(t.Content, "\n") < longFrom {
		err = fmt.Errorf("%w\n%s is short enough for write_file: give all of it", err, in.Path)
	}
	return r, err
}), func(p *plan, in longInput) error { return p.pieces(Input{Path: in.Path, Old: in.Old, New: in.New}) })

type longInput struct {
	Path string `json:"path"`
	Old  string `json:"old"`
	New  string `json:"new"`
}
