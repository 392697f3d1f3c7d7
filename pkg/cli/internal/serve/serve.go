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
	"net/http"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/api"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// New is adroit serve.
func NewServe(e *kit.Env) *cobra.Command {
	var o api.Options
	var x exposed
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run jobs for other programs, over HTTP",
		Long: "Serves the interface of docs/api.md below /v1/, and at /mcp the Model Context Protocol with\n" +
			"what adroit mcp serve exposes. Every command uses it with --server URL or ADROIT_SERVER;\n" +
			"jobs then run in the server and go on when the command ends.\n\n" +
			"It answers programs that send the token: that of ADROIT_TOKEN, else one that it makes and\n" +
			"keeps in the data directory, where only you can read it. Whoever has the token may do all\n" +
			"that you can. When the server is stopped, its jobs are interrupted, and adroit jobs resume\n" +
			"goes on with them.",
		Example: "  adroit serve\n  adroit --server http://127.0.0.1:7420 jobs\n  adroit serve --agent reviewer -C ~/src/app",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), e, o, &x) },
	}
	f := cmd.Flags()
	f.StringVar(&o.Address, "listen", "127.0.0.1:7420", "address and port; port 0 takes a free one")
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
	mcp, err := x.open(ctx, e)
	nothing := errors.Is(err, ErrNothing) && len(x.Agents)+len(x.Tools) == 0
	if err != nil && !nothing {
		return err
	}
	c, err := e.Client()
	if err != nil {
		return err
	}
	l, err := api.Open(o)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", api.Handler(withModel{c, x.Request}))
	log := logger(e)
	log("listening on %s; the token is %s", l.URL(), where)
	if nothing {
		log("%s exposes nothing; --agent NAME does, and expose: true in an agent's file", Path)
	} else {
		mux.Handle(Path, mcp.Handler())
	}
	return l.Serve(ctx, mux)
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

// token sets the token of o: that of the first of these variables that is set, else
// that of the data directory. It returns where it is.
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
