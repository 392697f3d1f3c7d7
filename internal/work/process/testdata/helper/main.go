// Command helper is the sandbox's helper and nothing else.
package main

import _ "github.com/adroit-run/adroit/internal/work/sandbox"

func main() {}
