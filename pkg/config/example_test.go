package config_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/parts"
)

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// A Go program gets the runtime that its user has configured for the command
// line, with the same models, agents and jobs.
func ExampleOptions() {
	home := must(os.MkdirTemp("", "home"))
	defer os.RemoveAll(home)
	variables := map[string]string{"HOME": home, "ADROIT_MODEL": "openai/gpt-5-mini"}
	getenv := func(name string) string { return variables[name] }

	o := must(config.Options(getenv, parts.All())) // os.Getenv in a program
	rt := must(adroit.Open(context.Background(), o))
	defer rt.Close()

	agents := must(rt.Agents(context.Background(), adroit.Scope{}))
	fmt.Println(o.Defaults.Model, len(agents.Items) > 0)
	// Output: openai/gpt-5-mini true
}
