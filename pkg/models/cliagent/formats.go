package cliagent

// A kind is a format with all that differs between formats besides its arguments and
// its stream.
type kind struct {
	name   string
	pkg    string // where the program comes from; empty for a format without a program of its own
	driven string // how, and what holds it, in a line
	// costs is set if the program reports what it has cost.
	costs bool
	// confines is set if the program runs commands in a sandbox of its own.
	confines bool
	// read returns the format; nil if the Agent Client Protocol is used.
	read func(Config) (format, error)
}

func fixed(f format) func(Config) (format, error) {
	return func(Config) (format, error) { return f, nil }
}

// kinds has all formats, in the order of listings.
var kinds = []kind{
	{name: "claude", pkg: "@anthropic-ai/claude-code", costs: true, read: fixed(claude{}),
		driven: "driven by claude -p; its tools are offered by the agent's rights, its commands are not confined"},
	{name: "codex", pkg: "@openai/codex", confines: true, read: fixed(codex{}),
		driven: "driven by codex exec --json; its commands run in its own sandbox"},
	{name: "gemini", pkg: "@google/gemini-cli", read: fixed(gemini{}),
		driven: "driven by gemini -p; its approval mode follows the agent's rights, its commands are not confined"},
	{name: "opencode", pkg: "opencode-ai", costs: true, read: fixed(opencode{}),
		driven: "driven by opencode run; its permissions follow the agent's rights, its commands are not confined"},
	{name: "jsonl", read: func(c Config) (format, error) { return newLines(c.Args, c.Fields, c.Types) },
		driven: "driven as the configuration says, by lines of JSON; it is not confined"},
	{name: "acp", driven: "driven by the Agent Client Protocol; what it asks is decided by permissions and --approve"},
}

func formatNamed(name string) (kind, bool) {
	for _, k := range kinds {
		if k.name == name {
			return k, true
		}
	}
	return kind{}, false
}

func formatNames() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// Known lists the programs that need no configuration, in the order of listings.
func Known() (names []string) {
	for _, k := range kinds {
		if k.pkg != "" {
			names = append(names, k.name)
		}
	}
	return names
}

// Costs reports whether the program reports what it has cost.
func (a *Agent) Costs() bool { return a.kind.costs }
