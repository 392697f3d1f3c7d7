package work

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/guard/trust"
)

// The hooks that git runs, and the settings that name a program, when it commits; and
// those that are added when it switches to a branch and pushes. They are expressions for names.
const (
	commitHooks    = "pre-commit|prepare-commit-msg|commit-msg|post-commit|post-index-change|reference-transaction|pre-auto-gc"
	pushHooks      = "post-checkout|pre-push"
	commitSettings = `core\.(fsmonitor|editor)|gpg\.(.*\.)?(program|defaultkeycommand)|filter\..*\.(clean|process)`
	pushSettings   = `core\.(sshcommand|askpass|gitproxy)|credential\.(.*\.)?helper|filter\..*\.smudge|remote\..*\.(receivepack|vcs)`
)

// programs lists what the repository, and not its user, has git run: hooks and settings.
func programs(ctx context.Context, root string, push bool) (found []string, err error) {
	hooks, settings := commitHooks, commitSettings
	if push {
		hooks, settings = hooks+"|"+pushHooks, settings+"|"+pushSettings
	}
	own, err := setting(ctx, root, `core\.hookspath`)
	if err != nil {
		return nil, err
	}
	at, err := gitOutput(ctx, root, "rev-parse", "--git-path", "hooks")
	if err != nil {
		return nil, err
	}
	dir := strings.TrimSuffix(at, "\n")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(root, dir)
	}
	users := false // hooks of the user's, which are kept somewhere else
	if len(own) == 0 {
		set, err := gitOutput(ctx, root, "config", "--get", "core.hooksPath")
		if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(root, dir)
		users = set != "" && (err != nil || !filepath.IsLocal(rel))
	}
	if !users {
		for name := range strings.SplitSeq(hooks, "|") {
			// A file that is not executable, or a dangling link, is not a hook.
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				found = append(found, "the hook "+name)
			}
		}
	}
	set, err := setting(ctx, root, settings)
	return append(found, set...), err
}

// setting lists the settings of the repository itself whose names fit.
func setting(ctx context.Context, root, names string) (found []string, err error) {
	out, err := gitOutput(ctx, root, "config", "--show-scope", "--includes", "--null", "--get-regexp", "^("+names+")$")
	if err != nil {
		return nil, err
	}
	parts := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for ; len(parts) >= 2; parts = parts[2:] {
		key, value, _ := strings.Cut(parts[1], "\n")
		if key == "core.fsmonitor" && slices.Contains([]string{"", "true", "false", "yes", "no", "on", "off", "1", "0"}, strings.ToLower(value)) {
			continue // that is git's own
		}
		if parts[0] == "local" || parts[0] == "worktree" {
			found = append(found, key+"="+value)
		}
	}
	return found, nil
}

// gitOutput returns the output of git, for commands that run no program of the
// repository. It is empty if git config finds nothing.
func gitOutput(ctx context.Context, root string, args ...string) (string, error) {
	hostexec.Forbid(root)
	cmd := hostexec.Command(ctx, "git", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok && args[0] == "config" && failed.ExitCode() == 1 {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return string(out), nil
}

// announce names what the repository has git run, and refuses it if nobody will be asked
// and nobody has agreed to it, with --hooks or by trusting the project.
func announce(ctx context.Context, e *kit.Env, c adroit.Client, root, agree string, push, yes, agreed bool) error {
	found, err := programs(ctx, root, push)
	if err != nil || len(found) == 0 {
		return err
	}
	for i, f := range found {
		found[i] = kit.SanitizeLine(f)
	}
	list := strings.Join(found, ", ")
	if yes && !agreed {
		st, err := c.Trust(ctx, root)
		if err != nil {
			return err
		}
		known := slices.ContainsFunc(st.Files, func(f trust.File) bool { return f.State == trust.Trusted })
		if !known || len(st.Pending()) > 0 || st.Partial {
			return kit.Usagef(agree+" runs them; without --yes a question names them",
				"the repository has git run %s, outside of the sandbox, and is not trusted", list)
		}
	}
	fmt.Fprintf(e.Err, "git runs, outside of the sandbox: %s\n", list)
	return nil
}
