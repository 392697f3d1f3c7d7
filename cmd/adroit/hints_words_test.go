package main

// standsFor maps placeholders of hints to text that a person would type.
var standsFor = map[string]string{
	"N": "9999999", "USD": "99", "DURATION": "1h", "WHY": "'not now'", "WORDS": "'dark blue'", "continue|abort|WORDS": "abort", "PROMPT": "'look around'", "TASK": "'look around'",
	"AGENT": "builder", `"..."`: "'look around'", "COMMAND": "true", "MODE": "edits", "ID": "last", "TURN": "1", "PROVIDER": "openai",
}

// hintWords is the same for single templates. What a sentence only names, as in "jobs
// undo takes it back", is typed with what > has behind it, and < before it.
var hintWords = map[string]map[string]string{
	"jobs rm":                          {">": " last"},
	"jobs show":                        {">": " last"},
	"fix failures propose SIGNATURE":   {"SIGNATURE": `$(adroit fix failures propose --json | sed -n 's/.*"signature": "\(.*\)".*/\1/p' | head -1)`},
	"jobs restore FILE --replace":      {"FILE": "../all.tar.gz"},
	"mcp add":                          {">": " added -- true"},
	"mcp check":                        {">": " memory --accept"},
	"mcp add %s …":                     {"…": "-- true"},
	"mcp add NAME --url %s":            {"NAME": "other"},
	"mcp add NAME -- COMMAND":          {"NAME": "other"},
	"mcp add %s --read PATH --replace": {"PATH": "/usr/share"},
	"agents memory add":                {">": " 'The tests need Go.'"},
	"agents memory forget":             {">": " 1"},
	"run --test COMMAND":               {">": " assistant 'look around'"},
	"run --mode MODE":                  {">": " assistant 'look around'"},
	"run --worktree":                   {">": " assistant 'look around'"},
	"run":                              {">": " assistant 'look around'"},
	"config login":                     {"<": "echo sk-test | ", ">": " openai --no-verify"},
	"config login PROVIDER":            {"<": "echo sk-test | ", ">": " --no-verify"},
	"config login openai":              {"<": "echo sk-test | ", ">": " --no-verify"},
	"config login anthropic":           {"<": "echo sk-test | ", ">": " --no-verify"},
	"config login %s":                  {"<": "echo sk-test | ", ">": " --no-verify"},
}

// refusals lists the errors with which a printed command may fail in a test, since they
// depend on its environment.
var refusals = map[string][]string{
	// There is no Ollama where tests run.
	"demo -m ollama/qwen3:8b": {"connection refused"},
	"models pull qwen3:8b":    {"connection refused"},
	// It says what is wrong with the model, the server or the file: that is what it is for.
	"models check": {"connection refused", "has no turn"},
	"mcp check %s": {"the MCP server"},
	// What a person has to do first is said with the command.
	"jobs merge %s": {"uncommitted changes are in the way", "Author identity unknown", "a repository of its own, whose settings"},
	"jobs rm %s":    {"are in no commit"},
	// The job has ended meanwhile.
	"jobs cancel %s": {"the job has ended", "its runner has not confirmed"},
	// A backup is restored elsewhere, or in place of what is there.
	"jobs restore %s": {"--replace moves them aside", "stop it first"},
	// What is wrong with the file, which is not put right yet, stands above it.
	"run AGENT PROMPT": {"unknown key"},
	"config show":      {"there is no sandbox level"},
	// A name of files that are to be made first.
	"run %s":                       {"no agent is named"}, // the default agent
	"serve --cert FILE --key FILE": {"no such file or directory"},
	"run ./agent.md PROMPT":        {"no such file or directory"},
}
