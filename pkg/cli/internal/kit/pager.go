package kit

import (
	"cmp"
	"context"
	"io"
	"os"
	"strings"

	"github.com/adroit-run/adroit/internal/system/hostexec"
)

// Page shows a text in the pager of the user, PAGER or less, on the terminal that w is, and
// returns when that has ended. It reports false if w is no terminal, or there is no pager,
// or it has failed: who asked for it writes the text then. Where jobs may write, no pager
// is taken.
func Page(ctx context.Context, w io.Writer, getenv func(string) string, text string) bool {
	if o, ok := w.(*Output); ok {
		w = o.Writer
	}
	out, ok := w.(*os.File)
	command := strings.Fields(cmp.Or(getenv("PAGER"), "less"))
	if !ok || !IsTerminal(out) || len(command) == 0 || getenv("TERM") == "dumb" {
		return false
	}
	program, err := hostexec.Outside(command[0])
	if err != nil {
		return false
	}
	cmd := hostexec.Command(context.WithoutCancel(ctx), program, command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), out, os.Stderr
	if getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX") // a text that fits stays, as git has it
	}
	return cmd.Run() == nil
}
