package executor

import (
	"strings"

	"github.com/adroit-run/adroit/pkg/llm"
)

// An Attachment is what a person adds to a message: a file or directory of the
// workspace, lines of a file, an image, or a page of the web. Whoever takes the
// message reads it once, into Text or Image: what becomes of the file later changes
// nothing.
type Attachment struct {
	Path string `json:"path,omitempty"` // in the workspace, or what Data is to be called
	From int    `json:"from,omitempty"` // the first of the lines that are meant, from 1; 0 for all
	To   int    `json:"to,omitempty"`   // the last of them; 0 for the rest
	URL  string `json:"url,omitempty"`  // in place of Path
	Data []byte `json:"data,omitempty"` // of an image that is not in the workspace

	Text  string     `json:"text,omitempty"`
	Image *llm.Image `json:"image,omitempty"`
}

// Attached is what goes with the words of a person.
type Attached struct {
	// Mentions are words that a person has typed, in which @PATH, @PATH:10-40 and
	// @https://... attach what they name. Text from elsewhere has no place in it.
	Mentions    string       `json:"mentions,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
}

// To is the message of a person who says text, with what is attached behind it.
func (a Attached) To(text string) llm.Message {
	m := llm.Message{Role: llm.User}
	var parts []string
	if text = strings.TrimSpace(text); text != "" {
		parts = append(parts, text)
	}
	for _, at := range a.Attachments {
		switch {
		case at.Image != nil:
			m.Images = append(m.Images, *at.Image)
			parts = append(parts, at.Image.String())
		case at.Text != "":
			parts = append(parts, at.Text)
		}
	}
	m.Text = strings.Join(parts, "\n\n")
	return m
}
