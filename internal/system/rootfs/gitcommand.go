package rootfs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/adroit-run/adroit/internal/system/hostexec"
	"golang.org/x/sys/unix"
)

// GitTimeout bounds how long one git command runs.
const GitTimeout = 2 * time.Minute

// gitConfig overrides every setting that makes git run a program or ask.
var gitConfig = [][2]string{
	{"core.hooksPath", os.DevNull}, {"core.fsmonitor", "false"}, {"core.pager", "cat"}, {"core.editor", "false"},
	{"core.askPass", ""}, {"core.sshCommand", "false"}, {"core.gitProxy", ""}, {"core.alternateRefsCommand", ""},
	{"core.quotePath", "false"}, {"credential.helper", ""}, {"diff.external", ""}, {"gpg.program", "false"},
	{"gpg.ssh.program", "false"}, {"gpg.x509.program", "false"}, {"gpg.ssh.defaultKeyCommand", ""},
	{"commit.gpgSign", "false"}, {"tag.gpgSign", "false"}, {"log.showSignature", "false"}, {"merge.verifySignatures", "false"},
	{"protocol.ext.allow", "never"}, {"safe.bareRepository", "explicit"}, {"submodule.recurse", "false"},
	{"sequence.editor", "false"}, {"color.ui", "false"}, {"gc.auto", "0"}, {"maintenance.auto", "false"},
	{"branch.autoSetupMerge", "false"}, {"branch.autoSetupRebase", "never"}, {"diff.submodule", "short"}, {"diff.ignoreSubmodules", "dirty"},
	{"core.filesRefLockTimeout", "30000"}, {"core.packedRefsTimeout", "30000"}, // milliseconds: a loaded machine is no reason to fail
	{"status.submoduleSummary", "false"}, {"merge.autoStash", "false"}, {"rerere.enabled", "false"}, {"commit.template", ""},
}

// UserConfig returns the variables of this program's environment with which git finds the user's
// settings, where the committer's name is. It is for commands outside the sandbox. A file that
// jobs may write is left out.
func UserConfig() []string {
	var env []string
	for _, name := range []string{"GIT_CONFIG_GLOBAL", "XDG_CONFIG_HOME"} {
		if value := os.Getenv(name); filepath.IsAbs(value) && hostexec.Refused(value) == "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// GitEnv passes settings in the environment, where neither a value nor a
// subsection with an odd name can be mistaken for anything else.
func GitEnv(more [][2]string) []string {
	// No transport is allowed: in a partial clone, even log and diff would fetch missing objects,
	// by a program that the configuration names.
	env := []string{"GIT_ALLOW_PROTOCOL=", "GIT_NO_LAZY_FETCH=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0",
		"GIT_NO_REPLACE_OBJECTS=1", "LC_ALL=C"}
	all := append(append([][2]string{}, gitConfig...), more...)
	for i, kv := range all {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+kv[0], "GIT_CONFIG_VALUE_"+n+"="+kv[1])
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(all)))
}

var GitFlags = []string{"--no-pager", "--no-optional-locks"}

// RunGit runs a git command that only reads a repository, in dir, and writes its
// output to out. No code of the repository is run by it. A command that ended
// with another exit code than zero is an *exec.ExitError.
func RunGit(ctx context.Context, dir string, env []string, input []byte, out io.Writer, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, GitTimeout)
	defer cancel()
	errout := LimitedBuffer{Max: 8 << 10}
	hostexec.Forbid(dir)
	cmd := hostexec.Command(ctx, "git", slices.Concat(GitFlags, args)...)
	cmd.Dir, cmd.Env = dir, hostexec.Environ(Environ(os.Environ(), slices.Concat(GitEnv(nil), env)))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), out, &errout
	// A loaded machine may read the output late.
	cmd.WaitDelay, cmd.SysProcAttr = 30*time.Second, SessionAttr()
	// The child dies with its thread; this goroutine keeps that one until it is done.
	_, err := onThread(func() (struct{}, error) { return struct{}{}, cmd.Run() })
	if err != nil {
		if args[0] == "-c" {
			args = args[2:]
		}
		return fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(errout.Buffer.String()))
	}
	return nil
}

// Git runs a git command that only reads the repository of the tree.
func (t *Tree) Git(ctx context.Context, input []byte, args ...string) ([]byte, error) {
	var out bytes.Buffer
	err := RunGit(ctx, t.Dir, nil, input, &out, args...)
	return out.Bytes(), err
}

// LimitedBuffer is a writer that keeps the first max bytes.
type LimitedBuffer struct {
	Max       int
	Buffer    bytes.Buffer
	Truncated bool
}

func (c *LimitedBuffer) Write(p []byte) (int, error) {
	room := c.Max - c.Buffer.Len()
	c.Truncated = c.Truncated || len(p) > room
	c.Buffer.Write(p[:min(room, len(p))])
	return len(p), nil
}

// The functions of this file are the only ones that write files outside of
// workspaces; internal/dev/lint/vet refuses os.WriteFile, os.Rename and their like
// elsewhere. A file is whole or not there, also after a power cut: its content is
// synced before it gets its name, and its name before the function returns.

// WriteFile writes a file that only its user can read, in place of one that is
// there. It makes the directories above it.
func WriteFile(path string, b []byte) error {
	f, err := Begin(path)
	if err != nil {
		return err
	}
	defer f.Drop()
	if _, err := f.Write(b); err != nil {
		return err
	}
	return f.Replace()
}

// CreateFile writes a file that is not there; else the error is fs.ErrExist. Its
// directory must be there.
func CreateFile(path string, perm fs.FileMode, b []byte) error {
	f, err := beginIn(filepath.Dir(path), path)
	if err != nil {
		return err
	}
	defer f.Drop()
	if _, err = f.Write(b); err == nil && perm != 0o600 {
		err = f.Chmod(perm &^ Umask())
	}
	if err != nil {
		return err
	}
	return f.Place()
}

// WriteJSON is WriteFile for a value.
func WriteJSON(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return WriteFile(path, b)
}

// A NewFile is a file being written: its content has a temporary name until Replace or Place, and
// is gone after Drop.
type NewFile struct {
	*os.File
	path string
}

// Begin begins a file and makes the directories above it.
func Begin(path string) (*NewFile, error) {
	dir := filepath.Dir(path)
	if err := MkdirAll(dir); err != nil {
		return nil, err
	}
	return beginIn(dir, path)
}

// BeginAs is like Begin, with a temporary name that the caller chose and has recorded. Its
// directory must exist.
func BeginAs(path, temp string) (*NewFile, error) {
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &NewFile{f, path}, nil
}

func beginIn(dir, path string) (*NewFile, error) {
	f, err := os.CreateTemp(dir, "new-*") // 0600
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		e.Path = dir // nobody knows the temporary name
	}
	if err != nil {
		return nil, err
	}
	return &NewFile{f, path}, nil
}

// Replace completes the file and gives it its name, replacing any file there.
func (f *NewFile) Replace() error {
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err // what has the name stays
	}
	if err := os.Rename(f.Name(), f.path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(f.path))
}

// Place is like Replace, but fails with fs.ErrExist if the name exists.
func (f *NewFile) Place() error {
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	// Link, unlike rename, never replaces a file that somebody made meanwhile.
	err := os.Link(f.Name(), f.path)
	if noLinks(err) {
		// An empty file claims the name, and only that is replaced.
		var claim *os.File
		if claim, err = os.OpenFile(f.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
			err = errors.Join(claim.Close(), os.Rename(f.Name(), f.path))
		}
	}
	if err != nil {
		return err
	}
	_ = os.Remove(f.Name()) // its content has its name
	return SyncDir(filepath.Dir(f.path))
}

// noLinks reports whether a link failed because the file system has none, as FAT has not.
func noLinks(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EMLINK)
}

// Drop removes a file that has no name yet. After Replace or Place it does nothing.
func (f *NewFile) Drop() {
	if f.Close() == nil { // else it was ended, well or not
		_ = os.Remove(f.Name())
		return
	}
	if _, err := os.Lstat(f.Name()); err == nil {
		_ = os.Remove(f.Name())
	}
}

// CreateIn is CreateFile below a root.
func CreateIn(root *os.Root, name string, perm fs.FileMode, b []byte) error {
	temp := TempName(name)
	defer func() { _ = root.Remove(temp) }() // its content has its name, or nobody needs it
	if err := writeIn(root, temp, perm, b); err != nil {
		return err
	}
	err := root.Link(temp, name)
	if noLinks(err) {
		var claim *os.File
		if claim, err = root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm); err == nil {
			err = errors.Join(claim.Close(), root.Rename(temp, name))
		}
	}
	if err != nil {
		return err
	}
	return (&Tree{Root: root}).Sync(path.Dir(name))
}

// ReplaceIn is WriteFile below a root.
func ReplaceIn(root *os.Root, name string, perm fs.FileMode, b []byte) error {
	temp := TempName(name)
	err := writeIn(root, temp, perm, b)
	if err == nil {
		err = (&Tree{Root: root}).Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
	}
	return err
}

func writeIn(root *os.Root, temp string, perm fs.FileMode, b []byte) error {
	f, err := root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}

// MkdirAll makes a directory that only its user can read, with those above it,
// durably.
func MkdirAll(dir string) error {
	var made []string
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		if _, err := os.Lstat(d); !errors.Is(err, fs.ErrNotExist) || d == filepath.Dir(d) {
			break
		}
		made = append(made, d)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, d := range made {
		if err := SyncDir(filepath.Dir(d)); err != nil {
			return err
		}
	}
	return nil
}

// Move renames a file or a directory durably, replacing the target.
func Move(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	err := SyncDir(filepath.Dir(to))
	if filepath.Dir(from) != filepath.Dir(to) {
		err = errors.Join(err, SyncDir(filepath.Dir(from)))
	}
	return err
}

// WriteScratch writes a file of which nobody has any use after this process: it
// is neither whole nor synced.
func WriteScratch(path string, perm fs.FileMode, b []byte) error { return os.WriteFile(path, b, perm) }

// OpenLog opens a file to which lines are appended, for its user alone. What a
// power cut leaves of the last ones is unknown. With os.O_EXCL it is a new one.
func OpenLog(path string, flags int) (*os.File, error) {
	return os.OpenFile(path, flags|os.O_RDWR|os.O_CREATE|os.O_APPEND|unix.O_NOFOLLOW, 0o600)
}

func ReadJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// SyncDir makes the names in a directory durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) { // some file systems cannot
		return err
	}
	return nil
}

// allowedEnv lists the variables of our environment that a command gets. Everything else, above
// all keys and tokens, is withheld.
var allowedEnv = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR",
	"XDG_CACHE_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL", // who commits
	"GOROOT", "GOPATH", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GONOPROXY", "GORACE",
	"JAVA_HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "VIRTUAL_ENV", "CONDA_PREFIX", "NVM_DIR", "PNPM_HOME",
}

// fixedEnv keeps commands from waiting for a person or fetching tools.
var fixedEnv = []string{
	"TERM=dumb", "NO_COLOR=1", "CI=1", "PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat",
	"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=false", "SSH_ASKPASS=false", "SSH_ASKPASS_REQUIRE=never",
	"EDITOR=false", "VISUAL=false", "GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false",
	"DEBIAN_FRONTEND=noninteractive", "GOTOOLCHAIN=local", "VIMINIT=" + vimEnds,
}

// vimEnds ends a vim that has done all its commands and waits for keys. At the end of its input
// vim reads from its output, as a terminal would allow, and a pipe never delivers anything. With
// -es, or settings of its own, vim ignores this. Neovim without a terminal is mostly a test that
// runs for long.
const vimEnds = `exe has("timers")&&!has("nvim")?"au VimEnter * call timer_start(1000,{->` +
	`[writefile(['nobody is at a terminal here: edit with the tools for it, or give vim all its commands by -es -c'],'/dev/stderr'),execute('cquit')]})":""`

// Environ returns the environment of a command: the allowed variables of host, settings that keep
// programs from asking questions, and extra, which takes precedence. It is sorted.
func Environ(host, extra []string) []string {
	vars := map[string]string{}
	for _, kv := range host {
		key, value, _ := strings.Cut(kv, "=")
		if slices.Contains(allowedEnv, key) || strings.HasPrefix(key, "LC_") {
			if !hasPassword(value) {
				vars[key] = value
			}
		}
	}
	for _, kv := range slices.Concat(fixedEnv, extra) {
		if key, value, ok := strings.Cut(kv, "="); ok && key != "" {
			vars[key] = value
		}
	}
	env := make([]string, 0, len(vars))
	for key, value := range vars {
		env = append(env, key+"="+value)
	}
	slices.Sort(env)
	return env
}

// hasPassword finds the password in a list of addresses such as GOPROXY's.
func hasPassword(value string) bool {
	for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ',' || r == '|' || r == ' ' }) {
		if u, err := url.Parse(part); err == nil && u.Scheme != "" && u.User != nil {
			return true
		}
	}
	return false
}

// MergeText merges two changes of a text with git merge-file, below dir. It
// works without a repository, and reads no settings of one.
func MergeText(ctx context.Context, dir string, old, ours, theirs []byte) (merged []byte, clean bool, err error) {
	dir, err = os.MkdirTemp(dir, "merge-")
	if err != nil {
		return nil, false, err
	}
	defer os.RemoveAll(dir)
	for name, b := range map[string][]byte{"old": old, "ours": ours, "theirs": theirs} {
		if err := WriteScratch(filepath.Join(dir, name), 0o600, b); err != nil {
			return nil, false, err
		}
	}
	env := []string{"GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir), "GIT_DIR=" + filepath.Join(dir, "none")}
	err = RunGit(ctx, dir, env, nil, io.Discard, "merge-file", "--quiet", "ours", "old", "theirs")
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 && exit.ExitCode() < 128 {
		return nil, false, nil // as many conflicts
	}
	if err != nil {
		return nil, false, err
	}
	merged, err = os.ReadFile(filepath.Join(dir, "ours"))
	return merged, err == nil, err
}

const (
	SameLines = "both sides changed the same lines, or lines next to each other"
)

// onThread runs do without changing threads, for the sake of a child that is
// killed when the thread that started it ends.
func onThread[T any](do func() (T, error)) (T, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return do()
}
