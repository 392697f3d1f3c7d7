package edit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/tools"
)

// BlocksInput is the input of edit_blocks.
type BlocksInput struct {
	Blocks string `json:"blocks" jsonschema:"description=Blocks; each is the path then <<<<<<< SEARCH then the old lines then ======= then the new lines then >>>>>>> REPLACE; every marker on a line of its own"`
}

// Blocks is the tool edit_blocks: search/replace blocks for any number of
// files, all or none.
var Blocks = previewed(withTouches(tools.New(tools.Metadata{
	Name: "edit_blocks", Category: "code", Needs: tools.Read | tools.Write, Effect: tools.Unsafe,
	Examples: []tools.Example{{Note: "one block", Args: json.RawMessage(`{"blocks":"cart.go\n<<<<<<< SEARCH\n\tsum := 0\n=======\n\ttotal := 0\n>>>>>>> REPLACE\n"}`)}},
}.ProseIn(descriptions), blocks), blockNames), (*plan).blocks)

func blocks(_ context.Context, env *tools.Env, in BlocksInput) (tools.Result, error) {
	p := newPlan(env.Files)
	if err := p.blocks(in); err != nil {
		return tools.Result{}, err
	}
	if err := p.commit(); err != nil {
		return tools.Result{}, err
	}
	return p.result(), nil
}

func (p *plan) blocks(in BlocksInput) error {
	bs, err := parseBlocks(in.Blocks)
	if err != nil {
		return err
	}
	for i, b := range bs {
		if err := p.block(b); err != nil {
			if len(bs) > 1 {
				return fmt.Errorf("block %d of %d does not fit, so none was applied: %w", i+1, len(bs), err)
			}
			return err
		}
	}
	return nil
}

func (p *plan) block(b block) error {
	if strings.TrimSpace(b.old) == "" {
		if _, err := p.files.Stat(b.path); err == nil {
			return fmt.Errorf("%s: the SEARCH part is empty, and the file exists: quote the lines that are to be replaced", b.path)
		}
		return p.create(b.path, b.new)
	}
	d, err := p.open(b.path)
	if err != nil {
		return err
	}
	if err := d.replace(b.old, b.new, false); err != nil {
		return fmt.Errorf("%s: %w", b.path, called("the SEARCH lines", err))
	}
	return nil
}

// A block is one search/replace block.
type block struct{ path, old, new string }

var (
	blockHead  = lazyregexp.New(`^\s*<{5,9}\s*(SEARCH|ORIGINAL|HEAD|OLD)\b.*$`)
	blockMid   = lazyregexp.New(`^\s*={5,9}\s*$`)
	blockTail  = lazyregexp.New(`^\s*>{5,9}\s*(REPLACE|UPDATED|NEW|SEARCH)?\b.*$`)
	fence      = lazyregexp.New("^\\s*(```+|~~~+)\\s*[\\w+.#-]*\\s*$")
	fencedPath = lazyregexp.New("^\\s*```+[\\w+#-]*[ :]([\\w./-]+\\.\\w+)\\s*$")
)

const blockForm = "The form is:\npath/of/file\n<<<<<<< SEARCH\nlines as they are\n=======\nlines as they become\n>>>>>>> REPLACE"

// parseBlocks reads blocks amid prose and fences. The path is on the line
// above a block or above its fence; a block without one belongs to the file
// of the block before it.
func parseBlocks(s string) ([]block, error) {
	s = unixLines(s)
	ls := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	var out []block
	path := ""
	above := 0 // where the text since the last block begins
	for i := 0; i < len(ls); i++ {
		if blockTail.MatchString(ls[i]) {
			return nil, fmt.Errorf("line %d (%s) ends a block that no <<<<<<< SEARCH begins; nothing was changed. %s", i+1, clip(trim(ls[i])), blockForm)
		}
		if !blockHead.MatchString(ls[i]) {
			continue
		}
		if p := pathAbove(ls[above:i]); p != "" {
			path = p
		}
		if path == "" {
			return nil, fmt.Errorf("the block at line %d names no file: put its path on the line above. %s", i+1, blockForm)
		}
		mid, tail := -1, -1
		for j := i + 1; j < len(ls) && tail < 0; j++ {
			switch {
			case blockHead.MatchString(ls[j]):
				return nil, fmt.Errorf("a block begins at line %d before the one at line %d has ended with >>>>>>> REPLACE; nothing was changed", j+1, i+1)
			case blockMid.MatchString(ls[j]) && mid >= 0:
				return nil, fmt.Errorf("the block at line %d has two lines of =======, and nobody can tell which one divides it; nothing was changed. Choose the lines so that none of them is =======", i+1)
			case blockMid.MatchString(ls[j]):
				mid = j
			case blockTail.MatchString(ls[j]):
				tail = j
			}
		}
		if mid < 0 || tail < 0 {
			return nil, fmt.Errorf("the block at line %d lacks ======= or >>>>>>> REPLACE; nothing was changed. %s", i+1, blockForm)
		}
		out = append(out, block{path, closed(ls[i+1:mid], true), closed(ls[mid+1:tail], true)})
		i, above = tail, tail+1
	}
	if len(out) == 0 {
		return nil, errors.New("there is no block. " + blockForm)
	}
	return out, nil
}

// pathAbove is the path in the last line above a block that is neither blank
// nor a fence, "" if that line is not one.
func pathAbove(ls []string) string {
	for i := len(ls) - 1; i >= 0; i-- {
		l := strings.TrimSpace(ls[i])
		if m := fencedPath.FindStringSubmatch(l); m != nil {
			return m[1]
		}
		if l == "" || fence.MatchString(l) {
			continue
		}
		return pathIn(l)
	}
	return ""
}

// label matches what may stand in front of a path: a sign of a heading, list or
// comment and a word such as "File:". Each needs what divides it from the path,
// or it is the beginning of the path: "fileutil.go", "paths.py", "*a.go", "-x/a.go".
var label = lazyregexp.New(`(?i)^(//[ \t]*|(#+|--|;|\*|-)[ \t]+)?([*_"'\x60]*(file(name)?|path)[*_]*(:[*_]*[ \t]*|[ \t]+))?`)

// pathIn takes the decoration off a line that names a file. A line with blanks
// inside is prose, and so is one without a letter or digit.
func pathIn(l string) string {
	l = undecorated(l)
	l = undecorated(strings.TrimPrefix(l, label.FindString(l)))
	if strings.ContainsAny(l, " \t<>|") || !strings.ContainsFunc(l, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) ||
		strings.HasSuffix(l, ".") || !strings.ContainsAny(l, "./_") && !strings.Contains(known, " "+l+" ") {
		return ""
	}
	return l
}

// undecorated takes off a colon at the end and the marks that Markdown puts on
// both sides.
func undecorated(l string) string {
	for was := ""; was != l; {
		was, l = l, strings.TrimSpace(strings.TrimSuffix(l, ":"))
		for _, q := range []string{"*", "`", `"`, "'"} {
			if len(l) > 2 && strings.HasPrefix(l, q) && strings.HasSuffix(l, q) {
				l = l[1 : len(l)-1]
			}
		}
	}
	return l
}

// known are names of files without a point or a slash.
const known = " Makefile Dockerfile LICENSE COPYING NOTICE AUTHORS README CHANGELOG CHANGES TODO Gemfile Rakefile Procfile Vagrantfile Jenkinsfile "

// withTouches lets path rules see the files that a call's text names. A text that cannot
// be parsed names none, and changes none.
func withTouches(t tools.Tool, names func(args json.RawMessage) []string) tools.Tool {
	t.Touches = names
	return t
}

func patchNames(args json.RawMessage) []string {
	var in PatchInput
	if json.Unmarshal(args, &in) != nil {
		return nil
	}
	secs, err := parsePatch(in.Patch)
	if err != nil {
		return nil
	}
	var out []string
	for _, s := range secs {
		out = append(out, s.path)
		if s.to != "" {
			out = append(out, s.to)
		}
	}
	return out
}

func blockNames(args json.RawMessage) []string {
	var in BlocksInput
	if json.Unmarshal(args, &in) != nil {
		return nil
	}
	bs, err := parseBlocks(in.Blocks)
	if err != nil {
		return nil
	}
	var out []string
	for _, b := range bs {
		out = append(out, b.path)
	}
	return out
}
