package problem

import (
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

var (
	// terminal are the control sequences of a terminal: colours, links, titles. The escape
	// character may be spelled out, as outputs of commands are shown.
	terminal = lazyregexp.New(`(?:\x1b|\\x1b)(?:\[[0-?]*[ -/]*[@-~]|\](?:[^\x07\x1b\\\n]|\\[^x\n])*(?:\x07|\\x07|(?:\x1b|\\x1b)\\)|[@-Z^_])`)
	// wrapping is what others put before each line of a program: the logs of GitHub
	// Actions, also as gh shows them, and docker compose.
	wrapping = lazyregexp.New(`(?m)^(?:[^\t\n]+\t[^\t\n]+\t)?\x{FEFF}?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z (?:##\[\w+\])?|^##\[\w+\]|^[\w.-]+[-_]\d+ +\| ?`)
)

// Unwrap is what programs wrote, one line each, of an output that a terminal, a service or
// a container program has put something around: colours, times, names of containers and
// returns of the carriage.
func Unwrap(output string) string {
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n", `\x0d`, "\n").Replace(terminal.ReplaceAllString(output, ""))
	return wrapping.ReplaceAllString(text, "")
}
