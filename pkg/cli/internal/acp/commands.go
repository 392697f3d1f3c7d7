package acp

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/pkg/adroit"
	sdk "github.com/coder/acp-go-sdk"
)

// A Command is a message that a person sends by a name.
type Command struct {
	Name, About string
	Text        func(args string) string
}

// commands lists the commands of a directory: templates, and prompts of MCP servers as
// SERVER/PROMPT.
func (s *server) commands(ctx context.Context, dir string) []sdk.AvailableCommand {
	out := []sdk.AvailableCommand{}
	add := func(name, about, hint string) {
		c := sdk.AvailableCommand{Name: name, Description: oneLine(about), Input: &sdk.AvailableCommandInput{Unstructured: &sdk.UnstructuredCommandInput{Hint: hint}}}
		out = append(out, c)
	}
	for _, c := range s.templates(ctx, dir) {
		add(c.Name, c.About, "what goes into it")
	}
	if l, err := s.c.ToolServers(ctx, adroit.Scope{Dir: dir}); err == nil {
		for _, server := range l.Items {
			for _, p := range server.Prompts {
				var words []string
				for _, a := range p.Arguments {
					words = append(words, a.Name+"=…")
				}
				add(server.Name+"/"+p.Name, p.Description, strings.Join(words, " "))
			}
		}
	}
	return out
}

func (s *server) templates(ctx context.Context, dir string) []Command {
	if s.o.Commands == nil {
		return nil
	}
	list, err := s.o.Commands(ctx, dir)
	if err != nil {
		s.log().Warn("a command cannot be read", "error", err)
	}
	return list
}

// expand replaces /NAME ARGS by the message of a command. Text that begins with a slash
// and names no command goes to the model unchanged.
func (s *server) expand(ctx context.Context, dir string, blocks []sdk.ContentBlock) ([]sdk.ContentBlock, error) {
	i := slices.IndexFunc(blocks, func(b sdk.ContentBlock) bool { return b.Text != nil })
	if i < 0 || !strings.HasPrefix(blocks[i].Text.Text, "/") {
		return blocks, nil
	}
	name, args, _ := strings.Cut(blocks[i].Text.Text[1:], " ")
	args = strings.TrimSpace(args)
	text := ""
	list := s.templates(ctx, dir)
	if k := slices.IndexFunc(list, func(c Command) bool { return c.Name == name }); k >= 0 {
		text = list[k].Text(args)
	} else if server, prompt, ok := strings.Cut(name, "/"); ok && slices.ContainsFunc(s.commands(ctx, dir), func(c sdk.AvailableCommand) bool { return c.Name == name }) {
		given := map[string]string{}
		for _, word := range strings.Fields(args) {
			key, value, _ := strings.Cut(word, "=")
			given[key] = value
		}
		var err error
		text, err = s.c.ToolServerPrompt(ctx, adroit.ToolServerPrompt{Named: adroit.Named{Scope: adroit.Scope{Dir: dir}, Name: server}, Prompt: prompt, Args: given})
		if err != nil {
			return nil, failure(err)
		}
	}
	if text == "" {
		return blocks, nil
	}
	blocks = slices.Clone(blocks)
	blocks[i] = sdk.TextBlock(text)
	return blocks, nil
}

// announce sends the commands of a session.
func (s *server) announce(ses *session) {
	// An editor that is gone ends the turn by its context.
	_ = s.conn.SessionUpdate(s.ctx, sdk.SessionNotification{SessionId: ses.id, Update: sdk.SessionUpdate{
		AvailableCommandsUpdate: &sdk.SessionAvailableCommandsUpdate{SessionUpdate: "available_commands_update", AvailableCommands: s.commands(s.ctx, ses.dir)}}})
}

// An output does something once a text was written: an editor knows a session when
// it has its id.
type output struct {
	io.Writer
	writing sync.Mutex
	mu      sync.Mutex
	then    map[string]func()
	able    bool // the capabilities are written
}

func (o *output) after(text string, do func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.then[text] = do
}

// Write implements [io.Writer].
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	able := o.able
	o.mu.Unlock()
	out, found := b, false
	if !able {
		out, found = withDelete(b)
	}
	if err := o.put(out); err != nil {
		return 0, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.able = o.able || found
	for text, do := range o.then {
		if bytes.Contains(b, []byte(text)) {
			delete(o.then, text)
			go do() // it writes, too
		}
	}
	return len(b), nil
}

// put writes a message: both the library and editorInput write.
func (o *output) put(b []byte) error {
	o.writing.Lock()
	defer o.writing.Unlock()
	_, err := o.Writer.Write(b)
	return err
}

// modelOption is the option of a session that picks its model.
const modelOption = "model"

// listTime bounds the time for which a session waits for servers to list their models.
const listTime = 5 * time.Second

// options lists the options of a session: the model, among the known models.
func (s *server) options(ctx context.Context, ses *session) []sdk.SessionConfigOption {
	ctx, stop := context.WithTimeout(ctx, listTime)
	defer stop()
	ses.mu.Lock()
	now := ses.model
	ses.mu.Unlock()
	if now == "" {
		return nil
	}
	names := []string{now}
	list, err := s.c.Models(ctx)
	if err != nil {
		s.log().Warn("the models cannot be listed", "error", err)
	}
	for _, m := range list {
		if m.Model != "" && !slices.Contains(names, m.Model) {
			names = append(names, m.Model)
		}
	}
	var choice sdk.SessionConfigSelectOptionsUngrouped
	for _, name := range names {
		choice = append(choice, sdk.SessionConfigSelectOption{Name: name, Value: sdk.SessionConfigValueId(name)})
	}
	return []sdk.SessionConfigOption{{Select: &sdk.SessionConfigOptionSelect{Type: "select", Id: modelOption, Name: "Model",
		Description: sdk.Ptr("Is asked from your next message on."), Category: sdk.Ptr(sdk.SessionConfigOptionCategoryModel),
		CurrentValue: sdk.SessionConfigValueId(now), Options: sdk.SessionConfigSelectOptions{Ungrouped: &choice}}}}
}

// resolve plans a job of the session with a model, without running it. "" means the
// session's usual model.
func (s *server) resolve(ctx context.Context, ses *session, model string) (*adroit.Plan, error) {
	r := s.o.Request
	r.Dir, r.Prompt, r.Servers = ses.dir, "hello", ses.servers
	if model != "" {
		r.Model = model
	}
	return s.c.Resolve(ctx, r)
}

// SetSessionConfigOption implements [sdk.Agent]. Another model is asked from the next
// prompt on, also in a conversation that has begun.
func (s *server) SetSessionConfigOption(ctx context.Context, p sdk.SetSessionConfigOptionRequest) (out sdk.SetSessionConfigOptionResponse, err error) {
	if p.ValueId == nil || p.ValueId.ConfigId != modelOption {
		return out, sdk.NewInvalidParams(map[string]any{"error": "the option of a session is " + modelOption + ", and its value the name of one"})
	}
	ses, err := s.session(p.ValueId.SessionId)
	if err != nil {
		return out, err
	}
	plan, err := s.resolve(ctx, ses, string(p.ValueId.Value))
	if err != nil {
		return out, failure(err)
	}
	ses.mu.Lock()
	if plan.Task.Model != ses.model {
		ses.model, ses.window, ses.picked = plan.Task.Model, plan.Task.Options.Window, true
	}
	ses.mu.Unlock()
	return sdk.SetSessionConfigOptionResponse{ConfigOptions: s.options(ctx, ses)}, nil
}

// update sends an update of a session.
func (s *server) update(ses *session, u sdk.SessionUpdate) {
	// An editor that is gone ends the turn by its context.
	_ = s.conn.SessionUpdate(context.WithoutCancel(s.ctx), sdk.SessionNotification{SessionId: ses.id, Update: u})
}
