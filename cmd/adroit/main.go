// Command adroit runs LLM agents as durable jobs.
package main

import (
	"github.com/adroit-run/adroit/pkg/cli"
	"github.com/adroit-run/adroit/pkg/parts"
)

func main() { cli.Main(parts.All()...) }
