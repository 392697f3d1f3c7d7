package words

import (
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/pkg/cli"
	shipped "github.com/adroit-run/adroit/pkg/parts"
)

// TestSizes counts what a user has to find a way through. A new command, flag, agent or page has
// to take the place of an old one, or its bound here has to be argued for.
func TestSizes(t *testing.T) {
	top, all, flags := 0, 0, map[string]bool{}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" {
			return
		}
		if c.HasParent() && !c.Parent().HasParent() {
			top++
		}
		if c.Runnable() {
			all++
		}
		c.Flags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(cli.Program{Parts: shipped.All()}.Command())
	agents, err := fs.Glob(configs.Agents(), "*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what      string
		is, bound int
	}{
		{"commands at the top", top, 17}, {"commands in all", all, 99}, {"different flags", len(flags), 110},
		{"agents", len(agents), 39}, {"pages for users", len(pages), 26},
	} {
		if c.is > c.bound {
			t.Errorf("%d %s, at most %d: let the new one take the place of an old one", c.is, c.what, c.bound)
		}
	}
}
