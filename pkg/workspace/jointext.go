package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// merge merges a text that both sides changed, line by line, and keeps the
// result. why says that it cannot be done, or not without a decision.
func (j *joiner) merge(p string, th theirs, here state) (merged []byte, why string, err error) {
	if max(th.was.Size, th.now.Size, here.Size) > maxDiff {
		return nil, bothFile, nil
	}
	old, err := j.c.before(j.ctx, th.path, th.was, j.leds)
	if err != nil {
		return nil, "both sides changed it, and what it was like before is not known any more", j.ctx.Err()
	}
	load := func(t *tree, p string) ([]byte, error) {
		s, err := j.f.led.capture(t, p, false)
		if err != nil {
			return nil, err
		}
		return j.f.led.load(s.Digest)
	}
	ours, err := load(j.f.tree, p)
	if err != nil {
		return nil, "", err
	}
	new, err := load(j.t, th.path)
	if err != nil {
		return nil, "", err
	}
	if digest(ours) != here.Digest || !isText(old) || !isText(ours) || !isText(new) {
		return nil, bothFile, nil
	}
	merged, clean, err := mergeText(j.ctx, j.c.home, old, ours, new)
	if err != nil {
		return nil, fmt.Sprintf("both sides changed it, and git did not merge it: %v", err), j.ctx.Err()
	}
	if !clean {
		return nil, bothLines, nil
	}
	return merged, "", j.f.led.store(merged)
}

// mergeText merges two changes of a text with git merge-file, below dir. It
// works without a repository, and reads no settings of one.
func mergeText(ctx context.Context, dir string, old, ours, theirs []byte) (merged []byte, clean bool, err error) {
	dir, err = os.MkdirTemp(dir, "merge-")
	if err != nil {
		return nil, false, err
	}
	defer os.RemoveAll(dir)
	for name, b := range map[string][]byte{"old": old, "ours": ours, "theirs": theirs} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			return nil, false, err
		}
	}
	env := append(gitEnv(nil), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "GIT_DIR="+filepath.Join(dir, "none"))
	o, err := (&host{dir: dir}).Run(ctx, Cmd{Args: []string{"git", "--no-pager", "merge-file", "--quiet", "ours", "old", "theirs"}, Env: env, Stdout: io.Discard, Timeout: time.Minute})
	switch {
	case err != nil:
		return nil, false, err
	case o.TimedOut:
		return nil, false, errors.New("it took too long")
	case o.Code >= 128:
		return nil, false, &ExitError{Args: []string{"merge-file"}, Code: o.Code, Stderr: o.Text}
	case o.Code > 0:
		return nil, false, nil
	}
	merged, err = os.ReadFile(filepath.Join(dir, "ours"))
	return merged, err == nil, err
}

// store keeps content that is about to be written. It is not synced.
func (b *book) store(data []byte) error {
	w, err := b.blob()
	if err != nil {
		return err
	}
	defer w.drop()
	if _, err := w.Write(data); err != nil {
		return err
	}
	return w.commit(digest(data), false)
}
