package gittool

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Bounds of the new files whose content a diff shows.
const (
	mostNew      = 100
	mostNewBytes = 256 << 10
)

// newFiles are the untracked files among entries, as hunks of a diff, but for
// those that git ignores or that no tool may read. Only those at or below
// paths, if there are any.
func newFiles(ctx context.Context, env *tools.Env, entries []git.StatusEntry, paths []string) (string, error) {
	var b strings.Builder
	n := 0
	for _, e := range entries {
		if !e.Untracked || len(paths) > 0 && !within(e.Path, paths) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return "", err
		}
		info, err := env.Files.Stat(e.Path)
		if err != nil || !info.Mode().IsRegular() {
			continue // what may not be read, or is no file
		}
		if info.Size() > mostNewBytes {
			fmt.Fprintf(&b, "diff --git %s %s\nnew file mode 100644\n[%d bytes; read_file shows them]\n", spelling.PathLine("a/"+e.Path), spelling.PathLine("b/"+e.Path), info.Size())
			continue
		}
		content, err := env.Files.ReadFile(e.Path)
		if err != nil {
			continue
		}
		if n++; n > mostNew {
			fmt.Fprintf(&b, "[more new files; git_status names them]\n")
			break
		}
		writeNew(&b, e.Path, content)
	}
	return b.String(), nil
}

// writeNew writes a file as git diff shows one that was added.
func writeNew(b *strings.Builder, name string, content []byte) {
	to := spelling.PathLine("b/" + name)
	fmt.Fprintf(b, "diff --git %s %s\nnew file mode 100644\n", spelling.PathLine("a/"+name), to)
	switch {
	case bytes.IndexByte(content, 0) >= 0:
		fmt.Fprintf(b, "Binary files /dev/null and %s differ\n", to)
		return
	case len(content) == 0:
		return
	}
	text, whole := strings.CutSuffix(string(content), "\n")
	lines := strings.Split(text, "\n")
	fmt.Fprintf(b, "--- /dev/null\n+++ %s\n@@ -0,0 +1,%d @@\n", to, len(lines))
	for _, l := range lines {
		b.WriteString("+" + l + "\n")
	}
	if !whole {
		b.WriteString("\\ No newline at end of file\n")
	}
}
