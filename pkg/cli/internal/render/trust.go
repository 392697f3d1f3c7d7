package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/adroit-run/adroit/internal/secret"
	"github.com/adroit-run/adroit/internal/trust"
	"github.com/adroit-run/adroit/pkg/cli/internal/format"
)

// TrustFiles renders files that would instruct agents, with their first n lines.
func TrustFiles(w io.Writer, files []trust.File, n int, hide *secret.Redactor) {
	for _, f := range files {
		fmt.Fprintf(w, "%-8s %-13s %s  %s\n", f.State, f.Kind, format.SanitizeLine(f.Path), format.Plural(int(f.Size), "byte"))
		if f.Why != "" {
			fmt.Fprintf(w, "         %s\n", format.SanitizeLine(f.Why))
		}
		head, _ := hide.String(f.Head)
		for i, l := range strings.Split(strings.TrimRight(head, "\n"), "\n") {
			if i >= n || head == "" {
				break
			}
			fmt.Fprintf(w, "         | %s\n", format.Cut(format.SanitizeLine(l), 100))
		}
	}
}
