// Minimal is the smallest program over the runtime: its test counts the packages that it links.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/openai"
)

func main() {
	server, err := openai.New(openai.Config{BaseURL: os.Args[1]})
	if err != nil {
		panic(err)
	}
	fmt.Println(adroit.Ask(context.Background(), llm.Named(server, os.Args[2]), os.Args[3]))
}
