package request

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/guard/trust"
)

// AskTrust decides before a run which files of the workspace are trusted. If ask is set,
// it asks about files that nobody has decided about, once for each content; otherwise the
// run goes on without them, and a note reports that.
func AskTrust(ctx context.Context, e *kit.Env, f *Flags, ask bool) error {
	c, err := e.Client()
	if err != nil {
		return err
	}
	u, err := FindUntrusted(ctx, e, c, f)
	if err != nil || u == nil {
		return err
	}
	pending := u.Files
	if !ask || !e.Interactive() {
		is := "is not used: nobody trusts it yet"
		if len(pending) > 1 {
			is = fmt.Sprintf("and %d more are not used: nobody trusts them yet", len(pending)-1)
		}
		e.Warn("%s %s; %s shows and trusts what is there, --trust-project uses it this once", spelling.PathLine(pending[0].Path), is, hint.Command("config trust"))
		return nil
	}
	yes, answered := askTrust(ctx, e, u)
	if !answered {
		return nil
	}
	return u.Decide(ctx, c, yes)
}

// Untrusted are files of a workspace that would instruct agents, and about which
// nobody has decided.
type Untrusted struct {
	Files     []trust.File
	dir, root string
}

// FindUntrusted looks for such files, unless the request trusts all of them; nil
// are none. It warns of files that are not read at all.
func FindUntrusted(ctx context.Context, e *kit.Env, c adroit.Client, f *Flags) (*Untrusted, error) {
	dir, err := kit.Directory(f.Workspace)
	if err != nil {
		return nil, nil // the run itself reports what is wrong with it
	}
	st, err := c.Trust(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, f := range st.Files {
		if f.Kind == trust.Config {
			e.Warn("%s is not read: %s", f.Path, f.Why)
		}
	}
	pending := st.Pending()
	if f.Trust || len(pending) == 0 {
		return nil, nil
	}
	// What is beyond the text that can be shown at once is asked about the next time.
	shown := slices.DeleteFunc(pending, func(f trust.File) bool { return f.Unshown })
	return &Untrusted{Files: shown, dir: dir, root: st.Root}, nil
}

// Decide records what a person said of the files.
func (u *Untrusted) Decide(ctx context.Context, c adroit.Client, yes bool) error {
	_, err := c.SetTrust(ctx, adroit.TrustChange{Dir: u.dir, Files: u.Files, Trust: yes})
	return err
}

// List writes the files and what they would have done, and whole their text.
func (u *Untrusted) List(e *kit.Env, w io.Writer, whole bool) {
	most := 0
	if whole {
		most = show.TrustText
	}
	c, _ := e.Config() // nil if it cannot be read
	show.TrustFiles(w, u.Files, most, config.Redactor(c, e.Getenv))
}

// ShowTrust shows files with their text: all of it on a terminal, in the pager of the user
// if there is one, else the first 64 KB of each.
func ShowTrust(ctx context.Context, e *kit.Env, w io.Writer, files []trust.File) {
	c, _ := e.Config() // nil if it cannot be read
	most := show.TrustText
	screen := kit.NewScreen(w, e.Getenv)
	if screen.IsTerminal() {
		most = -1
	}
	var b strings.Builder
	show.TrustFiles(&b, files, most, config.Redactor(c, e.Getenv))
	if e.Interactive() && kit.Page(ctx, w, e.Getenv, b.String()) {
		show.TrustFiles(w, files, 0, config.Redactor(c, e.Getenv)) // stays on the screen
		return
	}
	fmt.Fprint(w, b.String())
}

// Question returns the question about the files.
func (u *Untrusted) Question(e *kit.Env) string {
	return e.Home(kit.SanitizeLine(u.root)) + " has files that would instruct agents, and nobody has trusted them:"
}

// askTrust asks at the terminal whether files may instruct agents.
func askTrust(ctx context.Context, e *kit.Env, u *Untrusted) (yes, answered bool) {
	fmt.Fprintln(e.Err, u.Question(e))
	u.List(e, e.Err, false)
	in := kit.NewLineReader(ctx, e.In)
	for {
		fmt.Fprint(e.Err, "     use them? [y]es, [n]o, [v]iew them whole: ")
		word, err := in.ReadLine()
		if err != nil {
			fmt.Fprintln(e.Err)
			return false, false
		}
		switch answer, _ := kit.Reply(word); answer {
		case "yes":
			return true, true
		case "no":
			return false, true
		case "view":
			ShowTrust(ctx, e, e.Err, u.Files)
		}
	}
}
