package define

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/adroit-run/adroit/internal/mcp"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/config"
)

func usage(what string) error {
	return kit.Usagef("for example "+what+" NAME=VALUE", "%s takes NAME=VALUE", what)
}

// A newServer is the server that the flags of add describe.
type newServer struct {
	mcp.Server
	headers, env []string
	from         string
	replace      bool
}

func newAdd(e *kit.Env) *cobra.Command {
	var o newServer
	c := &cobra.Command{
		Use:   "add NAME -- COMMAND [ARG...]",
		Short: "Add an MCP server: a command, an address, or those of another program",
		Long: "Adds a server to mcp.json beside the configuration file. Its command runs in the sandbox,\n" +
			"without network, and sees only what is granted here. ${NAME} stands for a variable and\n" +
			"${file:PATH} for the content of a file when the server is started, so that no secret is\n" +
			"in the file; ${workspace} is the directory of the job.\n\n" +
			"An agent has the tools of a server if it names it under mcp_servers:, or if --agents\n" +
			"names the agent.",
		Example: "  adroit mcp add files --workspace read --agents 'coder' -- \\\n    mcp-server-filesystem '${workspace}'\n" +
			"  adroit mcp add docs --url https://docs.example.com/mcp \\\n    --header 'Authorization=Bearer ${DOCS_TOKEN}'\n" +
			"  adroit mcp add --from claude",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.from != "" {
				return o.takeOver(cmd, e, args)
			}
			if len(args) == 0 {
				return kit.Usagef("for example: "+hint.Command("mcp add files -- mcp-server-filesystem /srv/docs"), "the server has no name")
			}
			var err error
			if o.Headers, err = pairs(o.headers, "--header"); err != nil {
				return err
			}
			if o.Env, err = pairs(o.env, "--env"); err != nil {
				return err
			}
			if o.Command, err = command(e, args[1:]); err != nil {
				return err
			}
			if o.replace && len(o.Command) == 0 && o.URL == "" {
				if err := o.keep(cmd.Flags(), e, args[0]); err != nil {
					return err
				}
			}
			o.hintRead(e, args[0])
			o.Net = o.Net || asksForNet(cmd, e, map[string]mcp.Server{args[0]: o.Server})
			if err := add(e, args[0], o.Server, o.replace); err != nil {
				return err
			}
			fmt.Fprintf(e.Out, "added %s; %s starts it and lists its tools\n", args[0], hint.Command("mcp check %s", args[0]))
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&o.URL, "url", "", "reach the server at this address instead of starting it")
	f.StringArrayVar(&o.headers, "header", nil, "send NAME=VALUE with each request")
	f.StringArrayVar(&o.env, "env", nil, "set NAME=VALUE in its environment")
	f.BoolVar(&o.Net, "net", false, "let the command reach the network")
	f.StringArrayVar(&o.Read, "read", nil, "let the command read this path of the home directory")
	f.StringArrayVar(&o.Write, "write", nil, "let the command write below this path")
	f.StringVar(&o.Workspace, "workspace", "", "let the command read or write the job's directory")
	kit.AllowEmpty(f, "workspace") // takes it back with --replace
	f.StringSliceVar(&o.Tools, "tools", nil, "offer only these tools, with wildcards")
	f.StringSliceVar(&o.Agents, "agents", nil, "give its tools to these agents, with wildcards")
	f.DurationVar(&o.Timeout, "timeout", 0, "of one call (default 2m)")
	f.DurationVar(&o.StartTimeout, "start-timeout", 0, "of its start (default 30s, and 2m for what is downloaded first)")
	f.BoolVar(&o.replace, "replace", false, "replace a server of that name; without a command or --url, change what the other flags give it")
	f.StringVar(&o.from, "from", "", "add the servers of another program: claude, codex, or a file that it has")
	return c
}

// command is the command of a server as it can be started anywhere: paths that exist here
// become absolute.
func command(e *kit.Env, args []string) ([]string, error) {
	if len(args) == 1 && (strings.HasPrefix(args[0], "http://") || strings.HasPrefix(args[0], "https://")) {
		return nil, kit.Usagef(hint.Command("mcp add NAME --url %s", args[0]), "an address is no command")
	}
	args = slices.Clone(args)
	for i, a := range args {
		if !strings.ContainsRune(a, filepath.Separator) && (i == 0 || filepath.Ext(a) == "") || filepath.IsAbs(a) || strings.HasPrefix(a, "-") {
			continue // a program of PATH, a word or a flag
		}
		full, err := filepath.Abs(filepath.Join(e.Here(), a))
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(full); err != nil {
			continue
		}
		fmt.Fprintf(e.Err, "note: %s is kept as %s\n", kit.SanitizeLine(a), kit.SanitizeLine(full))
		args[i] = full
	}
	return args, nil
}

// keep takes from the entry of a server what the flags do not give.
func (o *newServer) keep(flags *pflag.FlagSet, e *kit.Env, name string) error {
	have, err := mcp.Added(mcp.File(config.Dir(e.Getenv)))
	if err != nil {
		return err
	}
	s, there := have[name]
	if !there {
		return nil // what is missing, the check of the entry reports
	}
	given := o.Server
	if s.Headers == nil {
		s.Headers = given.Headers
	}
	if s.Env == nil {
		s.Env = given.Env
	}
	maps.Copy(s.Headers, given.Headers)
	maps.Copy(s.Env, given.Env)
	s.Read, s.Write = union(s.Read, given.Read), union(s.Write, given.Write)
	for flag, set := range map[string]func(){
		"net": func() { s.Net = given.Net }, "workspace": func() { s.Workspace = given.Workspace }, "tools": func() { s.Tools = given.Tools },
		"agents": func() { s.Agents = given.Agents }, "timeout": func() { s.Timeout = given.Timeout }, "start-timeout": func() { s.StartTimeout = given.StartTimeout },
	} {
		if flags.Changed(flag) {
			set()
		}
	}
	o.Server = s
	return nil
}

// union is list with what others has more.
func union(list, others []string) []string {
	for _, o := range others {
		if !slices.Contains(list, o) {
			list = append(list, o)
		}
	}
	return list
}

// hintRead names what of the home directory the command is given and cannot read.
func (o *newServer) hintRead(e *kit.Env, name string) {
	home := e.Getenv("HOME")
	shown := func(at string) func(string) bool {
		return func(dir string) bool {
			if rest, ok := strings.CutPrefix(dir, "~/"); ok {
				dir = filepath.Join(home, rest)
			}
			return within(at, dir)
		}
	}
	for _, a := range slices.Concat(o.Command, o.Args) {
		if !filepath.IsAbs(a) || home == "" || !within(a, home) || slices.ContainsFunc(slices.Concat(o.Read, o.Write), shown(a)) {
			continue
		}
		if info, err := os.Stat(a); err == nil {
			dir := a
			if !info.IsDir() {
				dir = filepath.Dir(a)
			}
			fmt.Fprintf(e.Err, "note: the sandbox hides %s from the server; %s shows it this directory, if that has no secrets\n", kit.SanitizeLine(a), hint.Command("mcp add %s --read %s --replace", name, dir))
		}
	}
}

// within reports whether a path is dir or below it.
func within(at, dir string) bool {
	rel, err := filepath.Rel(dir, at)
	return err == nil && filepath.IsLocal(rel)
}

// takeOver adds the servers of another program, all or those that are named.
func (o *newServer) takeOver(cmd *cobra.Command, e *kit.Env, names []string) error {
	dir, err := kit.Directory(".")
	if err != nil {
		return err
	}
	found, err := mcp.Others(o.from, dir, e.Getenv)
	if err != nil && len(found) == 0 {
		return err
	}
	if err != nil {
		e.Warn("%v", err)
	}
	all := slices.Sorted(maps.Keys(found))
	if len(names) == 0 {
		names = all
	}
	if len(all) == 0 {
		return kit.Fail(fmt.Errorf("%s has no servers that could be taken over", o.from), hint.Command("mcp add NAME -- COMMAND")+" adds one")
	}
	have, err := mcp.Added(mcp.File(config.Dir(e.Getenv)))
	if err != nil {
		return err
	}
	asked := map[string]mcp.Server{}
	for _, name := range names {
		if _, taken := have[name]; !taken || o.replace {
			asked[name] = found[name]
		}
	}
	net := o.Net || asksForNet(cmd, e, asked)
	for _, name := range names {
		s, ok := found[name]
		if !ok {
			return kit.Usagef("it has "+strings.Join(all, ", "), "%s has no server %q%s", o.from, name, spelling.DidYouMean(name, all))
		}
		if _, taken := have[name]; taken && !o.replace {
			fmt.Fprintf(e.Out, "%s is there already\n", name)
			continue
		}
		s.Net, s.Read, s.Write, s.Workspace, s.Agents = o.Net || net && s.Fetches() != "", o.Read, o.Write, o.Workspace, o.Agents
		if s.URL != "" {
			s.Net, s.Read, s.Write, s.Workspace = false, nil, nil, ""
		}
		if err := add(e, name, s, o.replace); err != nil {
			return err
		}
		if s.Disabled {
			fmt.Fprintf(e.Out, "added %s, which is disabled there and here\n", name)
			continue
		}
		fmt.Fprintf(e.Out, "added %s; %s starts it in the sandbox\n", name, hint.Command("mcp check %s", name))
	}
	return nil
}

// asksForNet asks once whether the servers whose programs are downloaded at their start
// may reach the network. If nobody can be asked, it prints how to grant it.
func asksForNet(cmd *cobra.Command, e *kit.Env, servers map[string]mcp.Server) bool {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		if s := servers[name]; s.Fetches() != "" && !s.Net {
			names = append(names, name+" ("+s.Fetches()+")")
		}
	}
	if names == nil || cmd.Flags().Changed("net") {
		return false
	}
	list := kit.SanitizeLine(strings.Join(names, ", "))
	if in, ok := e.In.(*os.File); !ok || !kit.IsTerminal(in) || !e.Screen().IsTerminal() {
		fmt.Fprintf(e.Err, "%s: what is downloaded at the start needs the network, which the sandbox does not let it reach; --net grants it\n", list)
		return false
	}
	fmt.Fprintf(e.Err, "%s: what is downloaded at the start needs the network; may it reach it? [y]es, [n]o: ", list)
	answer, err := kit.NewLineReader(cmd.Context(), e.In).ReadLine()
	answer = strings.ToLower(strings.TrimSpace(answer))
	return err == nil && (answer == "y" || answer == "yes")
}

// add writes an entry, unless the configuration file has one that would count.
func add(e *kit.Env, name string, s mcp.Server, replace bool) error {
	c, err := e.Config()
	if err != nil {
		return err
	}
	if _, ok := c.MCP[name]; ok {
		return kit.Usagef("change it in "+config.Path(e.Getenv), "the configuration file has a server %s, which would be used instead", name)
	}
	return mcp.Add(mcp.File(config.Dir(e.Getenv)), name, s, replace)
}

func newRemove(e *kit.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME",
		Short:   "Remove an MCP server that adroit mcp add has added",
		Example: "  adroit mcp remove files",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Config()
			if err != nil {
				return err
			}
			if _, ok := c.MCP[args[0]]; ok {
				return kit.Usagef("take it out of "+config.Path(e.Getenv), "the server %s is in the configuration file", args[0])
			}
			data, err := c.Data()
			if err != nil {
				return err
			}
			if _, err := logout(cmd.Context(), e, c, args[0]); err != nil { // while its address is known
				return err
			}
			if err := mcp.Remove(mcp.File(config.Dir(e.Getenv)), filepath.Join(data, "mcp"), e.Getenv, args[0]); err != nil {
				return err
			}
			fmt.Fprintf(e.Out, "removed %s\n", args[0])
			return nil
		},
	}
}

// pairs reads NAME=VALUE.
func pairs(list []string, what string) (map[string]string, error) {
	out := map[string]string{}
	for _, p := range list {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, usage(what)
		}
		out[name] = value
	}
	return out, nil
}
