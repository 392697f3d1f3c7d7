package git

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/process"
)

// A Commit is one entry of a history.
type Commit struct {
	Hash    string    `json:"hash"`
	Parents []string  `json:"parents,omitempty"`
	Author  string    `json:"author"`
	Email   string    `json:"email"`
	Time    time.Time `json:"time"`
	Subject string    `json:"subject"`
	Body    string    `json:"body,omitempty"`
}

const logFormat = "--format=%H%x1f%P%x1f%an%x1f%ae%x1f%aI%x1f%s%x1f%b"

// Log returns the newest n commits, of one path if that is not empty.
func (g *Repo) Log(ctx context.Context, n int, path string) ([]Commit, error) {
	args := []string{"log", "-z", "--no-show-signature", "--no-ext-diff", "--no-textconv", logFormat, "-n", strconv.Itoa(max(n, 1))}
	if path != "" {
		spec, err := g.pathspec(path)
		if err != nil {
			return nil, err
		}
		args = append(args, "--", spec)
	}
	out, err := g.Run(ctx, process.Cmd{Args: args})
	if err != nil {
		return nil, err
	}
	return parseLog(string(out)), nil
}

func parseLog(out string) []Commit {
	var commits []Commit
	for entry := range strings.SplitSeq(out, "\x00") {
		f := strings.SplitN(entry, "\x1f", 7)
		if len(f) != 7 {
			continue
		}
		when, _ := time.Parse(time.RFC3339, f[4])
		commits = append(commits, Commit{Hash: f[0], Parents: strings.Fields(f[1]), Author: rootfs.Visible(f[2]), Email: rootfs.Visible(f[3]),
			Time: when, Subject: rootfs.Visible(f[5]), Body: rootfs.Visible(strings.TrimSpace(f[6]))})
	}
	return commits
}

// Commit commits the given paths as they are in the work tree, including new and deleted ones, and
// leaves other staged changes staged. Without paths it commits what is staged. If there is nothing
// to commit it returns ErrNothing.
func (g *Repo) Commit(ctx context.Context, message string, paths []string) (*Commit, error) {
	if strings.TrimSpace(message) == "" {
		return nil, &ArgError{"message", message, "is empty; say what the commit does and why"}
	}
	if strings.ContainsRune(message, 0) {
		return nil, &ArgError{"message", message, "contains a NUL byte; leave it out"}
	}
	specs, err := g.pathspecs(paths)
	if err != nil {
		return nil, err
	}
	g = g.Operation()
	top, prefix, err := g.Locate(ctx)
	if err != nil {
		return nil, err
	}
	args := []string{"commit", "--quiet", "--no-verify", "--no-gpg-sign", "--no-edit", "--cleanup=whitespace", "-F", "-"}
	if len(specs) > 0 {
		if err := g.Stage(ctx, specs); err != nil {
			return nil, err
		}
		if prefix != "" || filepath.Clean(paths[0]) != "." {
			args = append(append(args, "--"), specs...)
		} // of all, git commit does not know a directory in the place of a file
	}
	names, err := g.Run(ctx, process.Cmd{Args: Args("diff", "--cached", "--no-ext-diff", "--no-textconv", "--name-only", "--no-renames", "--diff-filter=d", "-z", "--", specs)})
	if err != nil {
		return nil, err
	}
	unclean, err := g.unfiltered(ctx, top, string(names))
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(string(names), "\x00") {
		if name == "" {
			continue
		}
		err := g.names().Check(name, name, false) // from the top of the work tree
		if filter, ok := unclean[name]; ok && err == nil {
			err = &FilterError{name, filter}
		}
		if here, ok := strings.CutPrefix(name, prefix); ok && err == nil {
			err = g.judge(here)
		}
		if err != nil {
			if len(specs) > 0 { // take back what was staged for this commit
				_, _ = g.Run(ctx, process.Cmd{Args: Args("reset", "--quiet", "--", ":(top,literal)"+name), Snapshot: true, OwnGit: true})
			}
			return nil, err
		}
	}
	if _, err := g.Run(ctx, process.Cmd{Args: args, Stdin: []byte(message), Snapshot: true, OwnGit: true}); err != nil {
		s, asked := g.Status(ctx)
		if asked == nil && !slices.ContainsFunc(s.Entries, func(e StatusEntry) bool { return e.Index != "" }) {
			return nil, ErrNothing // git's words for it are on the other stream
		}
		return nil, err
	}
	log, err := g.Log(ctx, 1, "")
	if err != nil || len(log) == 0 {
		return nil, fmt.Errorf("the commit was made, but git does not show it: %w", err)
	}
	return &log[0], nil
}

// A FilterError refuses a commit: the repository's own settings give the path a filter, which is not
// run. Without it git-crypt's plain text, or a large file in place of its pointer, would be committed.
type FilterError struct{ Path, Filter string }

func (e *FilterError) Error() string {
	return fmt.Sprintf("%q goes through the filter %q of the repository's own settings, which adroit does not run: without it git would commit the file as it is here; git add and git commit, by the person, run it", e.Path, e.Filter)
}

// unfiltered returns the filters that names below top, each with a NUL behind it, would go through
// on their way into a commit if the repository's settings were heeded.
func (g *Repo) unfiltered(ctx context.Context, top, names string) (map[string]string, error) {
	off, err := g.drivers(ctx)
	if err != nil {
		return nil, err
	}
	filters := map[string]bool{}
	for _, s := range off {
		if m := driver.FindStringSubmatch(s[0]); m[1] == "filter" && (m[3] == "clean" || m[3] == "process") {
			filters[m[2]] = s[1] == ""
		}
	}
	if len(filters) == 0 || len(names) == 0 {
		return nil, nil
	}
	top += "/"
	names = top + strings.ReplaceAll(strings.TrimSuffix(names, "\x00"), "\x00", "\x00"+top) + "\x00"
	out, err := g.Run(ctx, process.Cmd{Args: []string{"check-attr", "-z", "--stdin", "filter"}, Stdin: []byte(names)})
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	fields := strings.Split(string(out), "\x00") // path, attribute, value, …
	for i := 0; i+2 < len(fields); i += 3 {
		if filters[fields[i+2]] {
			found[strings.TrimPrefix(fields[i], top)] = fields[i+2]
		}
	}
	return found, nil
}

// A Branch is a local branch.
type Branch struct {
	Name    string `json:"name"`
	Hash    string `json:"hash"`
	Current bool   `json:"current,omitempty"`
}

// Branches lists the local branches by name.
func (g *Repo) Branches(ctx context.Context) ([]Branch, error) {
	out, err := g.Run(ctx, process.Cmd{Args: []string{"for-each-ref", "--format=%(HEAD)%(objectname) %(refname:short)", "refs/heads/"}})
	if err != nil {
		return nil, err
	}
	var bs []Branch
	for line := range strings.Lines(string(out)) {
		hash, name, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "*")), " ")
		if ok {
			bs = append(bs, Branch{Name: name, Hash: hash, Current: strings.HasPrefix(line, "*")})
		}
	}
	return bs, nil
}

// CreateBranch makes a branch at a commit, at HEAD if from is empty, and does
// not switch to it.
func (g *Repo) CreateBranch(ctx context.Context, name, from string) error {
	if err := CheckRef("branch", name); err != nil {
		return err
	}
	args := []string{"branch", "--no-track", name}
	if from != "" {
		if err := CheckRef("commit", from); err != nil {
			return err
		}
		args = append(args, from)
	}
	_, err := g.Run(ctx, process.Cmd{Args: args, Snapshot: true, OwnGit: true})
	return err
}

// Switch makes a local branch the current one. The files it changes are noted
// in the ledger of the Exec.
func (g *Repo) Switch(ctx context.Context, name string) error {
	if err := CheckRef("branch", name); err != nil {
		return err
	}
	if _, _, err := g.Locate(ctx); err != nil {
		return err
	}
	_, err := g.Run(ctx, process.Cmd{Args: []string{"switch", "--quiet", "--no-guess", name}, Snapshot: true, OwnGit: true})
	return err
}

// Detach checks out a commit without a branch, so that no branch here moves. The files it
// changes are noted in the ledger of the Exec.
func (g *Repo) Detach(ctx context.Context, commit string) error {
	if err := CheckRef("commit", commit); err != nil {
		return err
	}
	_, err := g.Run(ctx, process.Cmd{Args: []string{"switch", "--quiet", "--detach", commit}, Snapshot: true, OwnGit: true})
	return err
}

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
		return nil, g.Explain(ctx, err)
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
