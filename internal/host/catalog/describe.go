package catalog

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/tools/test"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// Bounds of what a first message says of the workspace.
const (
	mostNames   = 60
	mostFolders = 40
	mostListed  = 5000
)

// Describe describes the workspace of files to an agent that is to change it: its
// files, or its directories if they are many, and, if tests is set, how the tests are run, by
// command if one is configured. denied are names that are left out, nil for the usual
// ones. It reads names and runs nothing; "" if there is
// nothing to say.
func Describe(ctx context.Context, files *workspace.Files, tests bool, command string, denied *workspace.DenyList) string {
	if files == nil {
		return "" // the job itself says what is wrong with it
	}
	if denied != nil {
		files = files.WithDenyList(denied)
	}
	entries, more, err := files.List(ctx, workspace.ListOptions{Max: mostListed})
	if err != nil || len(entries) == 0 {
		return ""
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	text := "Files: " + strings.Join(names, ", ")
	if len(names) > mostNames {
		text = "Directories, with the number of their files: " + folders(names, more)
	}
	if !tests {
		return text
	}
	if command == "" {
		command = test.Command(files)
	}
	if command != "" {
		text += "\nTests: " + command
	}
	return text
}

// folders counts files by directory, those further up first.
func folders(names []string, more bool) string {
	count := map[string]int{}
	for _, name := range names {
		count[path.Dir(name)]++
	}
	dirs := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		if d := strings.Count(a, "/") - strings.Count(b, "/"); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var out []string
	for _, dir := range dirs[:min(len(dirs), mostFolders)] {
		out = append(out, fmt.Sprintf("%s %d", dir, count[dir]))
	}
	if n := len(dirs) - mostFolders; n > 0 {
		out = append(out, fmt.Sprintf("and %d more", n))
	} else if more {
		out = append(out, "and more")
	}
	return strings.Join(out, ", ")
}
