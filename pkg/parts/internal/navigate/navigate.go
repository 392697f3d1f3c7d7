// Package navigate finds its way in code: what a file declares, where a name
// is declared and used, and what is wrong.
//
//	set, err := tools.NewSet(navigate.Outline, navigate.Definition, navigate.References, navigate.Diagnostics)
//
// Language servers answer where they exist (see [tools.Codebase]). Without one,
// Go is parsed and type-checked here, within its module; for other languages
// universal-ctags finds declarations. A result names its source if that is less
// than a server.
package navigate

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

//go:embed *.md
var descriptions embed.FS

const (
	patience  = 60 * time.Second
	mostFiles = 20_000  // that are looked through for a name
	maxFile   = 2 << 20 // bytes; larger files are hardly written by hand
	mostSpots = 100
	maxText   = 20_000 // bytes of a result
	maxLine   = 200    // bytes of a line
)

// A code is the workspace as the tools of this package see it.
type code struct{ env *tools.Env }

// read returns a file's text. It does not count as the model having read it.
func (c code) read(name string) (string, error) {
	b, err := c.env.Files.Peek(name, nil, maxFile+1)
	if err != nil {
		return "", err
	}
	if len(b) > maxFile {
		return "", &workspace.TooLargeError{Name: name, Size: int64(len(b)), Limit: maxFile}
	}
	return string(b), nil
}

// clean makes a name that a model wrote one relative to the workspace.
func (c code) clean(name string) string {
	name = strings.TrimPrefix(filepath.ToSlash(name), filepath.ToSlash(c.env.Files.Dir())+"/")
	if name == c.env.Files.Dir() || name == "" {
		return "."
	}
	return strings.TrimPrefix(filepath.ToSlash(filepath.Clean(name)), "./")
}

// files lists the files at a path, itself if it is one, that match.
func (c code) files(ctx context.Context, at string, match func(string) bool) (names []string, err error) {
	entries, _, err := c.entries(ctx, at, match)
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names, err
}

// entries is files with sizes and times.
func (c code) entries(ctx context.Context, at string, match func(string) bool) (out []workspace.Entry, more bool, err error) {
	at = c.clean(at)
	if at != "." {
		info, err := c.env.Files.Stat(at)
		if err != nil {
			return nil, false, err
		}
		if !info.IsDir() {
			return []workspace.Entry{{Name: at, Size: info.Size(), Mode: info.Mode(), Time: info.ModTime()}}, false, nil
		}
	}
	entries, more, err := c.env.Files.List(ctx, workspace.ListOptions{Dir: at, Max: mostFiles})
	if err != nil {
		return nil, false, err
	}
	for _, e := range entries {
		if e.Mode.IsRegular() && e.Size <= maxFile && match(e.Name) {
			out = append(out, e)
		}
	}
	return out, more, nil
}

func isGo(name string) bool { return strings.HasSuffix(name, ".go") }

// with lists the files that have word in them, with their texts.
func (c code) with(ctx context.Context, word string, match func(string) bool) (map[string]string, []string, error) {
	names, err := c.files(ctx, ".", match)
	if err != nil {
		return nil, nil, err
	}
	return c.withWord(ctx, word, names)
}

func (c code) withWord(ctx context.Context, word string, names []string) (map[string]string, []string, error) {
	re := wordRE(word)
	texts := map[string]string{}
	var have []string
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		text, err := c.read(name)
		if err != nil || isBinary(text) {
			continue // gone meanwhile, not for us to read, or not text
		}
		if strings.Contains(text, word) && re.MatchString(text) {
			texts[name] = text
			have = append(have, name)
		}
	}
	return texts, have, nil
}

func isBinary(text string) bool { return strings.IndexByte(text[:min(len(text), 8000)], 0) >= 0 }

// wordRE matches word where it is not part of a longer one.
func wordRE(word string) *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^\pL\pN_$])(` + regexp.QuoteMeta(word) + `)(?:$|[^\pL\pN_$])`)
}

// column finds word in a line, from 1 in bytes; 0 if it is not there.
func column(line, word string) int {
	if m := wordRE(word).FindStringSubmatchIndex(line); m != nil {
		return m[2] + 1
	}
	return 0
}

// bare returns the identifier in what a model calls a name: "shop.Cart.Total()",
// "Cart::total", "*Cart".
func bare(name string) (string, error) {
	s := strings.TrimSpace(name)
	if i := strings.IndexAny(s, "(["); i > 0 {
		s = s[:i]
	}
	if i := strings.LastIndexAny(s, ".:#>*& "); i >= 0 {
		s = s[i+1:]
	}
	r, _ := utf8.DecodeRuneInString(s)
	if s == "" || !unicode.IsLetter(r) && r != '_' && r != '$' {
		return "", fmt.Errorf("%q is not a name; give an identifier such as Total, and use search for other text", name)
	}
	return s, nil
}

// mostTried bounds the places of a word that are asked about in turn.
const mostTried = 6

// near finds word in a file, first where it is nearest to the line: models
// miscount, and the first hit may be in a comment. Line 0 means anywhere.
func (c code) near(file string, line int, word string) ([]tools.Location, error) {
	text, err := c.read(file)
	if err != nil {
		return nil, err
	}
	var spots []tools.Location
	re := wordRE(word)
	for i, l := range strings.Split(text, "\n") {
		for off := 0; off < len(l); {
			m := re.FindStringSubmatchIndex(l[off:])
			if m == nil {
				break
			}
			spots = append(spots, tools.Location{File: file, Line: i + 1, Column: off + m[2] + 1})
			off += m[3]
		}
	}
	if len(spots) == 0 {
		return nil, fmt.Errorf("%s does not occur in %s; search for it, or leave path out", word, file)
	}
	if line > 0 {
		slices.SortStableFunc(spots, func(a, b tools.Location) int { return dist(a.Line, line) - dist(b.Line, line) })
	}
	return spots[:min(len(spots), mostTried)], nil
}

func dist(a, b int) int { return max(a-b, b-a) }

// show writes places with their lines, file by file.
func (c code) show(spots []tools.Location) string {
	var b strings.Builder
	texts := map[string][]string{}
	last := ""
	for i, s := range spots {
		if i == mostSpots || b.Len() > maxText {
			fmt.Fprintf(&b, "[%d more]\n", len(spots)-i)
			break
		}
		if s.File != last {
			last = s.File
			b.WriteString(s.File)
			if filepath.IsAbs(s.File) {
				b.WriteString(" (outside the workspace)")
			}
			b.WriteByte('\n')
			if text, err := c.read(s.File); err == nil {
				texts[s.File] = strings.Split(text, "\n")
			}
		}
		line := ""
		if ls := texts[s.File]; s.Line >= 1 && s.Line <= len(ls) {
			line = clip(strings.TrimSpace(ls[s.Line-1]))
		}
		fmt.Fprintf(&b, "%d: %s\n", s.Line, line)
	}
	return b.String()
}

func clip(s string) string {
	if len(s) > maxLine {
		s = s[:maxLine] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// unserved reports why no server answers, "" if err is about something else.
func unserved(env *tools.Env, err error) string {
	switch {
	case env.Code == nil:
		return "there is no language server here"
	case errors.Is(err, tools.ErrNoServer):
		return err.Error()
	}
	return ""
}

// write shows the declarations of a file: the line as it is says most.
func write(b *strings.Builder, name, text string, syms []tools.Symbol) {
	lines := strings.Split(text, "\n")
	fmt.Fprintf(b, "%s (%d lines)\n", name, len(lines))
	for i, s := range syms {
		if b.Len() > maxText {
			fmt.Fprintf(b, "[%d more]\n", len(syms)-i)
			return
		}
		line := s.Kind + " " + s.Name
		if s.Line >= 1 && s.Line <= len(lines) && strings.Contains(lines[s.Line-1], s.Name) {
			line = strings.TrimRight(strings.TrimSpace(lines[s.Line-1]), " {:")
		}
		where := fmt.Sprint(s.Line)
		if s.End > s.Line {
			where = fmt.Sprintf("%d-%d", s.Line, s.End)
		}
		fmt.Fprintf(b, "%s%s: %s\n", strings.Repeat("  ", s.Depth+1), where, clip(line))
	}
}

var errNoTags = errors.New("universal-ctags is not installed")

const maxTags = 8 << 20 // bytes of what ctags prints

// ctags lists what files declare, by file.
func (c code) ctags(ctx context.Context, names []string) (map[string][]tools.Symbol, error) {
	if _, err := hostexec.InSandbox("ctags"); err != nil || c.env.Exec == nil {
		return nil, errNoTags
	}
	var list strings.Builder
	for _, name := range names {
		if !strings.ContainsAny(name, "\n\r") {
			list.WriteString("./" + name + "\n")
		}
	}
	out := &bounded{most: maxTags}
	// A repository's own options could run programs: none are read.
	o, err := c.env.Exec.Run(ctx, process.Cmd{
		Args:  []string{"ctags", "--options=NONE", "--output-format=json", "--fields=+neKS", "--sort=no", "--links=no", "-f", "-", "-L", "-"},
		Stdin: []byte(list.String()), Stdout: out, Timeout: patience})
	if err != nil {
		return nil, err
	}
	if o.Code != 0 {
		return nil, errNoTags // or another program of that name
	}
	by := map[string][]tools.Symbol{}
	for line := range bytes.Lines(out.Bytes()) {
		var tag struct {
			Type      string `json:"_type"`
			Name      string `json:"name"`
			Path      string `json:"path"`
			Line      int    `json:"line"`
			End       int    `json:"end"`
			Kind      string `json:"kind"`
			ScopeKind string `json:"scopeKind"`
			Scope     string `json:"scope"`
		}
		if json.Unmarshal(line, &tag) != nil || tag.Type != "tag" || strings.HasPrefix(tag.Name, "__anon") {
			continue
		}
		switch tag.ScopeKind {
		case "function", "method", "func", "member", "variable", "constant":
			continue // inside of a function
		}
		switch tag.Kind {
		case "unknown", "parameter", "local", "package", "heredoc":
			continue
		}
		depth := 0
		if tag.Scope != "" {
			depth = 1
		}
		name := strings.TrimPrefix(tag.Path, "./")
		by[name] = append(by[name], tools.Symbol{Name: tag.Name, Kind: tag.Kind, End: tag.End, Depth: depth, Location: tools.Location{File: name, Line: tag.Line, Column: 1}})
	}
	for _, syms := range by {
		slices.SortStableFunc(syms, func(a, b tools.Symbol) int { return cmp.Compare(a.Line, b.Line) })
	}
	return by, nil
}

// A bounded buffer takes everything and keeps the beginning.
type bounded struct {
	bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.most - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
