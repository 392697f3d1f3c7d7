package show

import (
	"fmt"
	"io"
	"strings"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/guard/trust"
)

// TrustText is how many bytes of a file are shown where nobody can turn pages.
const TrustText = 64 << 10

// TrustFiles renders files that would instruct agents: first what each of them would have
// done, then, unless most is 0, their text, of which most bytes at most with a most above 0.
func TrustFiles(w io.Writer, files []trust.File, most int, hide *secret.Redactor) {
	clean := func(s string) string {
		s, _ = hide.String(s)
		return kit.SanitizeLine(s)
	}
	for _, f := range files {
		fmt.Fprintf(w, "%-8s %-13s %s  %s\n", f.State, f.Kind, kit.Path(f.Path), kit.Plural(int(f.Size), "byte"))
		if f.Why != "" {
			fmt.Fprintf(w, "         %s\n", kit.SanitizeLine(f.Why))
		}
		for _, line := range asks(f) {
			fmt.Fprintf(w, "         %s\n", clean(line))
		}
	}
	for _, f := range files {
		if most == 0 || f.Hash == "" || f.Size == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s %s\n", f.State, kit.Path(f.Path))
		if f.Text == "" {
			fmt.Fprintf(w, "         %s that are not shown here, since they are no text, or too many, or have changed meanwhile: sha256 %s\n", kit.Plural(int(f.Size), "byte"), f.Hash)
			continue
		}
		text, _ := hide.String(f.Text)
		lines, room := strings.Split(strings.TrimSuffix(text, "\n"), "\n"), most
		for i, line := range lines {
			if room -= len(line); most > 0 && room < 0 {
				fmt.Fprintf(w, "         %s not shown: less %s shows all\n", kit.Plural(len(lines)-i, "more line"), kit.Path(f.Path))
				break
			}
			fmt.Fprintf(w, "         | %s\n", Quote(kit.SanitizeLine(strings.TrimSuffix(line, "\r"))))
		}
	}
}
