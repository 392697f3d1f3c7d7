package cliagent

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/pkg/llm"

	"github.com/coder/acp-go-sdk"
)

// RequestPermission implements [acp.Client].
func (c *client) RequestPermission(ctx context.Context, req acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	p := permission(req.ToolCall)
	c.asking.Lock()
	no := "nobody decides about that here"
	c.mu.Lock()
	c.waiting++
	if call := c.calls[req.ToolCall.ToolCallId]; call != nil {
		if req.ToolCall.RawInput != nil {
			call.input = req.ToolCall.RawInput
		}
		c.begin(req.ToolCall.ToolCallId)
	}
	c.mu.Unlock()
	if c.permit != nil && ctx.Err() == nil {
		no = c.permit(p)
	}
	c.asking.Unlock()
	c.mu.Lock()
	c.waiting--
	c.seen = time.Now() // the time that we took is not the program's
	status := extagent.StatusOK
	if no != "" {
		status = extagent.StatusDenied
		c.run.denied++
		c.run.refuse(cmp.Or(p.Command, p.Title, p.Kind) + ": " + no)
	}
	c.run.activity(llm.Activity{Kind: extagent.PermissionAsked, ID: string(req.ToolCall.ToolCallId), Name: p.Kind, Text: cmp.Or(p.Command, p.Title), Status: status, Output: no})
	c.mu.Unlock()
	want := []acp.PermissionOptionKind{acp.PermissionOptionKindAllowOnce, acp.PermissionOptionKindAllowAlways}
	if no != "" {
		want = []acp.PermissionOptionKind{acp.PermissionOptionKindRejectOnce, acp.PermissionOptionKindRejectAlways}
	}
	for _, kind := range want {
		if i := slices.IndexFunc(req.Options, func(o acp.PermissionOption) bool { return o.Kind == kind }); i >= 0 {
			return acp.RequestPermissionResponse{Outcome: acp.RequestPermissionOutcome{Selected: &acp.RequestPermissionOutcomeSelected{OptionId: req.Options[i].OptionId}}}, nil
		}
	}
	return acp.RequestPermissionResponse{Outcome: acp.RequestPermissionOutcome{Cancelled: &acp.RequestPermissionOutcomeCancelled{}}}, nil
}

// permission is the request of a program, with the fields it filled in.
func permission(t acp.ToolCallUpdate) extagent.PermissionRequest {
	p := extagent.PermissionRequest{Kind: "other"}
	if t.Kind != nil && *t.Kind != "" {
		p.Kind = string(*t.Kind)
	}
	if t.Title != nil {
		p.Title = brief(*t.Title, maxText)
	}
	for _, l := range t.Locations {
		p.Paths = append(p.Paths, l.Path)
	}
	for _, x := range t.Content {
		if x.Diff != nil {
			p.Paths = append(p.Paths, x.Diff.Path)
		}
	}
	raw, err := json.Marshal(t.RawInput)
	if err != nil {
		return p
	}
	var in struct {
		Command  json.RawMessage `json:"command"`
		FilePath string          `json:"filePath"`
		Filepath string          `json:"filepath"`
		File     string          `json:"file_path"`
		Path     string          `json:"path"`
	}
	decode(raw, &in)
	var one string
	var many []string
	switch {
	case json.Unmarshal(in.Command, &one) == nil:
		p.Command = one
	case json.Unmarshal(in.Command, &many) == nil:
		p.Command = strings.Join(many, " ")
	}
	if path := cmp.Or(in.FilePath, in.Filepath, in.File, in.Path); path != "" {
		p.Paths = append(p.Paths, path)
	}
	slices.Sort(p.Paths)
	p.Paths = slices.Compact(p.Paths)
	return p
}
