package file

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/tools"
)

type acceptInput struct {
	Files []turn.HeldFile `json:"files" jsonschema:"minItems=1,maxItems=50"`
}

//go:embed accept_files.md
var acceptProse string

// Accept is the tool accept_files: it writes files that a command made and that were kept
// out of the workspace, since programs outside the sandbox obey them. The loop calls it
// after the command; what it shows is the text of each.
var Accept = func() tools.Tool {
	t := tools.New(tools.Metadata{
		Name: turn.AcceptFiles, Category: "code", Needs: tools.Read | tools.Write, Effect: tools.Idempotent,
		Asks:     "programs outside the sandbox would run or obey what the command made",
		Examples: []tools.Example{{Args: json.RawMessage(`{"files":[{"path":".github/workflows/ci.yml","sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}]}`)}},
	}.Prose(acceptProse), accept)
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
		real, err := files.Real(f.Path)
		if err != nil {
			return tools.Result{}, err
		}
		if real != f.Path {
			return tools.Result{}, &rootfs.PathError{Name: f.Path, Reason: "leads somewhere else by now"}
		}
		if err := files.Apply(rootfs.Transition{Path: rootfs.RawName(f.Path), After: after}, func(string) {}); err != nil {
			return tools.Result{}, err
		}
		names = append(names, spelling.PathLine(f.Path))
	}
	text := "brought in " + strings.Join(names, ", ")
	return tools.Result{Text: text, Summary: text}, nil
}

// acceptPreview is the text of the files, as one that adds them.
func acceptPreview(env *tools.Env, args json.RawMessage) string {
	var in acceptInput
	if json.Unmarshal(args, &in) != nil || env.Files.Ledger == nil {
		return ""
	}
	var b strings.Builder
	for _, f := range in.Files {
		what, _, _ := rootfs.Obeyed(f.Path)
		fmt.Fprintf(&b, "%s, a new file, %s", spelling.PathLine(f.Path), what)
		if f.Executable {
			b.WriteString("; it is executable")
		}
		b.WriteString("\n")
		data, err := env.Files.Ledger.Load(f.SHA256)
		if err != nil {
			fmt.Fprintf(&b, "(%v)\n", err)
		}
		for line := range strings.Lines(string(data)) {
			b.WriteString("+" + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
