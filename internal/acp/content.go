package acp

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/tools"
)

// message is what a person has put into a prompt. Only what they typed may mention
// files with @; what the editor adds is text of others.
func message(blocks []sdk.ContentBlock, dir string) (m executor.Message, err error) {
	var parts, typed []string
	for _, b := range blocks {
		switch {
		case b.Text != nil:
			parts, typed = append(parts, b.Text.Text), append(typed, b.Text.Text)
		case b.ResourceLink != nil:
			if name, ok := inside(b.ResourceLink.Uri, dir); ok {
				m.Attachments = append(m.Attachments, executor.Attachment{Path: name})
				parts = append(parts, name)
			} else {
				parts = append(parts, b.ResourceLink.Uri)
			}
		case b.Resource != nil && b.Resource.Resource.TextResourceContents != nil:
			r := b.Resource.Resource.TextResourceContents
			name, ok := inside(r.Uri, dir)
			if !ok {
				name = r.Uri
			}
			m.Taint |= tools.Untrusted
			parts = append(parts, fmt.Sprintf("%s, as the editor has it:\n```\n%s\n```", name, strings.TrimRight(r.Text, "\n")))
		case b.Image != nil:
			data, err := base64.StdEncoding.DecodeString(b.Image.Data)
			if err != nil {
				return m, sdk.NewInvalidParams(map[string]any{"error": "an image is not base64"})
			}
			kind := path.Base(b.Image.MimeType)
			m.Attachments = append(m.Attachments, executor.Attachment{Path: fmt.Sprintf("image-%d.%s", len(m.Attachments)+1, kind), Data: data})
		default:
			return m, sdk.NewInvalidParams(map[string]any{"error": "a prompt may have text, images, links and texts of resources"})
		}
	}
	m.Text, m.Mentions = strings.TrimSpace(strings.Join(parts, "\n\n")), strings.Join(typed, "\n")
	if m.Text == "" && len(m.Attachments) == 0 {
		return m, sdk.NewInvalidParams(map[string]any{"error": "the prompt is empty"})
	}
	if m.Text == "" {
		m.Text = "See what is attached."
	}
	return m, nil
}

// inside is the name of a file in dir that an address stands for.
func inside(uri, dir string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" && u.Scheme != "" {
		return "", false
	}
	name := filepath.FromSlash(u.Path)
	if filepath.IsAbs(name) {
		if name, err = filepath.Rel(dir, name); err != nil {
			return "", false
		}
	}
	if !filepath.IsLocal(name) {
		return "", false
	}
	return filepath.ToSlash(name), true
}
