package agents

import "testing"

func TestNamed(t *testing.T) {
	const alike, former, neither = "alike", "alike, former", "former"
	for text, want := range map[string]string{
		"description: x\ntools: [a]":               alike,
		"name: it\ndescription: x":                 alike,
		"description: >\n  name: other\n\n# x\nb:": alike,
		"description: x\nonFailure: other":         alike,
		"description: x\naliases: [a]":             former,
		"aliases:\n- a":                            neither,
		"aliases:\n  - a\nname: it":                former,
		"aliases: [a]\nname: other":                neither,
		"":                                         neither,
		"name: other\ndescription: x":              neither,
		"name:  it":                                neither,
		"name: it # x":                             neither,
		"description: x\n\"name\": other":          neither,
		"description: x\nname : other":             neither,
		"description: x\n? name\n: other":          neither,
		"{description: x, name: other}":            neither,
		"  description: x\n  name: other":          neither,
		"# a\n  description: x\n  name: other":     neither,
		"description: \"x\nname: other\"":          neither,
		"<<: {name: other}":                        neither,
		"--- {name: other}":                        neither,
		"description: x\r\nname: other\r":          neither,
	} {
		isAlike, hasFormer := nameMatches(text, "it")
		got := map[[2]bool]string{{true, false}: alike, {true, true}: former, {false, true}: neither}[[2]bool{isAlike, hasFormer}]
		if got != want {
			t.Errorf("of %q: %v, %v; want %s", text, isAlike, hasFormer, want)
		}
	}
}
