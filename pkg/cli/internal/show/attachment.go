package show

import (
	"fmt"

	"github.com/adroit-run/adroit/pkg/executor"
)

// Attachments names what went with a message, one line each.
func Attachments(a executor.Attached) (lines []string) {
	for _, at := range a.Attachments {
		name := at.Path
		switch {
		case at.Image != nil:
			lines = append(lines, "attached: "+at.Image.String())
			continue
		case at.URL != "":
			name = at.URL
		case at.To > 0 && at.To != at.From:
			name += fmt.Sprintf(":%d-%d", at.From, at.To)
		case at.From > 0:
			name += fmt.Sprintf(":%d", at.From)
		}
		lines = append(lines, fmt.Sprintf("attached: %s, %d KB", name, (len(at.Text)+1023)/1024))
	}
	return lines
}
