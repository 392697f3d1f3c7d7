package workspace

import "github.com/adroit-run/adroit/internal/system/rootfs"

// What is implemented below internal/ and appears in what tools get.
type (
	// A Text is a text file: its content, and the form it is written back in.
	Text = rootfs.Text
	// A Page is some lines of a text file.
	Page = rootfs.Page
)
