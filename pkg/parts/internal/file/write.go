package file

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/adroit-run/adroit/internal/builtin/edit"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// WriteInput is the input of write_file.
type WriteInput struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// Write is the tool write_file. Writing the same content twice is writing it
// once.
var Write = func() tools.Tool {
	t := writeTool
	t.Preview = func(env *tools.Env, args json.RawMessage) string {
		var in WriteInput
		if json.Unmarshal(args, &in) != nil {
			return ""
		}
		name := path.Clean(strings.TrimPrefix(in.Path, env.Files.Dir()+"/"))
		was, err := fs.ReadFile(env.Files.FS(), name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) || strings.ContainsRune(string(was), 0) {
			return ""
		}
		return edit.Diff(name, name, string(was), unwrap(in.Path, in.Content), err == nil, true)
	}
	return t
}()

var writeTool = tools.New(tools.Metadata{
	Name: "write_file", Category: "code",
	Needs: tools.Read | tools.Write, Paths: []string{"path"}, Effect: tools.Idempotent,
	Examples: []tools.Example{{Note: "a new file", Args: json.RawMessage(`{"path":"hello.txt","content":"hello\n"}`)}},
}.ProseIn(descriptions), write)

func write(_ context.Context, env *tools.Env, in WriteInput) (tools.Result, error) {
	if strings.ContainsRune(in.Content, 0) {
		return tools.Result{}, errors.New("content holds a NUL byte: write_file writes text only")
	}
	content, note := unwrap(in.Path, in.Content), ""
	if content != in.Content {
		note = "; the fence around the content was left out"
	}
	switch _, err := env.Files.Stat(in.Path); {
	case errors.Is(err, fs.ErrNotExist):
		return create(env.Files, "created", in.Path, content, note)
	case err != nil:
		return tools.Result{}, err
	}
	if err := env.Files.Fresh(in.Path); err != nil {
		return tools.Result{}, err
	}
	t, err := env.Files.ReadText(in.Path)
	if err != nil { // not text so far: what is written is all there will be
		return create(env.Files, "replaced, which was no text", in.Path, content, note)
	}
	was := t.Content
	t.Content = strings.ReplaceAll(content, "\r\n", "\n")
	if t.Content, err = edit.AsSent(was, t.Content); err != nil {
		return tools.Result{}, fmt.Errorf("%s: %w", in.Path, err)
	}
	t.Content = end(was, t.Content)
	if err := edit.Whole(in.Path, was, t.Content); err != nil {
		return tools.Result{}, fmt.Errorf("%s: %w", in.Path, err)
	}
	if t.Content == was {
		text := spelling.PathLine(in.Path) + " holds exactly this already; nothing was changed"
		return tools.Result{Text: text, Summary: text}, nil
	}
	if err := env.Files.WriteText(in.Path, t); err != nil {
		return tools.Result{}, err
	}
	text := fmt.Sprintf("%s replaced, %s, %s%s", spelling.PathLine(in.Path), count(t.Content), edit.Difference(was, t.Content), note)
	return tools.Result{Text: text, Summary: text, Diff: edit.Shortened(edit.Diff(in.Path, in.Path, was, t.Content, true, true))}, nil
}

// end gives content the end that the file has: hardly anybody means to add or
// take away its last newline, unless that is all there is to the change.
func end(was, content string) string {
	bare, had := strings.CutSuffix(content, "\n")
	switch has := strings.HasSuffix(was, "\n"); {
	case was == "" || content == "" || has == had || bare == strings.TrimSuffix(was, "\n"):
		return content
	case has:
		return content + "\n"
	}
	return bare
}

func create(files *workspace.Files, did, name, content, note string) (tools.Result, error) {
	if err := edit.Whole(name, "", content); err != nil {
		return tools.Result{}, fmt.Errorf("%s: %w", name, err)
	}
	if err := files.WriteFile(name, []byte(content)); err != nil {
		return tools.Result{}, err
	}
	text := fmt.Sprintf("%s %s, %s%s", spelling.PathLine(name), did, count(content), note)
	return tools.Result{Text: text, Summary: text}, nil
}

func count(content string) string {
	n := strings.Count(content, "\n")
	if content != "" && !strings.HasSuffix(content, "\n") {
		n++
	}
	return spelling.Plural(n, "line")
}

var opening = lazyregexp.New("^\\s*```[\\w+#.-]*\\s*$")

// unwrap takes off the fence, and the line with the path above it, in which
// models put whole files. A document may begin and end with a fence of its own.
func unwrap(name, s string) string {
	ls := strings.Split(strings.TrimRight(s, "\n"), "\n")
	at := 0
	if head := strings.Trim(ls[0], "*`# :"); head == name || head == path.Base(name) {
		at = 1
	} else if ext := strings.ToLower(path.Ext(name)); ext == ".md" || ext == ".markdown" || ext == ".rst" || ext == ".txt" {
		return s
	}
	last := len(ls) - 1
	if last-at < 1 || !opening.MatchString(ls[at]) || strings.TrimSpace(ls[last]) != "```" {
		return s
	}
	return strings.Join(ls[at+1:last], "\n") + "\n"
}

type acceptInput struct {
	Files []turn.HeldFile `json:"files" jsonschema:"minItems=1,maxItems=50"`
}

// Accept is the tool accept_files: it writes files that a command made and that were kept
// out of the workspace, since programs outside the sandbox obey them. The loop calls it
// after the command; what it shows is the text of each.
var Accept = func() tools.Tool {
	t := tools.New(tools.Metadata{
		Name: turn.AcceptFiles, Category: "code", Needs: tools.Read | tools.Write, Effect: tools.Idempotent,
		Asks:     "a command made what programs outside the sandbox would run or obey, or what a rule asks about",
		Examples: []tools.Example{{Args: json.RawMessage(`{"files":[{"path":".github/workflows/ci.yml","sha256":"9f86d081"}]}`)}},
	}.ProseIn(descriptions), accept)
	t.Touches = func(args json.RawMessage) []string {
		var in acceptInput
		_ = json.Unmarshal(args, &in) // the arguments have been validated
		var out []string
		for _, f := range in.Files {
			out = append(out, f.Path)
		}
		return out
	}
	t.Preview = acceptPreview
	return t
}()

func accept(_ context.Context, env *tools.Env, in acceptInput) (tools.Result, error) {
	files := env.Files.Accepting()
	if files.Ledger == nil {
		return tools.Result{}, errors.New("nothing is kept here of what commands made: only a job does that")
	}
	var names []string
	for _, f := range in.Files {
		data, err := files.Ledger.Load(f.SHA256)
		if err != nil {
			return tools.Result{}, fmt.Errorf("%s: %w", f.Path, err)
		}
		after := rootfs.State{Type: rootfs.TypeFile, Mode: 0o644 &^ rootfs.Umask(), Digest: f.SHA256, Size: int64(len(data))}
		if f.Executable {
			after.Mode = 0o755 &^ rootfs.Umask()
		}
		var before rootfs.State
		if f.Was != "" {
			if before, err = files.Keep(f.Path); err != nil {
				return tools.Result{}, err
			}
			if before.Digest != f.Was { // Apply says that it was changed
				before = rootfs.State{Type: rootfs.TypeFile, Digest: f.Was}
			}
			after.Mode = after.Mode&0o111 | before.Mode
		}
		real, err := files.Real(f.Path)
		if err != nil {
			return tools.Result{}, err
		}
		if real != f.Path {
			return tools.Result{}, &rootfs.PathError{Name: f.Path, Reason: "leads somewhere else by now"}
		}
		if err := files.Apply(rootfs.Transition{Path: rootfs.RawName(f.Path), Before: before, After: after}, func(string) {}); err != nil {
			return tools.Result{}, err
		}
		names = append(names, spelling.PathLine(f.Path))
	}
	text := "brought in " + strings.Join(names, ", ")
	return tools.Result{Text: text, Summary: text}, nil
}

// acceptPreview is the text of the files, as one that adds them, or what changes of them.
func acceptPreview(env *tools.Env, args json.RawMessage) string {
	var in acceptInput
	if json.Unmarshal(args, &in) != nil || env.Files.Ledger == nil {
		return ""
	}
	var b strings.Builder
	for _, f := range in.Files {
		what, _, _ := rootfs.Obeyed(f.Path)
		kind := "a new file"
		if f.Was != "" {
			kind = "a changed file"
		}
		fmt.Fprintf(&b, "%s, %s, %s", spelling.PathLine(f.Path), kind, cmp.Or(f.Rule, what))
		if f.Executable {
			b.WriteString("; it is executable")
		}
		b.WriteString("\n")
		data, err := env.Files.Ledger.Load(f.SHA256)
		if err != nil {
			fmt.Fprintf(&b, "(%v)\n", err)
		}
		if old, err := fs.ReadFile(env.Files.FS(), f.Path); f.Was != "" && err == nil {
			b.WriteString(udiff.Unified("before", "after", string(old), string(data)))
			continue
		}
		for line := range strings.Lines(string(data)) {
			b.WriteString("+" + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
