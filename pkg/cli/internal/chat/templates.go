package chat

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/guard/trust"
)

// A template is a message in a file, which the command of the same name sends: the user's
// are in commands/NAME.md beside the configuration, the project's in
// .adroit/commands/NAME.md if they are trusted.
type template struct {
	name, about, text string
	untrusted         string // its path in the project, where nobody has trusted it
}

// maxTemplate bounds the file of a template, in bytes.
const maxTemplate = 1 << 20

// A Command is a template as other surfaces than the chat show and send it.
type Command struct {
	Name, About string
	Text        func(args string) string
}

// Commands are the templates for a directory. What is wrong with one keeps no other
// from being read.
func Commands(ctx context.Context, getenv func(string) string, c adroit.Client, dir string) (out []Command, err error) {
	list, err := templates(ctx, getenv, c, dir)
	for _, t := range list {
		if t.untrusted == "" {
			out = append(out, Command{t.name, t.about, t.expand})
		}
	}
	return out, err
}

// withTemplates reads the templates elsewhere, since a project may be large, and
// calls then on the owner's goroutine.
func (s *Session) withTemplates(then func(list []template, err error)) {
	dir := s.Dir
	s.do(func(ctx context.Context) func() {
		list, err := templates(ctx, s.e.Getenv, s.c, dir)
		return func() {
			s.kept = append([]template{}, list...)
			then(list, err)
		}
	})
}

// templates reads those that there are, the user's before the project's of the same
// name. Of those that nobody has trusted it gives the names alone. What is wrong with
// one keeps no other from being read.
func templates(ctx context.Context, getenv func(string) string, c adroit.Client, dir string) (list []template, err error) {
	var errs []error
	add := func(t template, err error) {
		switch {
		case err != nil:
			errs = append(errs, err)
		case !slices.ContainsFunc(list, func(o template) bool { return o.name == t.name }):
			list = append(list, t)
		}
	}
	if own := config.Dir(getenv); own != "" {
		files, _ := filepath.Glob(filepath.Join(own, "commands", "*.md")) // the pattern is well formed
		for _, f := range files {
			add(readTemplate(f, ""))
		}
	}
	if st, err := c.Trust(ctx, dir); err == nil {
		for _, f := range st.Files {
			switch {
			case f.Kind != trust.Command || path.Ext(f.Path) != ".md":
			case f.State == trust.Trusted:
				add(readTemplate(filepath.Join(st.Root, filepath.FromSlash(f.Path)), f.Hash))
			default:
				add(template{name: strings.TrimSuffix(path.Base(f.Path), ".md"), about: "not used: it is not trusted", untrusted: f.Path}, nil)
			}
		}
	}
	slices.SortFunc(list, func(a, b template) int { return strings.Compare(a.name, b.name) })
	return list, errors.Join(errs...)
}

// readTemplate reads a file, of which the digest may be known that was trusted.
func readTemplate(file, sum string) (template, error) {
	t := template{name: strings.TrimSuffix(filepath.Base(file), ".md")}
	f, err := os.Open(file)
	if err != nil {
		return t, fmt.Errorf("the command /%s: %w", t.name, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return t, fmt.Errorf("the command /%s: %s: %w", t.name, file, fs.ErrInvalid)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxTemplate+1))
	if err != nil {
		return t, fmt.Errorf("the command /%s: %w", t.name, err)
	}
	if len(b) > maxTemplate {
		return t, fmt.Errorf("the command /%s: %s has more than %d bytes", t.name, file, maxTemplate)
	}
	if got := sha256.Sum256(b); sum != "" && hex.EncodeToString(got[:]) != sum {
		return t, fmt.Errorf("the command /%s: %s has changed since it was trusted; %s shows it", t.name, file, hint.Command("config trust"))
	}
	text, err := rootfs.Plain(b)
	if err != nil {
		return t, fmt.Errorf("the command /%s: %s: %w", t.name, file, err)
	}
	t.text = strings.ReplaceAll(text, "\r\n", "\n")
	if front, ok := strings.CutPrefix(t.text, "---\n"); ok {
		if front, body, ok := strings.Cut(front, "\n---\n"); ok {
			t.text = body
			for l := range strings.Lines(front) {
				if about, ok := strings.CutPrefix(l, "description:"); ok {
					t.about = strings.Trim(strings.TrimSpace(about), `"'`)
				}
			}
		}
	}
	t.text = strings.TrimSpace(t.text)
	first, _, _ := strings.Cut(t.text, "\n")
	t.about = cmp.Or(t.about, first)
	return t, nil
}

// expand puts arguments into the text: $ARGUMENTS is all of them, $1 to $9 are
// words of them, as a shell quotes words. A text without either gets them at its end.
func (t template) expand(args string) string {
	words := fields(args)
	var b strings.Builder
	used := false
	for rest := t.text; ; {
		before, after, found := strings.Cut(rest, "$")
		b.WriteString(before)
		if !found {
			break
		}
		rest = after
		if tail, ok := strings.CutPrefix("$"+after, "$ARGUMENTS"); ok {
			b.WriteString(args)
			rest, used = tail, true
			continue
		}
		if n, err := strconv.Atoi(after[:min(1, len(after))]); err == nil && n > 0 {
			if n <= len(words) {
				b.WriteString(words[n-1])
			}
			rest, used = after[1:], true
			continue
		}
		b.WriteByte('$')
	}
	if !used && args != "" {
		b.WriteString("\n\n" + args)
	}
	return b.String()
}

// fields are the words of a line; quotes keep blanks.
func fields(line string) (words []string) {
	var word strings.Builder
	open, quote := false, rune(0)
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, open = r, true
		case quote == 0 && (r == ' ' || r == '\t'):
			if open {
				words, open = append(words, word.String()), false
				word.Reset()
			}
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if open {
		words = append(words, word.String())
	}
	return words
}
