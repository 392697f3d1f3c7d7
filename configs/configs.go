// Package configs embeds what ships with the program as data: agents, pipelines, their
// JSON Schema and the demonstration.
//
// It is not where users put theirs: see agents.Layer for what lies over these.
package configs

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

//go:embed agents/*.md
var agents embed.FS

//go:embed pipelines/*.yaml
var pipelines embed.FS

//go:embed demo
var demo embed.FS

//go:embed schemas/pipeline.json
var pipelineSchema []byte

//go:embed schemas/config.schema.json
var configSchema []byte

// Agents has the built-in agents, one Markdown file each.
func Agents() fs.FS { return sub(agents, "agents") }

// Pipelines has the built-in pipelines, one YAML file each.
func Pipelines() fs.FS { return sub(pipelines, "pipelines") }

// PipelineSchema is the JSON Schema of a pipeline's file.
func PipelineSchema() []byte { return pipelineSchema }

// ConfigSchema is the JSON Schema of the configuration of a program with all parts that
// ship. The $comment of a section is the name of its part.
func ConfigSchema() []byte { return configSchema }

// DemoPrompt is the demonstration's request to the builder.
const DemoPrompt = "Two tests fail: the total of a cart is off by a cent. Find out why and fix it."

// The projects of the demonstration. Each is a cart with the same fault.
const (
	DemoGo    = "go"    // a Go module
	DemoShell = "shell" // for machines without Go; [DemoShellTest] runs its tests
)

// DemoShellTest is the command that runs the tests of [DemoShell], as TAP.
const DemoShellTest = "sh cart_test.sh"

// DemoTurns is the script of the model that plays the demonstration with a project.
func DemoTurns(project string) []byte { return must(demo.ReadFile("demo/" + project + ".yaml")) }

// WriteDemo writes a project of the demonstration into dir, which it creates.
func WriteDemo(dir, project string) error {
	repo := sub(demo, "demo/"+project)
	return fs.WalkDir(repo, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		// Files are embedded as .txt, so that they are no part of this module.
		to := filepath.Join(dir, filepath.FromSlash(strings.TrimSuffix(name, ".txt")))
		if e.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		b, err := fs.ReadFile(repo, name)
		if err != nil {
			return err
		}
		if err := rootfs.WriteScratch(to, 0o644, b); err != nil {
			return fmt.Errorf("writing the demonstration: %w", err)
		}
		return nil
	})
}

func sub(f embed.FS, dir string) fs.FS { return must(fs.Sub(f, dir)) }

// must is for what the compiler has embedded: it is there, or nothing runs.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
