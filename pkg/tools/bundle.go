package tools

// A Bundle is a group of tools that belong together, as offered by a tool
// package.
type Bundle struct {
	Name        string
	Description string
	Required    []Tool // presented as required
	Optional    []Tool // presented as optional, unless they are conditional
}

// Tools returns the bundle's tools, each presented as its list says.
func (b Bundle) Tools() []Tool {
	out := make([]Tool, 0, len(b.Required)+len(b.Optional))
	for _, t := range b.Required {
		t.Optionality, t.When = Required, ""
		out = append(out, t)
	}
	for _, t := range b.Optional {
		if t.Optionality != Conditional {
			t.Optionality = Optional
		}
		out = append(out, t)
	}
	return out
}
