// Package partstest finds the tools that ship for tests outside of pkg/parts, which
// cannot name their packages.
package partstest

import (
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Tool returns the shipped tool with a name. It panics if there is none.
func Tool(name string) tools.Tool {
	for _, t := range parts.Tools() {
		if t.Name == name {
			return t
		}
	}
	panic("no tool that ships is called " + name)
}
