// Package trust names what a Client reports of the record of what an operator
// trusts in workspaces: agents, pipelines, skills and instructions, each by its
// content. adroit.Options.Trust is the directory that has it.
package trust

import "github.com/adroit-run/adroit/internal/trust"

type (
	// A Status is how the files of a workspace stand.
	Status = trust.Status
	// A File is one of them.
	File = trust.File
	// A Place is a workspace about which something was decided.
	Place = trust.Place
)
