// Package parts is the explicit list of the parts that ship.
//
//	cli.Main(parts.All()...)
//	set, err := tools.NewSet(append(parts.Tools(), wordcount.Tool)...)
//
// What is optional lies in its internal folder, where core, configuration and command line
// cannot name it.
package parts

import (
	"context"

	"github.com/adroit-run/adroit/internal/builtin/control"
	"github.com/adroit-run/adroit/internal/builtin/edit"
	"github.com/adroit-run/adroit/internal/builtin/test"
	"github.com/adroit-run/adroit/internal/host/doctor"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/parts/internal/blog"
	"github.com/adroit-run/adroit/pkg/parts/internal/file"
	"github.com/adroit-run/adroit/pkg/parts/internal/github"
	"github.com/adroit-run/adroit/pkg/parts/internal/gittool"
	"github.com/adroit-run/adroit/pkg/parts/internal/navigate"
	"github.com/adroit-run/adroit/pkg/parts/internal/podcast"
	"github.com/adroit-run/adroit/pkg/parts/internal/publish"
	"github.com/adroit-run/adroit/pkg/parts/internal/research"
	"github.com/adroit-run/adroit/pkg/parts/internal/review"
	"github.com/adroit-run/adroit/pkg/parts/internal/search"
	"github.com/adroit-run/adroit/pkg/parts/internal/shell"
	"github.com/adroit-run/adroit/pkg/tools"
)

// All is every part that ships, each by what one would grant together.
func All() []adroit.Part {
	return []adroit.Part{
		bundle(tools.Bundle{
			Name: "code", Description: "Read, search and change the files of a project.",
			Required: []tools.Tool{file.Read, edit.File, search.Tool, file.Write, file.List},
			Optional: []tools.Tool{file.Delete, file.Move, file.Accept, edit.Blocks, edit.Patch, edit.Long, edit.Replay},
		}, program{name: "rg", use: "faster searches", version: "--version"}),
		bundle(tools.Bundle{
			Name: "navigate", Description: "Find the way in code, and what is wrong in it.",
			Optional: []tools.Tool{navigate.Outline, navigate.Diagnostics, navigate.Definition, navigate.References},
		}, program{name: "ctags", use: "outlines of languages other than Go", version: "--version"}),
		bundle(tools.Bundle{
			Name: "git", Description: "See and record changes in the local repository.",
			Required: []tools.Tool{gittool.Status},
			Optional: []tools.Tool{gittool.Diff, gittool.Log, gittool.Show, gittool.Blame, gittool.Commit, gittool.Branch, gittool.Continue},
		}),
		github.Part(),
		bundle(tools.Bundle{
			Name: "test", Description: "Run the project's tests and other checks.",
			Required: []tools.Tool{test.Run},
			Optional: []tools.Tool{test.Check, test.Format},
		}, program{"go", "tests of Go projects", "version", []string{"*.go", "go.mod"}}, program{"pytest", "tests of Python projects", "--version", []string{"*.py"}},
			program{"node", "tests of JavaScript projects", "--version", []string{"package.json", "*.js", "*.ts"}}, program{"cargo", "tests of Rust projects", "--version", []string{"*.rs", "Cargo.toml"}}),
		bundle(tools.Bundle{
			Name: "shell", Description: "Run any command, also in the background.",
			Required: []tools.Tool{shell.Run},
			Optional: []tools.Tool{shell.Output, shell.Kill, shell.Online, shell.Rerun, shell.Outside},
		}),
		bundle(tools.Bundle{
			Name: "review", Description: "Say what was found as typed artifacts.",
			Required: []tools.Tool{review.Findings, review.Triage},
			Optional: []tools.Tool{search.Pure, review.Check},
		}),
		research.Part(),
		bundle(tools.Bundle{
			Name: "blog", Description: "Write a post, at once or section by section.",
			Required: []tools.Tool{blog.Write},
			Optional: []tools.Tool{blog.Analyze, blog.Outline, blog.Expand, blog.Assemble, blog.Check, blog.Social, blog.Save, blog.CheckPost},
		}),
		publish.Part(),
		podcast.Part(),
		bundle(tools.Bundle{
			Name: "control", Description: "Say what is to be done, and that it is.",
			Required: []tools.Tool{control.Finish},
			Optional: []tools.Tool{control.ReadSkill, control.ReadResult, control.Describe, control.Spawn, control.Remember, control.Recall, control.Todo},
		}),
	}
}

// A program of the machine is run by tools; it prints its version with that argument.
type program struct {
	name, use, version string
	files              []string // it is for projects that have one of these; none: tools do without it
}

// bundle is a part without a section, whose tools run these programs.
func bundle(b tools.Bundle, runs ...program) adroit.Part {
	return adroit.Part{Name: b.Name, About: b.Description, Tools: b.Tools(), Examine: func(ctx context.Context) (out []adroit.Finding) {
		for _, p := range runs {
			f := doctor.Program(ctx, p.name, p.use, p.version)
			f.For, f.Optional = p.files, p.files == nil
			out = append(out, f)
		}
		return out
	}}
}

// Tools returns every tool that ships, part by part, as if nothing were configured.
func Tools() []tools.Tool { return adroit.ToolsOf(All()) }
