package mcp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestFilesOfOtherPrograms: the files in which other programs have servers are read as those
// programs read them, and what cannot be used is named.
func TestFilesOfOtherPrograms(t *testing.T) {
	const npx = `{"command":["npx"],"args":["-y","srv"]}`
	for name, tt := range map[string]struct {
		file, want string // the entry s, or a part of the problem
	}{
		"Claude Desktop":             {`{"mcpServers":{"s":{"command":"npx","args":["-y","srv"]}}}`, npx},
		"Claude Desktop, Windows":    {`{"mcpServers":{"s":{"command":"cmd","args":["/c","npx","-y","srv"]}}}`, `{"command":["npx","-y","srv"]}`},
		"a path of Windows":          {`{"mcpServers":{"s":{"command":"C:\\Program Files\\nodejs\\npx.cmd","args":["-y","srv"]}}}`, `{"command":["C:\\Program Files\\nodejs\\npx.cmd"],"args":["-y","srv"]}`},
		"with other settings":        {`{"globalShortcut":"","scale":0,"mcpServers":{"s":{"command":"npx","args":["-y","srv"]}}}`, npx},
		"Claude Code":                {`{"mcpServers":{"s":{"type":"stdio","command":"npx","args":["-y","srv"],"env":{}}}}`, npx},
		"Claude Code, http":          {`{"mcpServers":{"s":{"type":"http","url":"https://x.example/mcp","headers":{"Authorization":"Bearer ${T}"}}}}`, `{"url":"https://x.example/mcp","headers":{"Authorization":"Bearer ${T}"}}`},
		"Claude Code, sse":           {`{"mcpServers":{"s":{"type":"sse","url":"https://x.example/sse"}}}`, `{"url":"https://x.example/sse"}`},
		"a default":                  {`{"mcpServers":{"s":{"command":"npx","args":["${A:-b}"]}}}`, `{"command":["npx"],"args":["${A:-b}"]}`},
		"Cursor":                     {`{"mcpServers":{"s":{"command":"npx","args":["-y","srv"],"env":{"K":"${env:K}"}}}}`, `{"command":["npx"],"args":["-y","srv"],"env":{"K":"${env:K}"}}`},
		"Cursor, one text":           {`{"mcpServers":{"s":{"command":"npx -y srv"}}}`, `{"command":["npx","-y","srv"]}`},
		"Cursor, envFile":            {`{"mcpServers":{"s":{"command":"npx","envFile":".env"}}}`, "s: its envFile .env is not read"},
		"VS Code":                    {`{"inputs":[{"type":"promptString","id":"k","password":true}],"servers":{"s":{"type":"stdio","command":"npx","args":["-y","srv"],"env":{"K":"${input:k}"}}}}`, `{"command":["npx"],"args":["-y","srv"],"env":{"K":"${input:k}"}}`},
		"VS Code, http":              {`{"servers":{"s":{"type":"http","url":"https://x.example/mcp"}}}`, `{"url":"https://x.example/mcp"}`},
		"VS Code, settings":          {`{"editor.fontSize":12,"mcp":{"inputs":[],"servers":{"s":{"command":"npx","args":["-y","srv"]}}}}`, npx},
		"VS Code, comments":          {"// mine\n{\n  /* these */\n  \"servers\": {\n    \"s\": {\"command\": \"npx\", \"args\": [\"-y\", \"srv\",],}, // last\n  },\n}\n", npx},
		"no comments":                {`{"mcpServers":{"s":{"command":"npx","args":["http://x/*y*/","a,]","\"//"]}}}`, `{"command":["npx"],"args":["http://x/*y*/","a,]","\"//"]}`},
		"VS Code, folder":            {`{"servers":{"s":{"command":"npx","args":["${workspaceFolder}"]}}}`, `{"command":["npx"],"args":["${workspaceFolder}"]}`},
		"Windsurf":                   {`{"mcpServers":{"s":{"serverUrl":"https://x.example/mcp"}}}`, `{"url":"https://x.example/mcp"}`},
		"Windsurf, off":              {`{"mcpServers":{"s":{"command":"npx","args":["-y","srv"],"disabled":true,"disabledTools":["a"]}}}`, `{"command":["npx"],"args":["-y","srv"],"disabled":true}`},
		"Zed":                        {`{"context_servers":{"s":{"source":"custom","command":"npx","args":["-y","srv"],"env":{}}}}`, npx},
		"Zed, before":                {`{"context_servers":{"s":{"command":{"path":"npx","args":["-y","srv"],"env":{"A":"b"}},"settings":{}}}}`, `{"command":["npx"],"args":["-y","srv"],"env":{"A":"b"}}`},
		"Zed, an extension":          {`{"context_servers":{"s":{"source":"extension","settings":{}}}}`, "s: it has neither a command nor a url"},
		"opencode":                   {`{"$schema":"https://opencode.ai/config.json","mcp":{"s":{"type":"local","command":["npx","-y","srv"],"environment":{"K":"{env:K}"},"enabled":true}}}`, `{"command":["npx","-y","srv"],"env":{"K":"${env:K}"}}`},
		"opencode, remote":           {`{"mcp":{"s":{"type":"remote","url":"https://x.example/mcp","headers":{"A":"Bearer {env:K}"},"enabled":false}}}`, `{"url":"https://x.example/mcp","headers":{"A":"Bearer ${env:K}"},"disabled":true}`},
		"Gemini":                     {`{"mcpServers":{"s":{"httpUrl":"https://x.example/mcp","trust":true,"timeout":600000,"includeTools":["a"]}}}`, `{"url":"https://x.example/mcp"}`},
		"Gemini, both":               {`{"mcpServers":{"s":{"url":"https://x.example/sse","httpUrl":"https://x.example/mcp"}}}`, `{"url":"https://x.example/mcp"}`},
		"Gemini, cwd":                {`{"mcpServers":{"s":{"command":"npx","args":["-y","srv"],"cwd":"./","trust":true}}}`, npx},
		"Cline":                      {`{"mcpServers":{"s":{"autoApprove":["a"],"disabled":false,"timeout":60,"type":"stdio","command":"npx","args":["-y","srv"]}}}`, npx},
		"Roo":                        {`{"mcpServers":{"s":{"type":"streamable-http","url":"https://x.example/mcp","alwaysAllow":["a"],"watchPaths":["x"]}}}`, `{"url":"https://x.example/mcp"}`},
		"docker":                     {`{"mcpServers":{"s":{"command":"docker","args":["run","-i","--rm","-e","K","img"],"env":{"K":"v"}}}}`, `{"command":["docker"],"args":["run","-i","--rm","-e","K","img"],"env":{"K":"v"}}`},
		"uvx":                        {`{"mcpServers":{"s":{"command":"uvx","args":["srv","--port",8080]}}}`, `{"command":["uvx"],"args":["srv","--port","8080"]}`},
		"bunx and deno":              {`{"mcpServers":{"s":{"command":"deno","args":["run","-A","jsr:@x/y"]}}}`, `{"command":["deno"],"args":["run","-A","jsr:@x/y"]}`},
		"numbers":                    {`{"mcpServers":{"s":{"command":"srv","env":{"PORT":8080,"DEBUG":true,"X":"y"}}}}`, `{"command":["srv"],"env":{"DEBUG":"true","PORT":"8080","X":"y"}}`},
		"nothing set":                {`{"mcpServers":{"s":{"command":"srv","args":null,"env":null}}}`, `{"command":["srv"]}`},
		"a mark, and line ends":      {"\ufeff{\r\n\"mcpServers\":{\"s\":{\"command\":\"srv\"}}}\r\n", `{"command":["srv"]}`},
		"one text for arguments":     {`{"mcpServers":{"s":{"command":"srv","args":"-y x"}}}`, "s"},
		"a url with a command":       {`{"mcpServers":{"s":{"command":"srv","url":"https://x.example"}}}`, "it is one or the other"},
		"an empty one":               {`{"mcpServers":{"s":{}}}`, "neither a command nor a url"},
		"null":                       {`{"mcpServers":{"s":null}}`, "neither a command nor a url"},
		"a password":                 {`{"mcpServers":{"s":{"url":"https://u:p@x.example"}}}`, "user name or password"},
		"a header in the clear":      {`{"mcpServers":{"s":{"url":"http://x.example","headers":{"A":"b"}}}}`, "in the clear"},
		"a comment that is not over": {`{"mcpServers":{"s":{"command":"srv"}} /* `, "JSON"},
	} {
		got, problems, err := ParseFile([]byte(tt.file))
		text := ""
		for _, p := range append(problems, err) {
			if p != nil {
				text += p.Error() + "\n"
			}
		}
		if strings.HasPrefix(tt.want, "{") {
			b, err := json.Marshal(got["s"])
			if err != nil || string(b) != tt.want || text != "" {
				t.Errorf("%s: %s, %s; want %s", name, b, text, tt.want)
			}
		} else if len(got) != 0 || !strings.Contains(text, tt.want) {
			t.Errorf("%s: %v, %q; want %s", name, got, text, tt.want)
		}
	}
	if _, err := (Server{}).reference("${input:k}", "/w", os.Getenv, os.ReadFile); err == nil || !strings.Contains(err.Error(), "${NAME}") {
		t.Errorf("an input is %v", err)
	}
	if at, err := (Server{}).reference("${workspaceFolder}/x", "/w", os.Getenv, os.ReadFile); err != nil || at != "/w/x" {
		t.Errorf("the folder is %s, %v", at, err)
	}
}

// TestFromFile: the servers of a file are taken over without rights, and an entry that cannot be
// used does not keep the others.
func TestFromFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"mcp.json":    `{"servers":{"My Files":{"command":"srv","sandbox":"off"},"bad":{"envFile":"x","command":"srv"}}}`,
		"config.toml": "[mcp_servers.docs]\nurl = \"https://x.example/mcp\"\nbearer_token_env_var = \"T\"\nenv_http_headers = {X-A = \"A\"}\ntool_timeout_sec = 5\n[mcp_servers.a]\ncommand = \"srv\"\nenv_vars = [\"K\"]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Others(filepath.Join(dir, "mcp.json"), dir, os.Getenv)
	if err == nil || !strings.Contains(err.Error(), "envFile") || len(got) != 1 || got["my-files"].Sandbox != "" || got["my-files"].Command[0] != "srv" {
		t.Errorf("%v, %v", got, err)
	}
	got, err = Others(filepath.Join(dir, "config.toml"), dir, os.Getenv)
	if d := got["docs"]; err != nil || d.Headers["Authorization"] != "Bearer ${T}" || d.Headers["X-A"] != "${A}" || d.Timeout.Seconds() != 5 || got["a"].Env["K"] != "${K}" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err = Others(filepath.Join(dir, "none.json"), dir, os.Getenv); err == nil {
		t.Error("a file that is not there has none")
	}
}

// TestCommentsInLinearTime: what a file of comments takes grows with its length, and one that is never
// closed is not sought again for each beginning.
func TestCommentsInLinearTime(t *testing.T) {
	cost := func(n int) float64 {
		text := []byte(strings.Repeat("//\n", n))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		withoutComments(text)
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	if small, large := cost(1000), cost(4000); large > 6*small {
		t.Errorf("four times the comments take %.1f times the memory", large/small)
	}
	if _, _, err := ParseFile([]byte(strings.Repeat("/*/", maxFile/3))); err == nil {
		t.Error("a comment that is not closed was read")
	}
}
