package agents

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/tools"
)

// readSkill is the tool that returns the text of a skill.
const readSkill = "read_skill"

// chooseSkills picks the skills that a selects, and fails if one it names is not
// there.
func chooseSkills(a *DynamicAgent, there []Skill) ([]Skill, error) {
	var out []Skill
	var names []string
	for _, s := range there {
		names = append(names, s.Name)
		if slices.ContainsFunc(a.Skills, func(pattern string) bool { ok, _ := path.Match(pattern, s.Name); return ok }) {
			out = append(out, s)
		}
	}
	for _, name := range a.Skills {
		if _, err := path.Match(name, ""); err != nil {
			return nil, fmt.Errorf("the skill pattern %q is malformed; wildcards are *, ? and [a-z]", name)
		}
		if !strings.ContainsAny(name, "*?[") && !slices.Contains(names, name) {
			return nil, fmt.Errorf("there is no skill %s%s; %s lists them", name, spelling.DidYouMean(name, names), hint.Command("skills list"))
		}
	}
	return out, nil
}

// withSkills picks the skills of a and gives own the tool that reads them. Where the
// program has no such tool, or the agent denies it, there are no skills.
func withSkills(a *DynamicAgent, own, set *tools.Set, there []Skill) (*tools.Set, []Skill, error) {
	chosen, err := chooseSkills(a, there)
	if err != nil {
		return nil, nil, err
	}
	if len(chosen) > 0 {
		with, err := set.Only(append(own.Names(), readSkill)...)
		if err == nil {
			with = with.Without(a.Deny...)
		}
		if _, ok := with.Lookup(readSkill); !ok {
			chosen = nil
		} else {
			own = with
		}
	}
	if len(chosen) == 0 {
		return own.Without(readSkill), nil, nil
	}
	return own, chosen, nil
}

// given are the artifacts that a task with these skills begins with.
func given(skills []Skill) (map[string]json.RawMessage, error) {
	if len(skills) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(skills)
	if err != nil {
		return nil, fmt.Errorf("encoding the skills: %w", err)
	}
	return map[string]json.RawMessage{"skills": b}, nil
}

// Bounds of the list of skills in a prompt, in bytes.
const (
	maxSkillLine = 240
	maxSkillList = 4 << 10
)

// skillList is the part of a system prompt that names the skills.
func skillList(list []Skill) string {
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Skills. Read one with " + readSkill + " before you do what it is for:")
	for i, s := range list {
		line := "\n- " + s.Name + ": " + short(strings.Join(strings.Fields(s.Description), " "), maxSkillLine)
		if b.Len()+len(line) > maxSkillList {
			line = "\n- " + s.Name
		}
		if b.Len()+len(line) > maxSkillList+maxSkillLine {
			fmt.Fprintf(&b, "\n- and %d more", len(list)-i)
			break
		}
		b.WriteString(line)
	}
	return b.String()
}

// short cuts s at a word.
func short(s string, most int) string {
	if len(s) <= most {
		return s
	}
	s = strings.ToValidUTF8(s[:most], "")
	if i := strings.LastIndexByte(s, ' '); i > most/2 {
		s = s[:i]
	}
	return s + "…"
}
