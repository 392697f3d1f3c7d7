package rootfs

import (
	"slices"
	"testing"
)

// Each section of names.txt is one that is used, each pattern is one that can match,
// and no name is on two lists that contradict each other.
func TestNames(t *testing.T) {
	sections := parseNames(namesText)
	for _, s := range []string{"secret", "open", "start", "guarded", "asked"} {
		if len(sections[s]) == 0 {
			t.Errorf("no names in %s", s)
		}
		for _, p := range sections[s] {
			if err := CheckPattern(p); err != nil || Fold(p) != p && p != "git~1" {
				t.Errorf("%s in %s: folded %q, %v", p, s, Fold(p), err)
			}
			if s == "guarded" && slices.Contains(sections["asked"], p) {
				t.Errorf("%s is guarded and asked for", p)
			}
		}
		if len(slices.Compact(slices.Sorted(slices.Values(sections[s])))) != len(sections[s]) {
			t.Errorf("a name is in %s twice", s)
		}
	}
	if len(sections) != 5 {
		t.Errorf("%d sections", len(sections))
	}
	for _, p := range []string{"crush.json", "opencode.jsonc", "a/.roo/rules.md", ".qwen/settings.json", ".amazonq/mcp.json", ".helix/languages.toml", "x.code-workspace", ".dir-locals.el", ".aider.conf.yml"} {
		if CheckName(p, p, true) == nil || CheckName(p, p, false) != nil {
			t.Errorf("%s may be written, or not read", p)
		}
	}
	for _, p := range []string{".devcontainer.json", "mise.toml", ".github/workflows/ci.yml"} {
		if !NeedsApproval(p) || CheckName(p, p, true) != nil {
			t.Errorf("%s is written unasked, or never", p)
		}
	}
}
