package acp

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/tools"
)

// message converts a prompt to a message. Only text that the person typed can mention
// files with @; text that the editor adds is untrusted.
func message(blocks []sdk.ContentBlock, dir string, unsaved func(name string) *string) (m executor.Message, err error) {
	var parts, typed []string
	for _, b := range blocks {
		switch {
		case b.Text != nil:
			parts, typed = append(parts, b.Text.Text), append(typed, b.Text.Text)
		case b.ResourceLink != nil:
			if name, ok := inside(b.ResourceLink.Uri, dir); !ok {
				parts = append(parts, b.ResourceLink.Uri)
			} else {
				m.Attachments = append(m.Attachments, executor.Attachment{Path: name, Buffer: unsaved(name)})
				parts = append(parts, name)
			}
		case b.Resource != nil && b.Resource.Resource.TextResourceContents != nil:
			r := b.Resource.Resource.TextResourceContents
			if name, ok := inside(r.Uri, dir); ok {
				m.Attachments = append(m.Attachments, executor.Attachment{Path: name, Buffer: &r.Text})
				parts = append(parts, name)
				break
			}
			m.Taint |= tools.Untrusted
			parts = append(parts, quoted(r.Uri+", as the editor has it", r.Text))
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
	m.Text = cmp.Or(m.Text, "See what is attached.")
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

func quoted(title, text string) string {
	return fmt.Sprintf("%s:\n```\n%s\n```", title, strings.TrimRight(text, "\n"))
}

// maxUnsaved bounds the text of a buffer that goes into a prompt.
const maxUnsaved = 256 << 10

// unsaved returns the text that the editor has of a file in a session's directory, if
// it is not the one on disk. The job reads the disk: what a person sees goes along.
func (s *server) unsaved(ctx context.Context, ses *session) func(string) *string {
	return func(name string) *string {
		if !s.reads.Load() {
			return nil
		}
		r, err := s.conn.ReadTextFile(ctx, sdk.ReadTextFileRequest{SessionId: ses.id, Path: filepath.Join(ses.dir, filepath.FromSlash(name))})
		if err != nil || len(r.Content) > maxUnsaved {
			return nil // the file is attached as it is
		}
		if disk, err := readIn(ses.dir, name, maxUnsaved); err != nil || strings.TrimRight(r.Content, "\n") == strings.TrimRight(disk, "\n") {
			return nil
		}
		return &r.Content
	}
}

// readIn reads a file that links do not lead out of a directory; it is not longer
// than most.
func readIn(dir, name string, most int64) (string, error) {
	f, err := rootfs.DirFS(dir).Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() > most {
		return "", errors.Join(err, fs.ErrInvalid)
	}
	b, err := io.ReadAll(io.LimitReader(f, most))
	return string(b), err
}
