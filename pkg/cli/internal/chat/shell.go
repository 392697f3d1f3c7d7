package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// maxNote bounds what of a command's output goes with a message, in bytes.
const maxNote = 16 << 10

// shell runs a command of the person's as the agent's shell would run it, in the
// sandbox, and keeps its output for the next message.
func (s *Session) shell(command string) {
	if command == "" {
		s.say(kit.Dim, "!COMMAND runs a command in the sandbox")
		return
	}
	s.say(kit.Bold, "! %s", command)
	dir, level := s.Dir, string(s.Sandbox)
	s.do(func(ctx context.Context) func() {
		args, _ := json.Marshal(map[string]string{"command": command}) // strings always can be
		r, err := s.c.CallTool(ctx, adroit.ToolCall{Name: "shell", Args: args, Dir: dir, Sandbox: level})
		if err != nil {
			return func() { s.fail(err) }
		}
		text := strings.TrimSpace(r.Text)
		return func() {
			s.say(kit.Plain, "%s", text)
			s.note(fmt.Sprintf("I ran `%s`:\n```\n%s\n```", command, shortened(text)))
			s.say(kit.Dim, "it goes with your next message")
		}
	})
}

// shortened is the beginning and the end of a long text.
func shortened(text string) string {
	if len(text) <= maxNote {
		return text
	}
	head, tail := text[:maxNote/4], text[len(text)-maxNote*3/4:]
	return strings.ToValidUTF8(head, "") + fmt.Sprintf("\n[%d bytes left out]\n", len(text)-maxNote) + strings.ToValidUTF8(tail, "")
}

// note keeps words for the next message.
func (s *Session) note(words string) { s.input.notes = append(s.input.notes, words) }
