package rootfs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/system/hostexec"
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

// UserConfig is where git finds the settings of the user, out of the environment of this
// program: who commits stands there. It is for commands outside the sandbox. A file that jobs
// may write is left out.
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
	// No transport is allowed: of a partial clone, even log and diff would fetch
	// what is missing, by a program that the configuration names.
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
