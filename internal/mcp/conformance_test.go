package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/e2e/conformance"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/guard/netguard"
	"github.com/adroit-run/adroit/pkg/tools"
)

// TestConformance has the conformance suite of the protocol test a Pool, in both
// revisions: this program is its client then.
func TestConformance(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	failures, err := filepath.Abs("testdata/conformance.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			conformance.Run(t, "client", "--command", exe, "--requirements", revision, "--expected-failures", failures, "--timeout", "600000")
		})
	}
}

// conform performs a client scenario of the suite.
func conform(scenario, url string) error {
	probeTime, connectTime, listTime, undeclaredTime = 10*time.Minute, 10*time.Minute, 10*time.Minute, time.Minute // they all run at once
	var given struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
		Calls  []struct {
			Name      string
			Arguments json.RawMessage
		} `json:"toolCalls"`
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	p := New(Options{Dir: filepath.Join(dir, "mcp"), Keys: rootfs.In(dir), Network: netguard.Guard{Allow: []string{"localhost", "127.0.0.1"}}, Servers: map[string]Server{"suite": {URL: url}}})
	if strings.HasPrefix(scenario, "auth/") {
		form := LoginForm{ClientID: "https://conformance-test.local/client-metadata.json", Open: browser}
		if given.ID != "" {
			form.ClientID, form.ClientSecret = given.ID, given.Secret
		}
		var back *callback
		if p, back, err = p.loggingIn(ctx, form); err != nil {
			return err
		}
		defer back.close()
	}
	defer p.Close()
	list, err := p.Tools(ctx, turn.Scope{}, []string{"suite"})
	if err != nil {
		return err
	}
	c := &conformer{p: p, tools: map[string]turn.Tool{}}
	for _, t := range list {
		c.tools[t.Tool] = t
	}
	switch scenario {
	case "tools_call":
		return c.call(ctx, "add_numbers", `{"a":5,"b":3}`, "")
	case "elicitation-sep1034-client-defaults":
		return c.call(ctx, "test_client_elicitation_defaults", "{}", "{}")
	case "sse-retry":
		return c.call(ctx, "test_reconnection", "{}", "")
	case "json-schema-2020-12-preservation":
		return c.call(ctx, "json_schema_echo", fmt.Sprintf(`{"schema":%s}`, c.tools["json_schema_2020_12_tool"].Input), "")
	case "sep-2322-client-request-state":
		for _, name := range []string{"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"} {
			_ = c.call(ctx, name, "{}", `{"confirmed":true}`) // some are to be refused
		}
	case "http-standard-headers":
		return c.each(ctx)
	case "http-custom-headers":
		for _, one := range given.Calls {
			_ = c.call(ctx, one.Name, string(one.Arguments), "") // the suite judges
		}
	case "http-invalid-tool-headers":
		for name := range c.tools {
			_ = c.call(ctx, name, `{"region":"us-west1"}`, "")
		}
	default:
		if strings.HasPrefix(scenario, "auth/") {
			return c.call(ctx, "test-tool", "{}", "")
		}
	}
	return nil
}

// A conformer calls the tools of the suite.
type conformer struct {
	p     *Pool
	tools map[string]turn.Tool
}

// call calls a tool and gives answer to every question.
func (c *conformer) call(ctx context.Context, name, args, answer string) error {
	t, ok := c.tools[name]
	if !ok {
		return fmt.Errorf("there is no tool %s", name)
	}
	var said turn.Said
	for {
		r, err := c.p.Call(turn.WithSaid(ctx, said), turn.Scope{}, t, new(tools.Env).Only(0), json.RawMessage(args))
		asks := new(turn.Asking)
		switch {
		case errors.As(err, &asks) && len(said.Answers) < 10:
			said.Answers = append(said.Answers, turn.Answer{ID: asks.ID, Call: asks.Call, Action: "accept", Content: json.RawMessage(answer)})
		case err != nil:
			return err
		case r.Failed:
			return fmt.Errorf("%s: %s", name, r.Text)
		default:
			return nil
		}
	}
}

// each uses a tool, a resource and a prompt.
func (c *conformer) each(ctx context.Context) error {
	for name := range c.tools {
		if err := c.call(ctx, name, "{}", ""); err != nil {
			return err
		}
		break
	}
	r, err := c.p.Resource(ctx, turn.Scope{}, "suite", "")
	if err != nil || r.Failed {
		return fmt.Errorf("the resources: %s, %w", r.Text, err)
	}
	uri, _, _ := strings.Cut(r.Text, " ")
	if r, err = c.p.Resource(ctx, turn.Scope{}, "suite", uri); err != nil || r.Failed {
		return fmt.Errorf("the resource %s: %s, %w", uri, r.Text, err)
	}
	report, err := c.p.Check(ctx, turn.Scope{}, "suite", false)
	if err != nil {
		return err
	}
	if len(report.Prompts) == 0 {
		return nil
	}
	_, err = c.p.Prompt(ctx, turn.Scope{}, "suite", report.Prompts[0].Name, map[string]string{})
	return err
}
