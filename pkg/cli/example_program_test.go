package cli_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
)

// stock is a tool of the shop; its agents may use it beside the tools of adroit.
var stock = tools.New(tools.Metadata{Name: "stock", Description: "Count what is in stock.", Category: "utility", Effect: tools.Pure},
	func(_ context.Context, _ *tools.Env, in struct{ Article string }) (int, error) {
		return len(in.Article), nil
	})

// prices is a command of the shop.
func prices() *cobra.Command {
	return &cobra.Command{Use: "prices ARTICLE", Short: "Print the price of an article", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] != "tea" {
				return fmt.Errorf("there is no price of %s", args[0])
			}
			fmt.Fprintln(cmd.OutOrStdout(), "4.20")
			return nil
		}}
}

// A command line of the program's own has adroit's commands under its name, with a tool and
// a command more. In a program, main is one line: cli.Program{…}.Main().
func ExampleProgram_commands() {
	home, err := os.MkdirTemp("", "shop")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(home)
	env := map[string]string{"HOME": home, "ADROIT_HOME": home, "PATH": os.Getenv("PATH")}
	shop := func(args ...string) string {
		var out, errs strings.Builder
		code := cli.Program{
			Name: "shop", Parts: parts.All(), Tools: []tools.Tool{stock}, Commands: []*cobra.Command{prices()},
			Stdout: &out, Stderr: &errs, Getenv: func(name string) string { return env[name] },
		}.Run(context.Background(), args...)
		return fmt.Sprintln("exit code", code) + out.String() + errs.String()
	}
	fmt.Print(shop("prices", "tea"))
	fmt.Print(shop("prices", "gold"))
	fmt.Print(shop("prices"))
	fmt.Println(strings.Contains(shop("tools"), "stock"))
	// Output:
	// exit code 0
	// 4.20
	// exit code 1
	// shop: error: there is no price of gold
	// exit code 2
	// shop: error: shop prices needs ARTICLE
	// shop: hint: usage: shop prices ARTICLE
	// shop: hint: shop prices --help has the details
	// true
}
