package adroit_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/guard/netguard"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/script"
	"github.com/adroit-run/adroit/pkg/tools"
)

type orderInput struct {
	Number string `json:"number" jsonschema:"description=Number of the order, as on its bill"`
}

// shopTools are what a package of tools exports. toolstest.Check holds them to what adroit
// relies on: see TestToolsOfExamples.
func shopTools(shop string) []tools.Tool {
	return []tools.Tool{tools.New(tools.Metadata{
		Name: "order_status", Description: "Look up where an order is.", Category: "research",
		UsageHint: "Use it for one order. It knows no customers.",
		Needs:     tools.Net, Effect: tools.Pure, Secrets: []string{"SHOP_KEY"}, Produces: []string{"order"},
	}, func(ctx context.Context, env *tools.Env, in orderInput) (string, error) {
		req, err := http.NewRequestWithContext(ctx, "GET", shop+"/orders/"+url.PathEscape(in.Number), nil)
		if err != nil {
			return "", err
		}
		req.Header.Set("Authorization", "Bearer "+env.Secrets["SHOP_KEY"])
		reply, err := env.HTTP.Do(req)
		if err != nil {
			return "", err
		}
		defer reply.Body.Close()
		text, err := io.ReadAll(io.LimitReader(reply.Body, 10_000))
		if err == nil && reply.StatusCode != http.StatusOK {
			err = fmt.Errorf("there is no order %s: %s", in.Number, reply.Status)
		}
		return string(text), err
	})}
}

// A package of tools: the server's key reaches the tool, and neither the model nor what the
// job keeps.
func Example_tools() {
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s is on its way, asked with %s", r.URL.Path, r.Header.Get("Authorization"))
	}))
	defer shop.Close()
	must(shop, os.Setenv("SHOP_KEY", "seven-sleepy-seals"))
	defer os.Unsetenv("SHOP_KEY")
	ctx := context.Background()
	model := must(script.Parse("turns", []byte(`turns:
  - calls: [{name: order_status, args: {number: A7}}]
  - {expect: {contains: on its way}, text: It is on its way.}`)))
	rt := must(adroit.Open(ctx, adroit.Options{
		Tools: shopTools(shop.URL), Models: map[string]llm.Model{"script": model}, Model: "script/turns",
		Workspace: adroit.Workspace{Network: netguard.Guard{Allow: []string{must(url.Parse(shop.URL)).Host}}},
	}))
	defer rt.Close()
	clerk := agents.DynamicAgent{Name: "clerk", Description: "Answer customers.", Prompt: "You answer customers.", Tools: []string{"order_status"}}
	state := must(adroit.Run(ctx, rt, adroit.Request{Input: agents.Input{Spec: &clerk, Prompt: "Where is A7?", Approve: "all"}}))
	fmt.Println(string(state.Value("order")))
	fmt.Println(state.Last)
	// Output:
	// "/orders/A7 is on its way, asked with Bearer [secret: SHOP_KEY]"
	// It is on its way.
}
