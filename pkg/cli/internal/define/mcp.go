package define

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/mcp"
	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
	"github.com/adroit-run/adroit/pkg/cli/internal/serve"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/spf13/cobra"
)

// NewMCP returns the command adroit mcp.
func NewMCP(e *kit.Env) *cobra.Command {
	return kit.Lister("mcp", "Use the tools of MCP servers", mcpNewList(e), newAdd(e), newRemove(e), newCheck(e), mcpNewCall(e), newLogin(e), newLogout(e), serve.NewMCP(e))
}

func newCheck(e *kit.Env) *cobra.Command {
	var asJSON, accept bool
	var dir string
	cmd := &cobra.Command{
		Use:   "check NAME",
		Short: "Start an MCP server and list its tools",
		Long: "Starts the server and lists its tools. Those that it has when it is first used are offered\n" +
			"to agents as they are then; a tool that is new since, or described otherwise, is not, until\n" +
			"--accept accepts it. What models get to read of each tool is shown whole, and what of it\n" +
			"differs from what was accepted is marked.",
		Example: "  adroit mcp check files\n  adroit mcp check files --accept",
		Args:    cobra.ExactArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			root, err := kit.Directory(dir)
			if err != nil {
				return err
			}
			q := adroit.ToolServerCheck{Named: adroit.Named{Scope: adroit.Scope{Dir: root}, Name: args[0]}, Accept: accept}
			r, err := c.CheckToolServer(ctx, q)
			if err != nil {
				return err
			}
			if err := kit.Print(e.OutScreen(), asJSON, r, printReport); err != nil {
				return err
			}
			if r.Pending > 0 {
				return kit.With(kit.Failed)
			}
			return nil
		}),
	}
	kit.JSONFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&accept, "accept", false, "offer the tools as they are now")
	cmd.Flags().StringVarP(&dir, "dir", "C", ".", "as a job in this directory has it")
	return cmd
}

// mostShown bounds the number of a server's tools that are shown.
const mostShown = 200

// toolName is the name of a tool so that two names look alike only if they are.
func toolName(name string) string {
	if strings.Join(strings.Fields(name), " ") != name {
		return strconv.Quote(name)
	}
	return kit.SanitizeLine(name)
}

// printTool prints all that a model gets to read of the tool n, which is what is accepted, and
// marks the lines that differ from what was accepted before.
func printTool(w io.Writer, r *adroit.ToolServerReport, n int) {
	i := r.Items[n]
	is := toolLines(i.Description, i.Input)
	if i.Accepted == nil {
		if len(is) == 1 && is[0] == kit.SanitizeLine(kit.FirstSentence(i.Description)) {
			return // the list has it
		}
		fmt.Fprintf(w, "%s\n", toolName(i.Name))
		for _, l := range is {
			fmt.Fprintf(w, "    %s\n", l)
		}
		return
	}
	was := toolLines(i.Accepted.Description, i.Accepted.Input)
	if slices.Equal(was, is) {
		fmt.Fprintf(w, "%s  differs from what was accepted in its title or in what the server says that it changes\n", toolName(i.Name))
	} else {
		fmt.Fprintf(w, "%s  differs from what was accepted:\n", toolName(i.Name))
	}
	for _, l := range was {
		if !slices.Contains(is, l) {
			fmt.Fprintf(w, "  - %s\n", l)
		}
	}
	for _, l := range is {
		mark := "+"
		if slices.Contains(was, l) {
			mark = " "
		}
		fmt.Fprintf(w, "  %s %s\n", mark, l)
	}
}

// toolLines are a description and a schema in lines: one for each parameter, with all that
// is in its schema, and one for what else the schema has.
func toolLines(description string, input json.RawMessage) (lines []string) {
	for l := range strings.Lines(strings.TrimSpace(description)) {
		lines = append(lines, kit.SanitizeLine(strings.TrimRight(l, "\r\n")))
	}
	var s map[string]json.RawMessage
	var properties map[string]json.RawMessage
	if json.Unmarshal(input, &s) != nil || len(s["properties"]) > 0 && json.Unmarshal(s["properties"], &properties) != nil {
		return append(lines, kit.SanitizeLine(string(input)))
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		lines = append(lines, fmt.Sprintf("%s: %s", toolName(name), compact(properties[name])))
	}
	delete(s, "properties")
	if string(s["type"]) == `"object"` {
		delete(s, "type")
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		lines = append(lines, fmt.Sprintf("(%s: %s)", kit.SanitizeLine(name), compact(s[name])))
	}
	return lines
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return kit.SanitizeLine(string(raw))
	}
	return kit.SanitizeLine(plainHTML.Replace(b.String()))
}

// plainHTML takes the escapes of encoding/json for HTML out of JSON; it passes over escaped backslashes.
var plainHTML = strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

func printReport(w io.Writer, r *adroit.ToolServerReport) {
	protocol := kit.SanitizeLine(r.Protocol)
	if r.Transport == "sse" {
		protocol += " over HTTP+SSE, the transport of 2024-11-05"
	}
	fmt.Fprintf(w, "%s: %s, MCP %s, %s\n", kit.SanitizeLine(r.Name), kit.SanitizeLine(cmp.Or(r.Version, "unnamed")), protocol, kit.Plural(len(r.Items), "tool"))
	var t kit.Table
	for _, i := range r.Items[:min(len(r.Items), mostShown)] {
		words := []string{i.Effect}
		if i.Asks {
			words = append(words, "asks")
		}
		if i.State != "offered" {
			words = append(words, i.State)
		}
		t.Row("  "+toolName(i.Name), strings.Join(words, ", "), kit.SanitizeLine(kit.FirstSentence(i.Description)))
	}
	t.Write(w)
	if n := len(r.Items) - mostShown; n > 0 {
		fmt.Fprintf(w, "  and %d more; --json lists them\n", n)
	}
	for n, i := range r.Items {
		if n < mostShown || i.State != "offered" || i.Accepted != nil {
			printTool(w, r, n)
		}
	}
	switch {
	case r.Transport != "stdio":
	case len(r.Compared) == 0:
		fmt.Fprintln(w, "nothing of its command is compared with what was accepted before it is started: a change of what it runs is not noticed")
	default:
		fmt.Fprintf(w, "compared with what was accepted before it is started, and nothing else: %s\n", kit.SanitizeLine(strings.Join(r.Compared, ", ")))
	}
	for _, p := range r.Prompts {
		fmt.Fprintf(w, "prompt %s: %s\n", kit.SanitizeLine(p.Name), kit.SanitizeLine(kit.FirstSentence(p.Description)))
	}
	for _, i := range r.Items[:min(len(r.Items), mostShown)] {
		for _, u := range i.Unchecked {
			fmt.Fprintf(w, "not checked before a call of %s: %s\n", toolName(i.Name), kit.SanitizeLine(u))
		}
	}
	for _, u := range r.Unusable {
		fmt.Fprintf(w, "not usable: %s\n", kit.SanitizeLine(u))
	}
	for _, g := range r.Gone {
		fmt.Fprintf(w, "gone: %s\n", kit.SanitizeLine(g))
	}
	if r.More > 0 {
		fmt.Fprintf(w, "and %d more, which are not offered: choose by tools: in its entry\n", r.More)
	}
	if r.Pending > 0 {
		fmt.Fprintf(w, "%s changed or new, and not offered: %s accepts them as they are\n", kit.Plural(r.Pending, "tool"), hint.Command("mcp check %s --accept", r.Name))
	}
}

func mcpNewCall(e *kit.Env) *cobra.Command {
	var asJSON bool
	var dir string
	cmd := &cobra.Command{
		Use:   "call SERVER TOOL [JSON|@FILE|-]",
		Short: "Call a tool of an MCP server, without a model",
		Long: "Calls a tool and prints what a model would get. Nobody is asked: whoever types this has\n" +
			"decided.",
		Example: "  adroit mcp call files list_directory '{\"path\": \"/srv/docs\"}'",
		Args:    cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			call := adroit.ToolCall{Name: args[1], Server: args[0], Dir: dir}
			return request.CallTool(cmd.Context(), e, call, args[2:], hint.Command("mcp check %s", args[0])+" lists the tools", asJSON)
		},
	}
	kit.JSONFlag(cmd, &asJSON)
	cmd.Flags().StringVarP(&dir, "dir", "C", ".", "as a job in this directory has it")
	return cmd
}

func mcpNewList(e *kit.Env) *cobra.Command {
	var asJSON bool
	var dir string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the MCP servers and what is known of them",
		Long: "Lists the servers of the configuration, those that adroit mcp add has added, and those of\n" +
			"the .mcp.json of this directory if it is trusted. Nothing is started.",
		Example: "  adroit mcp list",
		Args:    cobra.NoArgs,
		RunE: e.With(func(ctx context.Context, c adroit.Client, _ []string) error {
			root, err := kit.Directory(dir)
			if err != nil {
				return err
			}
			l, err := c.ToolServers(ctx, adroit.Scope{Dir: root})
			if err != nil {
				return err
			}
			if err := kit.Print(e.OutScreen(), asJSON, l.Items, printServers); err != nil || asJSON {
				return err
			}
			offerImport(e, root, l.Items)
			return nil
		}),
	}
	kit.JSONFlag(cmd, &asJSON)
	cmd.Flags().StringVarP(&dir, "dir", "C", ".", "with the servers of the project in this directory")
	return cmd
}

func printServers(w io.Writer, list []adroit.ToolServerInfo) {
	if len(list) == 0 {
		fmt.Fprintln(w, "There are no MCP servers. "+hint.Command("mcp add NAME -- COMMAND")+" adds one.")
		return
	}
	var t kit.Table
	for _, s := range list {
		state := s.State
		if s.State != "configured" {
			state += ", " + kit.Plural(s.Tools, "tool")
		}
		if s.Pending > 0 {
			state += fmt.Sprintf(", %d changed or new", s.Pending)
		}
		if s.LoggedIn {
			state += ", logged in"
		}
		if s.Source == "project" {
			state += " (project)"
		}
		t.Row(s.Name, s.Transport, state, kit.SanitizeLine(s.Target))
	}
	t.Write(w)
}

// offerImport prints which servers other programs have.
func offerImport(e *kit.Env, dir string, have []adroit.ToolServerInfo) {
	for _, source := range mcp.Sources {
		found, err := mcp.Others(source, dir, e.Getenv)
		if err != nil {
			e.Warn("%v", err)
			continue
		}
		maps.DeleteFunc(found, func(name string, _ mcp.Server) bool {
			return slices.ContainsFunc(have, func(s adroit.ToolServerInfo) bool { return s.Name == name })
		})
		if len(found) > 0 {
			fmt.Fprintf(e.Err, "%s has %s; %s adds them\n", source, strings.Join(slices.Sorted(maps.Keys(found)), ", "), hint.Command("mcp add --from %s", source))
		}
	}
}

func newLogin(e *kit.Env) *cobra.Command {
	var in config.ServerLogin
	var secretEnv string
	var noBrowser bool
	cmd := &cobra.Command{
		Use:   "login NAME",
		Short: "Log in at an MCP server behind an address",
		Long: "Opens the page of the server's login in the browser, waits for its answer on this machine, and\n" +
			"keeps the tokens with the keys of adroit config login, in a file that only you can read. Jobs renew\n" +
			"them. adroit registers itself with the server, or is the client that --client-id names.",
		Example: "  adroit mcp login docs\n  adroit mcp login docs --client-id adroit --port 8765",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Config()
			if err != nil {
				return err
			}
			if in.Secret = e.Getenv(secretEnv); secretEnv != "" && in.Secret == "" {
				return kit.Usagef("set it, or leave --client-secret-env out", "the variable %s is not set", secretEnv)
			}
			in.Server = args[0]
			in.Open = func(address string) error {
				fmt.Fprintf(e.Err, "log in at %s\n", kit.SanitizeLine(address))
				if !noBrowser {
					browse(address)
				}
				return nil
			}
			n, err := c.LoginServer(cmd.Context(), config.Program{Warn: func(text string) { e.Warn("%s", text) }}, in)
			if err != nil {
				return err
			}
			fmt.Fprintf(e.Out, "logged in at %s, which has %s\n", in.Server, kit.Plural(n, "tool"))
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&in.ClientID, "client-id", "", "of a client that the server knows beforehand")
	f.StringVar(&secretEnv, "client-secret-env", "", "the variable that has that client's secret")
	f.IntVar(&in.Port, "port", 0, "wait for the answer at this port (default any)")
	kit.AllowZero(f, "port")
	f.BoolVar(&noBrowser, "no-browser", false, "print the address of the page only")
	return cmd
}

// browse opens a page, if there is something to open it with: its address has been
// printed.
func browse(address string) {
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	if cmd := hostexec.Command(context.Background(), program, address); cmd.Start() == nil {
		go func() { _ = cmd.Wait() }()
	}
}

func newLogout(e *kit.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "logout NAME",
		Short:   "Forget a login at an MCP server, and have it revoked",
		Example: "  adroit mcp logout docs",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Config()
			if err != nil {
				return err
			}
			l, err := logout(cmd.Context(), e, c, args[0])
			if err != nil {
				return err
			}
			name, how := kit.SanitizeLine(args[0]), ""
			switch {
			case !l.Was:
				fmt.Fprintf(e.Out, "there is no login at %s\n", name)
				return nil
			case l.Revoked:
				how = ", and the server has revoked it"
			}
			fmt.Fprintf(e.Out, "the login at %s is forgotten%s\n", name, how)
			return nil
		},
	}
}

// logout forgets a login and warns if it may still be good.
func logout(ctx context.Context, e *kit.Env, c *config.Config, name string) (mcp.Logout, error) {
	l, err := c.LogoutServer(ctx, config.Program{Warn: func(text string) { e.Warn("%s", text) }}, name)
	if l.Failed != nil {
		e.Warn("the login may still be good at the server, which did not revoke it: %v", l.Failed)
	}
	return l, err
}
