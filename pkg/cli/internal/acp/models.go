package acp

import (
	"context"
	"slices"
	"time"

	"github.com/adroit-run/adroit/pkg/adroit"
	sdk "github.com/coder/acp-go-sdk"
)

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
