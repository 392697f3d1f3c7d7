// Command adroit runs LLM agents as durable jobs.
package main

import (
	"github.com/adroit-run/adroit/pkg/cli"
)

func main() { cli.Main() }
