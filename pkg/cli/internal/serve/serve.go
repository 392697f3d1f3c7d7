// Package serve has the commands that listen for other programs: adroit serve and adroit
// mcp serve, which makes agents and tools of adroit tools of other programs over the Model
// Context Protocol.
//
//	s, err := serve.New(ctx, client, serve.Options{Request: request, Agents: []string{"reviewer"}})
//	err = s.Serve(os.Stdin, os.Stdout)
//
// A call of an agent is a job like any other. The package decides nothing about
// permission: what a job asks is put to a person, or the job waits.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/api"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// NewServe returns the command adroit serve.
func NewServe(e *kit.Env) *cobra.Command {
	var o api.Options
	var x exposed
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve a page with every job, and run jobs for other programs over HTTP",
		Long: "Serves the interface of docs/api.md below /v1/, and at /mcp the Model Context Protocol with\n" +
			"what adroit mcp serve exposes. Every command uses it with --server URL or ADROIT_SERVER;\n" +
			"jobs then run in the server and go on when the command ends.\n\n" +
			"It answers programs that send the token: that of ADROIT_TOKEN, else one that it makes and\n" +
			"keeps in the data directory, where only you can read it. Whoever has that may do all that\n" +
			"you can; adroit serve token gives others tokens that can do less. The link that it prints\n" +
			"has a browser take your place. When the server is stopped, its jobs are interrupted, and adroit continue\n" +
			"goes on with them.",
		Example: "  adroit serve\n  adroit --server http://127.0.0.1:7420 jobs\n  adroit serve --agent reviewer -C ~/src/app",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), e, o, &x) },
	}
	cmd.AddCommand(newToken(e), newTriggers(e))
	f := cmd.Flags()
	f.StringVar(&o.Address, "listen", "127.0.0.1:7420", "address and port, of which 0 takes a free one, or unix:PATH")
	f.StringVar(&o.Cert, "cert", "", "certificate in PEM form; needed to listen on other than loopback addresses")
	f.StringVar(&o.Key, "key", "", "key of the certificate")
	x.flags(f)
	return cmd
}

func run(ctx context.Context, e *kit.Env, o api.Options, x *exposed) error {
	where, err := token(e, &o, "ADROIT_TOKEN")
	if err != nil {
		return err
	}
	if o.Tokens, err = tokens(e); err != nil {
		return err
	}
	mcp, err := x.open(ctx, e)
	nothing := errors.Is(err, ErrNothing) && len(x.Agents)+len(x.Tools) == 0
	if err != nil && !nothing {
		return err
	}
	c, err := e.Client()
	if err != nil {
		return err
	}
	en, err := engine(e, withModel{c, x.Request})
	if err != nil {
		return err
	}
	if en != nil {
		o.Signed = en
	}
	l, err := api.Open(o)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", api.Handler(withModel{c, x.Request}))
	log := logger(e)
	log("listening on %s; the token is %s", l.URL(), where)
	if link := l.Link(); link != "" {
		log("%s lets one browser in, within ten minutes", link)
	}
	if nothing {
		log("%s exposes nothing; --agent NAME does, and expose: true in an agent's file", Path)
	} else {
		mux.Handle(Path, allowed(mcp.Handler(), x.Request.Dir))
	}
	return heed(ctx, en, log, func(ctx context.Context) error { return l.Serve(ctx, mux) })
}

// allowed refuses callers who may not run jobs and answer them, as tools of the protocol do, in a directory.
func allowed(h http.Handler, dir string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := adroit.AuthorityOf(r.Context())
		err := errors.Join(a.Need(adroit.ScopeRun), a.Need(adroit.ScopeAnswer))
		if err == nil && !a.Covers(dir) {
			err = problem.Invalidf("ask for a token with the root "+dir, "the token %s does not reach what is exposed", a.Name)
		}
		if err != nil {
			api.Forbid(w, err)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// tokens returns the tokens given to others.
func tokens(e *kit.Env) (*api.Tokens, error) {
	dir, err := e.DataDir()
	if err != nil {
		return nil, err
	}
	return api.NewTokens(dir), nil
}

// newToken returns the command adroit serve token.
func newToken(e *kit.Env) *cobra.Command {
	var asJSON bool
	list := func(cmd *cobra.Command, _ []string) error {
		t, err := tokens(e)
		if err != nil {
			return err
		}
		all, err := t.List()
		if err != nil {
			return kit.Fail(err, "")
		}
		if asJSON {
			return kit.JSON(e.Out, all)
		}
		if len(all) == 0 {
			fmt.Fprintln(e.Out, "no tokens were given; "+hint.Command("serve token add NAME --scope read")+" makes one")
			return nil
		}
		var rows kit.Table
		for _, one := range all {
			scopes := make([]string, len(one.Scopes))
			for i, s := range one.Scopes {
				scopes[i] = string(s)
			}
			rows.Row(one.Name, strings.Join(scopes, ","), cmp.Or(strings.Join(one.Roots, " "), "all directories"), kit.Ago(e.Now(), one.Made))
		}
		rows.Write(e.Out)
		return nil
	}
	cmd := &cobra.Command{
		Use:   "token",
		Short: "List, make and revoke tokens for others",
		Long: "Lists the tokens that others use adroit serve with: name, scopes, the directories they reach. Each\n" +
			"scope includes read; admin is all. A token's jobs and directories are those under its roots;\n" +
			"others do not exist for it. Only hashes of tokens are kept. A server that runs notices a\n" +
			"change at once.",
		Example: "  adroit serve token add ci --scope run --root ~/src/app\n  adroit serve token revoke ci",
		Args:    cobra.NoArgs,
		RunE:    list,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	cmd.AddCommand(newTokenAdd(e), newTokenRevoke(e))
	return cmd
}

func newTokenAdd(e *kit.Env) *cobra.Command {
	var scopes, roots []string
	cmd := &cobra.Command{
		Use:     "add NAME",
		Short:   "Make a token and print it, this once",
		Long:    "Makes a token and prints it. Nothing prints it again: only its hash is kept.",
		Example: "  adroit serve token add phone --scope answer\n  adroit serve token add ci --scope run --root ~/src/app",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			a := adroit.Authority{Name: args[0]}
			for _, s := range scopes {
				a.Scopes = append(a.Scopes, adroit.TokenScope(s))
			}
			for _, r := range roots {
				dir, err := kit.Directory(r)
				if err != nil {
					return err
				}
				a.Roots = append(a.Roots, dir)
			}
			t, err := tokens(e)
			if err != nil {
				return err
			}
			secret, err := t.Add(a)
			if err != nil {
				return err
			}
			fmt.Fprintln(e.Out, secret)
			return nil
		},
	}
	cmd.Flags().StringSliceVar(&scopes, "scope", nil, "what it can do: read, run, answer, admin")
	cmd.Flags().StringArrayVar(&roots, "root", nil, "only jobs and directories under this one")
	return cmd
}

func newTokenRevoke(e *kit.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "revoke NAME",
		Short:   "Take a token back",
		Long:    "Takes a token back: the next request with it is refused, and streams that are open end\nwithin seconds.",
		Example: "  adroit serve token revoke ci",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			t, err := tokens(e)
			if err != nil {
				return err
			}
			return t.Revoke(args[0])
		},
	}
}

// withModel is a client whose requests have the model of the server, unless they name
// another one.
type withModel struct {
	adroit.Client
	of adroit.Request
}

func (c withModel) request(r adroit.Request) adroit.Request {
	if r.Model == "" && c.of.Model != "" {
		r.Model, r.ForAll = c.of.Model, c.of.ForAll
	}
	return r
}

// Resolve implements [adroit.JobWriter].
func (c withModel) Resolve(ctx context.Context, r adroit.Request) (*adroit.Plan, error) {
	return c.Client.Resolve(ctx, c.request(r))
}

// Submit implements [adroit.JobWriter].
func (c withModel) Submit(ctx context.Context, r adroit.Request) (*adroit.Submitted, error) {
	return c.Client.Submit(ctx, c.request(r))
}

// Doctor implements [adroit.Machine].
func (c withModel) Doctor(ctx context.Context, q adroit.DoctorQuery) ([]adroit.Finding, error) {
	q.Model = cmp.Or(q.Model, c.of.Model)
	return c.Client.Doctor(ctx, q)
}

// token sets the token of o, from the first of these variables that is set, else from the
// data directory. It returns a phrase that names the source.
func token(e *kit.Env, o *api.Options, variables ...string) (where string, err error) {
	for _, name := range variables {
		if o.Token = e.Getenv(name); o.Token == "" {
			continue
		}
		if len(o.Token) < rootfs.MinToken {
			return "", kit.Usagef("for example "+name+"=$(openssl rand -hex 16)", "the token of %s has fewer than %d characters", name, rootfs.MinToken)
		}
		return "that of " + name, nil
	}
	dir, err := e.DataDir()
	if err != nil {
		return "", err
	}
	if o.Token, err = rootfs.MakeToken(dir); err != nil {
		return "", kit.Fail(err, "ADROIT_TOKEN gives a token instead")
	}
	return "in " + e.Home(rootfs.TokenPath(dir)), nil
}

// exposed are the flags that say what the Model Context Protocol exposes.
type exposed struct {
	Options
	dir string
}

func (x *exposed) flags(f *pflag.FlagSet) {
	r := &x.Request
	f.StringArrayVar(&x.Agents, "agent", nil, "expose this agent; else those that say expose: true")
	f.StringArrayVar(&x.Tools, "tool", nil, "expose this tool, which is called without a job and without asking")
	f.StringArrayVar(&x.Skills, "skill", nil, "make this skill a prompt")
	f.BoolVar(&x.Memory, "memory", false, "expose what is remembered: remember, recall, memory_list, memory_forget")
	f.StringVarP(&x.dir, "dir", "C", ".", "work in this directory")
	f.StringVarP(&r.Model, "model", "m", "", "the model of all jobs whose request names none, provider/model or script:FILE")
	f.StringVar((*string)(&r.Approve), "approve", "", "what is approved without asking: ask (nothing), edits, all; none denies what would be asked")
	f.StringVar((*string)(&r.Mode), "mode", "", "permission mode of jobs and tools: plan, edits or auto")
	f.StringVar((*string)(&r.Sandbox), "sandbox", "", "confine commands at this level: auto, full, bubblewrap, landlock, off")
	f.BoolVar(&r.Trust, "trust-project", false, "use what this project brings: agents, skills, AGENTS.md")
	f.BoolVar(&x.ModelApproves, "model-approves", false, "let the calling model approve calls of a job in a person's place")
}

// open makes the server that the flags describe. It serves until ctx ends.
func (x *exposed) open(ctx context.Context, e *kit.Env) (*Server, error) {
	var err error
	if x.Request.Dir, err = kit.Directory(x.dir); err != nil {
		return nil, err
	}
	x.Request.Model = request.Script(x.Request.Model)
	x.Request.ForAll = x.Request.Model != ""
	if err := x.Request.Check(); err != nil {
		return nil, err
	}
	conf, err := e.Config() // also for jobs and calls that come over HTTP, and those of triggers
	if err != nil {
		return nil, err
	}
	conf.Mode, conf.Approve = cmp.Or(x.Request.Mode, conf.Mode), cmp.Or(x.Request.Approve, conf.Approve)
	conf.Sandbox.Level = cmp.Or(string(x.Request.Sandbox), conf.Sandbox.Level)
	x.Version = kit.Read().Version
	x.Log = logger(e)
	c, err := e.Client()
	if err != nil {
		return nil, err
	}
	return New(ctx, c, x.Options)
}

// logger prints lines for the operator.
func logger(e *kit.Env) func(format string, args ...any) {
	return func(text string, args ...any) {
		fmt.Fprintln(e.Err, hint.Program()+": "+kit.SanitizeLine(fmt.Sprintf(text, args...)))
	}
}

// NewMCP is adroit mcp serve.
func NewMCP(e *kit.Env) *cobra.Command {
	var x exposed
	var address string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve agents as tools of another program",
		Long: "Serves the Model Context Protocol on standard input and output, for a program such as\n" +
			"Claude Code, Codex or an editor that starts it. Each agent whose file says expose: true,\n" +
			"or each that --agent names, is a tool: a call runs a job to its end. Tools for jobs start,\n" +
			"follow, answer, resume and cancel them. Nothing else is exposed.\n\n" +
			"What a job asks is put to a person through the program if it can do that; else the job\n" +
			"waits for adroit answer approve. When the program goes away, its jobs are interrupted, and\n" +
			"adroit continue goes on with them. --http serves programs that send the token, as\n" +
			"adroit serve does.",
		Example: "  adroit mcp serve --agent reviewer\n  claude mcp add adroit -- adroit mcp serve --agent builder\n" +
			"  adroit mcp serve --tool read_file --tool search",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := x.open(cmd.Context(), e)
			if err != nil {
				return err
			}
			if address != "" {
				return overHTTP(cmd.Context(), e, s, address)
			}
			if err := s.Serve(e.In, e.Out); err != nil {
				return kit.Fail(fmt.Errorf("reading from the client: %w", err), "")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&address, "http", "", "serve on this loopback address instead, as in 127.0.0.1:8765")
	x.flags(cmd.Flags())
	return cmd
}

func overHTTP(ctx context.Context, e *kit.Env, s *Server, address string) error {
	o := api.Options{Address: address}
	where, err := token(e, &o, "ADROIT_MCP_TOKEN", "ADROIT_TOKEN")
	if err == nil {
		o.Tokens, err = tokens(e)
	}
	if err != nil {
		return err
	}
	l, err := api.Open(o)
	if err != nil {
		return err
	}
	log := logger(e)
	log("listening on %s%s", l.URL(), Path)
	log("clients send the header Authorization: Bearer TOKEN; the token is %s", where)
	mux := http.NewServeMux()
	mux.Handle(Path, allowed(s.Handler(), s.o.Request.Dir))
	return l.Serve(ctx, mux)
}
