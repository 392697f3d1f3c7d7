package cli_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/parts"
)

// A Glossary is the model's answer; its schema is derived from the type.
type Glossary struct {
	Terms []struct {
		Word    string `json:"word"`
		Meaning string `json:"meaning"`
	} `json:"terms"`
}

// glossary is a workflow of a program's own: what is read, asked and written,
// and in which order, is for code to say. In a program it stands in a package
// of its own, beside its agent file.
var glossary = agents.Define("glossary", func(sc *executor.Scope) error {
	text, err := sc.Tool("read_file", map[string]string{"path": "README.md"})
	if err != nil {
		return err
	}
	found, err := executor.AITurn[Glossary](sc, executor.Turn{Prompt: "Explain the terms that a newcomer does not know:\n" + text.Text})
	if err != nil {
		return err
	}
	page := "# Words\n\n"
	for _, t := range found.Terms {
		page += fmt.Sprintf("**%s**: %s\n", t.Word, t.Meaning)
	}
	wrote, err := sc.Tool("write_file", map[string]string{"path": "WORDS.md", "content": page})
	if err == nil && wrote.Failed {
		err = fmt.Errorf("write_file: %s", wrote.Text)
	}
	return err
})

const glossaryAgent = `---
name: glossary
description: Explain the words of the README in WORDS.md.
workflow: glossary
tools: [read_file, write_file]
done: {artifact: diff}
---
You explain words to newcomers, each in one sentence.
`

// A program with a workflow of its own is main with one line more:
//
//	os.Exit(cli.Program{Parts: parts.All(), Workflows: []flow.Workflow{glossary.Workflow},
//		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}.Run(ctx, os.Args[1:]...))
func ExampleProgram_workflows() {
	dir, err := os.MkdirTemp("", "glossary")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{
		"repo/README.md":                         "A job is durable.\n",
		"home/.config/adroit/agents/glossary.md": glossaryAgent,
		"turns.yaml":                             `turns: [{text: '{"terms": [{"word": "durable", "meaning": "It goes on after a crash."}]}'}]`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
	}
	env := map[string]string{"HOME": filepath.Join(dir, "home"), "ADROIT_HOME": filepath.Join(dir, "data"), "PATH": os.Getenv("PATH")}
	code := cli.Program{
		Parts: parts.All(), Workflows: []flow.Workflow{glossary},
		Stdout: os.Stdout, Stderr: os.Stderr, Getenv: func(name string) string { return env[name] },
	}.Run(context.Background(), "run", "glossary", "Write it.", "-C", filepath.Join(dir, "repo"), "-m", "script:"+filepath.Join(dir, "turns.yaml"))
	words, err := os.ReadFile(filepath.Join(dir, "repo", "WORDS.md"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("exit code %d\n%s", code, words)
	// Output:
	// exit code 0
	// # Words
	//
	// **durable**: It goes on after a crash.
}
