package tools

import "strings"

// Prose returns m with its description and usage hint taken from md, the text
// of the file beside a tool's code: the first paragraph describes, the rest is
// the hint. Prompts are reviewed as prose, so they live in files.
func (m Metadata) Prose(md string) Metadata {
	first, rest, _ := strings.Cut(strings.TrimSpace(strings.ReplaceAll(md, "\r\n", "\n")), "\n\n")
	m.Description = strings.Join(strings.Fields(first), " ")
	m.UsageHint = strings.Join(strings.Fields(rest), " ")
	return m
}
