package adroit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/script"
	"github.com/adroit-run/adroit/pkg/tools"
)

type payment struct {
	Euros int `json:"euros"`
}

// refund is a tool that should not be left to a model alone.
var refund = tools.New(tools.Metadata{Name: "refund", Description: "Pay a customer back.", Category: "utility", Needs: tools.Net, Effect: tools.Unsafe},
	func(_ context.Context, _ *tools.Env, p payment) (string, error) {
		fmt.Println("refunded", p.Euros)
		return "paid", nil
	})

// limit is the policy: small sums are paid, a person decides on others, and nobody on large ones.
func limit(_ context.Context, call adroit.Invocation) permit.Verdict {
	var p payment
	if call.Tool.Name != "refund" {
		return permit.Verdict{} // as the rules say
	}
	if json.Unmarshal(call.Args, &p) != nil {
		return permit.Verdict{Do: permit.Deny, Why: "the sum cannot be read"}
	}
	switch {
	case p.Euros <= 20:
		return permit.Verdict{Do: permit.Allow}
	case p.Euros <= 500:
		return permit.Verdict{Do: permit.Ask, Why: "it is more than 20 euros"}
	}
	return permit.Verdict{Do: permit.Deny, Why: "more than 500 euros are paid by the bank only"}
}

// A policy in Go allows calls, refuses them, or has a person asked.
func Example_policy() {
	ctx := context.Background()
	model := must(script.Parse("turns", []byte(`turns:
  - calls: [{name: refund, args: {euros: 15}}]
  - calls: [{name: refund, args: {euros: 90}}]
  - {expect: {last: paid}, calls: [{name: refund, args: {euros: 9000}}]}
  - {expect: {contains: by the bank only}, text: The bank has to pay 9000.}`)))
	rt := must(adroit.Open(ctx, adroit.Options{
		Tools: []tools.Tool{refund}, Models: map[string]llm.Model{"script": model}, Model: "script/turns",
		Callbacks: adroit.Callbacks{Policy: limit},
	}))
	defer rt.Close()
	cashier := agents.DynamicAgent{Name: "cashier", Description: "Pay back.", Prompt: "You pay back.", Tools: []string{"refund"}}
	job := must(adroit.Start(ctx, rt, adroit.Request{Input: agents.Input{Spec: &cashier, Prompt: "15, 90 and 9000."}}))
	state, err := job.Wait(ctx)
	for waits := new(adroit.StatusError); errors.As(err, &waits) && waits.Job.Status == jobs.Waiting; state, err = job.Wait(ctx) {
		for _, q := range must(job.Questions(ctx)) {
			var about struct{ Tool, Why string }
			must(q, json.Unmarshal(q.About, &about))
			fmt.Printf("%s? %s\n", about.Tool, about.Why)
			must(q, job.Approve(ctx, q))
		}
		must(job.Start(ctx, adroit.StartOptions{}))
	}
	fmt.Println(must(state, err).Last)
	// Output:
	// refunded 15
	// refund? it is more than 20 euros
	// refunded 90
	// The bank has to pay 9000.
}
