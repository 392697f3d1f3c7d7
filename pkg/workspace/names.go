package workspace

import "github.com/adroit-run/adroit/internal/workspace/textfile"

// What is implemented below internal/ and appears in what tools get.
type (
	// A Text is a text file: its content, and the form it is written back in.
	Text = textfile.Text
	// A Page is some lines of a text file.
	Page = textfile.Page
)
