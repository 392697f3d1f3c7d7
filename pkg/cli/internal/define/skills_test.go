package define

import (
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
)

func TestShowText(t *testing.T) {
	var b strings.Builder
	s := &adroit.SkillDetail{Skill: agents.Skill{Name: "greet", Description: "Greet people.", Body: "Say hello.", Files: map[string]string{"b.md": "", "a.md": ""}}, Layer: "user", File: "/home/ann/x/SKILL.md"}
	skillsShowText(&b, s, func(path string) string { return strings.Replace(path, "/home/ann", "~", 1) })
	want := "skill        greet\ndescription  Greet people.\nfrom         user ~/x/SKILL.md\nfiles        a.md, b.md\nsize         about 10 tokens when read whole\n\nSay hello.\n"
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}
