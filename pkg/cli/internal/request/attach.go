package request

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
)

// Attached is what the words that a person typed attach to a message of a job in dir:
// the runtime reads the files of the workspace, and an image elsewhere, such as a
// screenshot, goes with the message.
func Attached(words, dir string) executor.Attached {
	a := executor.Attached{Mentions: words}
	for _, m := range turn.Mentions(words) {
		file, home := strings.CutPrefix(m.Path, "~/")
		switch base, err := os.UserHomeDir(); {
		case home && err == nil:
			file = filepath.Join(base, file)
		case !filepath.IsAbs(m.Path):
			continue
		}
		if in, err := filepath.Rel(dir, file); dir != "" && err == nil && filepath.IsLocal(in) {
			continue
		}
		if b := image(file); b != nil {
			a.Attachments = append(a.Attachments, executor.Attachment{Path: m.Path, Data: b})
		}
	}
	return a
}

// image reads a file if it is an image that fits; what is wrong with any other, the
// runtime says.
func image(file string) []byte {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > turn.MaxImage {
		return nil
	}
	b, err := os.ReadFile(file)
	if err != nil || turn.ImageType(b) == "" {
		return nil
	}
	return b
}
