package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/adroit-run/adroit/pkg/cli"
	"github.com/adroit-run/adroit/pkg/parts"
)

// manual returns a man page for each command, and the completions for three shells.
func (d *dist) manual() ([]file, error) {
	root := cli.Program{Parts: parts.All()}.Command()
	root.DisableAutoGenTag = true
	var files []file
	var page func(c *cobra.Command) error
	page = func(c *cobra.Command) error {
		if !c.IsAvailableCommand() && c != root {
			return nil
		}
		var b bytes.Buffer
		if err := doc.GenMan(c, &doc.GenManHeader{Section: "1", Date: &d.time, Source: "adroit " + d.version, Manual: "adroit"}, &b); err != nil {
			return fmt.Errorf("the page of %s: %w", c.CommandPath(), err)
		}
		files = append(files, file{"man/man1/" + strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1", b.Bytes(), 0o644})
		for _, sub := range c.Commands() {
			if err := page(sub); err != nil {
				return err
			}
		}
		return nil
	}
	if err := page(root); err != nil {
		return nil, err
	}
	for name, write := range map[string]func(io.Writer) error{
		"adroit.bash": func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"_adroit":     root.GenZshCompletion,
		"adroit.fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return nil, fmt.Errorf("the completion %s: %w", name, err)
		}
		files = append(files, file{"completions/" + name, b.Bytes(), 0o644})
	}
	return files, nil
}
