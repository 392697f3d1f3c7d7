package definitions

import "testing"

func TestNamedAlike(t *testing.T) {
	for text, want := range map[string]bool{
		"description: x\ntools: [a]":               true,
		"name: it\ndescription: x":                 true,
		"description: >\n  name: other\n\n# x\nb:": true,
		"":                                     false,
		"name: other\ndescription: x":          false,
		"name:  it":                            false,
		"name: it # x":                         false,
		"description: x\naliases: [a]":         false,
		"aliases:\n- a":                        false,
		"description: x\n\"name\": other":      false,
		"description: x\nname : other":         false,
		"description: x\n? name\n: other":      false,
		"{description: x, name: other}":        false,
		"  description: x\n  name: other":      false,
		"# a\n  description: x\n  name: other": false,
		"description: \"x\nname: other\"":      false,
		"<<: {name: other}":                    false,
		"--- {name: other}":                    false,
		"description: x\r\nname: other\r":      false,
	} {
		if got := namedAlike(text, "it"); got != want {
			t.Errorf("of %q: %v, want %v", text, got, want)
		}
	}
}
