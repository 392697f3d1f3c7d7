package git

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/work/process"
)

// A Status is the state of the work tree.
type Status struct {
	Branch   string        `json:"branch"` // empty if HEAD is detached
	Commit   string        `json:"commit"` // empty before the first commit
	Upstream string        `json:"upstream,omitempty"`
	Ahead    int           `json:"ahead,omitempty"`
	Behind   int           `json:"behind,omitempty"`
	Entries  []StatusEntry `json:"entries,omitempty"` // in git's order
}

// A StatusEntry is a path that is not as in HEAD.
type StatusEntry struct {
	Path      string `json:"path"`            // relative to the workspace
	From      string `json:"from,omitempty"`  // of a rename or copy; relative to the repository if it lies outside the workspace
	Index     string `json:"index,omitempty"` // M, A, D, R, C, T: how the index differs from HEAD
	Work      string `json:"work,omitempty"`  // M, A, D, R, C, T: how the file differs from the index
	Untracked bool   `json:"untracked,omitempty"`
	Conflict  bool   `json:"conflict,omitempty"`
}

// Status returns the state of the work tree below the workspace.
func (g *Repo) Status(ctx context.Context) (*Status, error) {
	_, prefix, err := g.Locate(ctx)
	if err != nil {
		return nil, err
	}
	out, err := g.Run(ctx, process.Cmd{Args: []string{"status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all",
		"--ignore-submodules=dirty", "--", ":(literal)."}})
	if err != nil {
		return nil, err
	}
	return parseStatus(string(out), prefix)
}

func parseStatus(out, prefix string) (*Status, error) {
	s := &Status{}
	fields := strings.Split(out, "\x00")
	for i := 0; i < len(fields); i++ {
		line := fields[i]
		if line == "" {
			continue
		}
		odd := fmt.Errorf("git status printed a line that is not understood: %q", line)
		switch line[0] {
		case '#':
			if err := s.header(line); err != nil {
				return nil, odd
			}
		case '?':
			s.Entries = append(s.Entries, StatusEntry{Path: strings.TrimPrefix(line[min(2, len(line)):], prefix), Untracked: true})
		case '1', '2', 'u':
			// The path is the last of 9, 10 or 11 fields and may have spaces.
			n := map[byte]int{'1': 9, '2': 10, 'u': 11}[line[0]]
			f := strings.SplitN(line, " ", n)
			if len(f) != n || len(f[1]) != 2 {
				return nil, odd
			}
			e := StatusEntry{Path: strings.TrimPrefix(f[n-1], prefix), Conflict: line[0] == 'u',
				Index: strings.Trim(f[1][:1], "."), Work: strings.Trim(f[1][1:], ".")}
			if line[0] == '2' {
				if i++; i == len(fields) {
					return nil, odd
				}
				e.From = strings.TrimPrefix(fields[i], prefix)
			}
			s.Entries = append(s.Entries, e)
		}
	}
	return s, nil
}

func (s *Status) header(line string) error {
	key, value, _ := strings.Cut(strings.TrimPrefix(line, "# "), " ")
	switch key {
	case "branch.oid":
		if value != "(initial)" {
			s.Commit = value
		}
	case "branch.head":
		if value != "(detached)" {
			s.Branch = value
		}
	case "branch.upstream":
		s.Upstream = value
	case "branch.ab":
		ahead, behind, _ := strings.Cut(value, " ")
		var err error
		if s.Ahead, err = strconv.Atoi(strings.TrimPrefix(ahead, "+")); err != nil {
			return err
		}
		if s.Behind, err = strconv.Atoi(strings.TrimPrefix(behind, "-")); err != nil {
			return err
		}
	}
	return nil
}
