// Package hostexec starts programs on this machine outside of any sandbox: git, hooks, CLI agents,
// and programs that doctor asks for their version.
//
//	cmd := hostexec.Command(ctx, "git", "status")
//	cmd.Dir, cmd.Env = dir, hostexec.Environ(os.Environ())
//
// PATH often contains a directory of a project, such as .venv/bin, in which a job may write. A
// file that a job wrote there must not run outside of the sandbox because of its name. A program
// is therefore never taken from a directory that was passed to [Forbid], which must be called
// before working on a directory, nor from one that everybody may write to, nor by a link that
// leads to, through or out of either. A program that was found is remembered, so that no later one
// replaces it, and the way to it is checked each time.
//
// A command in the sandbox is found by the PATH of the user as it is; see [Sandboxed].
package hostexec

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// places records the directories where jobs write, as far as this process knows.
var places struct {
	sync.Mutex
	asked map[string]bool   // as they were passed to Forbid
	dirs  []string          // without links
	found map[string]string // programs by name and PATH, until dirs grows
}

// Forbid prevents programs from being taken from directories that jobs may write to, and from the
// repositories that contain them; if such a repository contains the user's home, only the
// directory itself is forbidden. It applies to the whole process, permanently. It is safe for
// concurrent use.
func Forbid(dirs ...string) {
	places.Lock()
	defer places.Unlock()
	for _, dir := range dirs {
		if dir == "" || places.asked[dir] {
			continue
		}
		if places.asked == nil {
			places.asked = map[string]bool{}
		}
		places.asked[dir] = true
		abs, err := filepath.Abs(dir)
		if err != nil {
			continue // there is no current directory: no relative name leads anywhere
		}
		if real, err := filepath.EvalSymlinks(abs); err == nil {
			abs = real
		}
		for _, d := range []string{abs, project(abs)} {
			if d != "/" && !slices.Contains(places.dirs, d) {
				places.dirs, places.found = append(places.dirs, d), nil
			}
		}
	}
}

// ForbidCurrent forbids the current directory, unless the user's home is in it: a user who runs a
// command there does not mean everything below it.
func ForbidCurrent() {
	dir, err := os.Getwd()
	if err != nil {
		return
	}
	if home, err := os.UserHomeDir(); err != nil || !within(dir, home) {
		Forbid(dir)
	}
}

// project returns the top of the repository that contains dir, or dir.
func project(dir string) string {
	home, _ := os.UserHomeDir()
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	if top, ok := Repository(dir); ok && (home == "" || !within(top, home)) {
		return top
	}
	return dir
}

// refused reports why no program is taken from a path, "" if it may be: all links on the
// way are to lie where no job may write, not only the last. The lock is held.
func refused(path string) string {
	links, err := Links(path)
	if err != nil {
		return "the links on its path cannot be followed: " + err.Error()
	}
	for _, at := range links {
		for _, d := range places.dirs {
			if within(d, at) {
				return "jobs may write in " + d
			}
		}
		if info, err := os.Stat(filepath.Dir(at)); err != nil || info.Mode().Perm()&0o002 != 0 {
			return "everybody may write in " + filepath.Dir(at)
		}
	}
	return ""
}

// Refused reports why a path, such as one that a variable has, is not trusted outside of the
// sandbox: jobs, or everybody, may write there. It is "" if it is trusted.
func Refused(path string) string {
	places.Lock()
	defer places.Unlock()
	return refused(path)
}

// Find returns the absolute path of a program. A name is looked for on PATH; a path is taken as it
// is, since whoever wrote it meant that file. The error names the programs that were skipped.
func Find(name string) (string, error) {
	if strings.ContainsRune(name, '/') {
		if !filepath.IsAbs(name) {
			return "", &exec.Error{Name: name, Err: errors.New("a program is given by an absolute path or by a name on PATH")}
		}
		return exec.LookPath(name)
	}
	list := os.Getenv("PATH")
	places.Lock()
	defer places.Unlock()
	key := name + "\x00" + list
	if at := places.found[key]; at != "" && refused(at) == "" {
		return at, nil
	}
	var passed []string
	for _, dir := range filepath.SplitList(list) {
		at := filepath.Join(dir, name)
		if !filepath.IsAbs(dir) || name == "" {
			continue
		}
		if _, err := exec.LookPath(at); err != nil {
			continue
		}
		why := refused(at)
		if why == "" {
			if places.found == nil {
				places.found = map[string]string{}
			}
			places.found[key] = at
			return at, nil
		}
		passed = append(passed, at+" is not run outside of the sandbox, since "+why)
	}
	if passed == nil {
		return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
	}
	return "", &exec.Error{Name: name, Err: fmt.Errorf("%w: %w", exec.ErrNotFound, skippedError(strings.Join(passed, "; ")))}
}

// Outside is like [Find] for a name in a variable, such as PAGER, which the settings of a project
// may have set: it also refuses a path in a directory where jobs may write.
func Outside(name string) (string, error) {
	at, err := Find(name)
	if err != nil {
		return "", err
	}
	places.Lock()
	defer places.Unlock()
	if why := refused(at); why != "" {
		return "", &exec.Error{Name: name, Err: skippedError(at + " is not run outside of the sandbox, since " + why)}
	}
	return at, nil
}

type skippedError string

func (p skippedError) Error() string { return string(p) }

// Lacking explains an error of [Find]: the program does not exist, or only where jobs may write.
func Lacking(err error) string {
	if p, ok := errors.AsType[skippedError](err); ok {
		return "not to be had: " + p.Error()
	}
	return "not on PATH"
}

// Files lists the files of a command line: its program, and the arguments that are absolute paths
// of files, such as the script of an interpreter.
func Files(command []string) (files []string) {
	for i, arg := range command {
		if i == 0 {
			if at, err := Find(arg); err == nil {
				arg = at
			}
		}
		if info, err := os.Stat(arg); err == nil && filepath.IsAbs(arg) && info.Mode().IsRegular() {
			files = append(files, arg)
		}
	}
	return files
}

// Command returns a command for a program on the host, found by [Find], with the environment of
// this process and the PATH of [Environ]. Its Start returns Find's error, if any.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	at, err := Find(name)
	if err != nil {
		at = "/" // not looked for a second time
	}
	cmd := exec.CommandContext(ctx, at, args...)
	cmd.Env = Environ(os.Environ())
	if err != nil {
		cmd.Path, cmd.Args[0], cmd.Err = name, name, err
	}
	return cmd
}

// Environ returns an environment for a program on the host: its PATH omits directories that [Find]
// does not use, since programs start others by their names.
func Environ(env []string) []string {
	out := slices.Clone(env)
	places.Lock()
	defer places.Unlock()
	for i, kv := range out {
		list, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		var kept []string
		for _, dir := range filepath.SplitList(list) {
			if _, err := os.Stat(dir); err == nil && filepath.IsAbs(dir) && refused(filepath.Join(dir, "x")) == "" {
				kept = append(kept, dir)
			}
		}
		out[i] = "PATH=" + strings.Join(kept, string(filepath.ListSeparator))
	}
	return out
}

// Sandboxed returns a command that will be put into a sandbox before it starts, or that the
// operator runs without one. It is found as the user would find it.
func Sandboxed(name string, args ...string) *exec.Cmd { return exec.Command(name, args...) }

// InSandbox finds a program as a command in the sandbox would. It is not for starting it.
func InSandbox(name string) (string, error) { return exec.LookPath(name) }

// maxLinks is the number of links that a path may have, as the kernel has it, with room.
const maxLinks = 64

// Links lists all places through which a path leads: each link on it, the links that those lead
// to, and last the final target. Each is an absolute path whose directory has no links. Whoever
// may change one of them changes where the path leads.
//
// A missing target is named as far as it is known. With an error, the rest is unknown, and begins
// at the last place.
func Links(path string) (places []string, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	at, rest := "/", strings.Split(path, "/")
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if !holdsOneOf(at, places) { // else a place in it says where it is
				places = append(places, at)
			}
			at = filepath.Dir(at)
			continue
		}
		here := filepath.Join(at, part)
		info, err := os.Lstat(here)
		if err != nil {
			places = append(places, filepath.Join(here, filepath.Join(rest...)))
			if errors.Is(err, fs.ErrNotExist) {
				return places, nil
			}
			return places, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = here
			continue
		}
		places = append(places, here)
		if links++; links > maxLinks {
			return places, errors.New("too many links")
		}
		to, err := os.Readlink(here)
		if err != nil {
			return places, err
		}
		if filepath.IsAbs(to) {
			at = "/"
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return append(places, at), nil
}

func holdsOneOf(dir string, places []string) bool {
	for _, p := range places {
		if within(dir, p) {
			return true
		}
	}
	return false
}

func within(dir, p string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}
