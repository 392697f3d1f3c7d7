package search

import "github.com/adroit-run/adroit/pkg/tools"

// Pure is the tool search_text: search for agents that may read and run
// nothing at all, not even ripgrep. It finds the same, later in large trees.
var Pure = func() tools.Tool {
	m := Tool.Metadata
	m.Name, m.Needs, m.Effect = "search_text", tools.Read, tools.Pure
	return tools.New(m, search)
}()
