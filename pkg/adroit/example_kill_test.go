package adroit_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/script"
	"github.com/adroit-run/adroit/pkg/tools"
)

// biller is the program: an agent built in Go that bills customers, with its jobs in data. The
// post office to which bills go may be slow.
func biller(ctx context.Context, data string, post io.Writer, slow bool) *adroit.Runtime {
	model := must(script.Parse("turns", []byte(`turns:
  - calls: [{name: bill, args: {customer: Ann}}]
  - calls: [{name: bill, args: {customer: Bob}}]
  - text: Ann and Bob have their bills.`)))
	bill := tools.New(tools.Metadata{
		Name: "bill", Description: "Send a customer the bill.", Needs: tools.Net, Effect: tools.Idempotent, // so an interrupted call may be repeated
	}, func(ctx context.Context, _ *tools.Env, in struct{ Customer string }) (string, error) {
		if slow && in.Customer == "Bob" {
			fmt.Fprintln(post, "billing Bob ...")
			<-ctx.Done()
			return "", ctx.Err()
		}
		fmt.Fprintln(post, "billed", in.Customer)
		return "sent", nil
	})
	return must(adroit.Open(ctx, adroit.Options{
		Tools:       []tools.Tool{bill},
		Models:      map[string]llm.Model{"script": model},
		Model:       "script/turns",
		Definitions: adroit.Definitions{Literals: []agents.DynamicAgent{{Name: "biller", Description: "Bill customers.", Prompt: "You bill customers.", Tools: []string{"bill"}}}},
		Storage:     adroit.Storage{Data: data, Store: sqlite.Store(data)},
	}))
}

// A process is killed with SIGKILL within the second call of its job. The next one goes on:
// the first call, which was finished, is not made again.
func Example_kill() {
	ctx := context.Background()
	if data := os.Getenv("BILLER_DATA"); data != "" { // this is the process that is killed
		must(adroit.Run(ctx, biller(ctx, data, os.Stderr, true), adroit.Request{Target: "biller", Input: agents.Input{Prompt: "Bill Ann and Bob.", Approve: "all"}}))
		return
	}
	data := must(os.MkdirTemp("", "bills-"))
	defer os.RemoveAll(data)
	first := exec.Command(must(os.Executable()), "-test.run=^Example_kill$")
	first.Env = append(os.Environ(), "BILLER_DATA="+data)
	out := must(first.StderrPipe())
	must(first, first.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Println("first process:", lines.Text())
		if lines.Text() == "billing Bob ..." {
			must(first, first.Process.Kill())
		}
	}
	_ = first.Wait() // it was killed

	rt := biller(ctx, data, os.Stdout, false)
	defer rt.Close()
	job := must(adroit.Find(ctx, rt, "last"))
	must(job.Start(ctx, adroit.StartOptions{}))
	state := must(job.Wait(ctx))
	fmt.Println(state.Last)
	// Output:
	// first process: billed Ann
	// first process: billing Bob ...
	// billed Bob
	// Ann and Bob have their bills.
}
