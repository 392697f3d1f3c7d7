// Package trust opens the record of what an operator trusts in workspaces: agents,
// pipelines, skills and instructions, each by its content. It is for
// adroit.Options.Trust.
package trust

import "github.com/adroit-run/adroit/internal/trust"

type (
	// A Store is the record, in a file of a directory.
	Store = trust.Store
	// A Status is how the files of a workspace stand.
	Status = trust.Status
	// A File is one of them.
	File = trust.File
	// A Place is a workspace about which something was decided.
	Place = trust.Place
)

// In is the store in a directory, usually adroit.Options.Data.
func In(dir string) *Store { return trust.In(dir) }
