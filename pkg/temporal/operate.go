package temporal

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/adroit-run/adroit/internal/memory"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/config"
)

// Commands returns the commands below adroit worker, for hosts' operators. where is asked when one runs.
func Commands(where func() (at config.Temporal, data string, err error)) []*cobra.Command {
	doctor := &cobra.Command{
		Use:   "doctor",
		Short: "Check the cluster, the key and the store of jobs on Temporal",
		Long: "Checks whether jobs on Temporal work from this machine: address, TLS, namespace, search attributes,\n" +
			"clock, key, store, workers, and jobs with which no worker can go on. It registers the search\n" +
			"attributes that are missing. For its checks it starts a workflow, and ends it.",
		Example: "  adroit worker doctor",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, _, err := where()
			if err != nil {
				return err
			}
			return doctor(cmd.Context(), cmd.OutOrStdout(), at)
		},
	}
	key := &cobra.Command{
		Use:   "key",
		Short: "Add a key to the file of temporal.key_file, and make the file where there is none",
		Long: "Adds a new key to the file of temporal.key_file. The last key of the file encrypts, and all of them\n" +
			"decrypt. A worker uses the new key a second later. Copy the file to the other hosts at once: one\n" +
			"that lacks the key waits with its jobs until it has it.",
		Example: "  adroit config set temporal.key_file ~/.config/adroit/temporal.keys\n  adroit worker key",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, _, err := where()
			if err != nil {
				return err
			}
			if at.KeyFile == "" {
				return problem.Invalidf("for example temporal: {key_file: ~/.config/adroit/temporal.keys}", "temporal.key_file names no file")
			}
			id, err := AddKey(at.KeyFile)
			if err == nil {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s has the key %s, which encrypts from now on\n", at.KeyFile, id)
			}
			return err
		},
	}
	var listen, origin string
	codec := &cobra.Command{
		Use:   "codec",
		Short: "Decrypt payloads for Temporal's own interface",
		Long: "Serves the codec endpoint of Temporal's own interface and command line, which show payloads with it.\n" +
			"It prints the address to enter there, with a token in it. It decrypts only, and it listens on this\n" +
			"machine only: for others put a proxy with TLS before it.",
		Example: "  adroit worker codec --origin http://localhost:8233",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, data, err := where()
			if err != nil {
				return err
			}
			return serveCodec(cmd.Context(), cmd.OutOrStdout(), at, data, listen, origin)
		},
	}
	codec.Flags().StringVar(&listen, "listen", "127.0.0.1:8089", "the address, of this machine")
	codec.Flags().StringVar(&origin, "origin", "http://localhost:8233", "where the interface is whose pages may ask")
	return []*cobra.Command{doctor, key, codec}
}

// serveCodec serves the codec endpoint until ctx ends.
func serveCodec(ctx context.Context, out io.Writer, at config.Temporal, data, listen, origin string) error {
	host, _, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return problem.Invalidf("for example 127.0.0.1:8089; a proxy with TLS serves others", "--listen %q is no address of this machine alone", listen)
	}
	token, err := codecToken(data)
	if err != nil {
		return err
	}
	own := codec{}
	if at.KeyFile != "" {
		if own.keys, err = LoadKeys(at.KeyFile); err != nil {
			return err
		}
	}
	handler, err := codecHandler(own, &store{dir: at.Store}, token, origin)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "codec endpoint: http://%s/%s\n", l.Addr(), token); err != nil {
		return errors.Join(err, l.Close())
	}
	s := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { _ = s.Close() })() // it has nothing to lose
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// codecToken is the token of the codec endpoint of a data directory, made where there is none.
func codecToken(data string) (string, error) {
	file := filepath.Join(data, "codec.token")
	err := rootfs.MkdirAll(data)
	if err == nil {
		err = rootfs.CreateFile(file, 0o600, []byte(rand.Text()+"\n"))
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	b, err := rootfs.ReadPrivate(file, "its token is")
	if token := strings.TrimSpace(string(b)); err != nil || len(token) >= rootfs.MinToken {
		return token, err
	}
	return "", problem.Invalidf("remove it, and another one is made", "%s has no token of %d characters", file, rootfs.MinToken)
}

// codecHandler decrypts for holders of the token: in the Authorization header, or as the first part
// of the path, because Temporal's interface sends no header of its own. Pages of other origins
// than the one that is named do not get an answer.
func codecHandler(own codec, s *store, token, origin string) (http.Handler, error) {
	payloads, err := converter.NewPayloadHTTPHandler(converter.PayloadHTTPHandlerOptions{
		PreStorageCodecs: []converter.PayloadCodec{own},
		ExternalStorage:  converter.ExternalStorage{Drivers: []converter.StorageDriver{s}, DriverSelector: s, PayloadSizeThreshold: storedFrom},
	})
	if err != nil {
		return nil, err
	}
	same := func(given string) bool { return subtle.ConstantTimeCompare([]byte(given), []byte(token)) == 1 }
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Origin")
		switch from := r.Header.Get("Origin"); {
		case from == "": // no page
		case from != origin:
			http.Error(w, "pages of "+from+" may not ask: see --origin", http.StatusForbidden)
			return
		default:
			w.Header().Set("Access-Control-Allow-Origin", origin)
			w.Header().Set("Access-Control-Allow-Methods", "POST, OPTIONS")
			w.Header().Set("Access-Control-Allow-Headers", "authorization, content-type, x-namespace")
			w.Header().Set("Access-Control-Allow-Credentials", "true")
		}
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		path := strings.TrimPrefix(r.URL.Path, "/")
		if given, rest, ok := strings.Cut(path, "/"); ok && same(given) {
			path = rest
		} else if !same(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")) {
			http.Error(w, "the token is missing or another one", http.StatusUnauthorized)
			return
		}
		if path != "decode" && path != "download" {
			http.Error(w, "it decrypts only: decode and download", http.StatusNotFound)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, mostStored)
		payloads.ServeHTTP(w, r)
	}), nil
}

// A checkup prints what doctor finds.
type checkup struct {
	out    io.Writer
	faults int
}

func (c *checkup) line(kind, what, format string, args ...any) {
	if kind == "fault" {
		c.faults++
	}
	fmt.Fprintf(c.out, "%-6s %-18s %s\n", kind, what, fmt.Sprintf(format, args...))
}

// is reports a check: its error, or what was found.
func (c *checkup) is(what string, err error, format string, args ...any) bool {
	if err == nil {
		c.line("ok", what, format, args...)
		return true
	}
	if hint := problem.Hint(err); hint != "" {
		err = fmt.Errorf("%w\n%26s%s", err, "", hint)
	}
	c.line("fault", what, "%v", err)
	return false
}

// doctor checks whether jobs work with the cluster of at.
func doctor(ctx context.Context, out io.Writer, at config.Temporal) error {
	c := &checkup{out: out}
	c.check(ctx, at)
	if c.faults > 0 {
		return fmt.Errorf("%d of the checks failed", c.faults)
	}
	return nil
}

func (c *checkup) check(ctx context.Context, at config.Temporal) {
	t, err := Dial(ctx, at)
	if !c.is("connection", err, "%s answers%s", at.Address, map[bool]string{true: ", over TLS"}[at.TLS.Enabled]) {
		return
	}
	defer t.Close()
	d, err := t.describe(ctx)
	keeps := d.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	if !c.is("namespace", err, "%s; it forgets jobs %s after their end, and hosts keep them", at.Namespace, keeps) {
		return
	}
	c.is("search attributes", t.attributes(ctx), "all are registered; without one of them each task of a job would fail until it is")
	if at.KeyFile == "" {
		c.line("warn", "key", "temporal.key_file names none: whoever can read the namespace can read prompts and results")
	} else {
		id, _ := t.keys.current()
		c.line("ok", "key", "%s of %s encrypts", id, at.KeyFile)
	}
	if at.Store == "" {
		c.line("warn", "store", "temporal.store names none: inputs and results of more than %d bytes fail as too_big", mostBytes)
	}
	c.is("payloads", t.probe(ctx), "one of %d bytes came back as it was sent", 2*storedFrom)
	skew, err := t.compare(ctx)
	c.is("clock", cmp.Or(err, late(skew)), "it differs by less than %s from the clock of Temporal", skew.Abs().Round(time.Millisecond)+time.Millisecond)
	c.is("readable", t.readable(ctx), "key and store are those of the jobs that run")
	if _, err := t.sweep(ctx); err != nil {
		c.is("retention", err, "")
	}
	hosts, err := t.hosts(ctx, 0)
	if err == nil && len(hosts) == 0 {
		c.line("warn", "workers", "no host polls, and jobs wait for one: %s", hint.Command("worker"))
	} else {
		var answer []string
		if err == nil {
			err = ofEach(ctx, t, hosts, func(o adroit.Client) ([]adroit.JobSummary, error) { return o.Jobs(ctx, adroit.ListOptions{Limit: 1}) }, func(host string, _ []adroit.JobSummary, away bool) {
				if away {
					c.line("warn", "workers", "%s polled less than %s ago and does not answer", host, pollerGone)
				} else {
					answer = append(answer, host)
				}
			})
		}
		c.is("workers", err, "%s: %s", spelling.Plural(len(answer), "host"), cmp.Or(strings.Join(answer, ", "), "none"))
	}
	if err := c.versions(ctx, t); err != nil {
		c.is("versions", err, "")
	}
	if n, err := c.stuck(ctx, t); err != nil || n == 0 {
		c.is("jobs", err, "a worker can go on with each; one with which none can, after a panic or with another program, would be named here and wait")
	}
}

// mostSkew is the difference of clocks from which deadlines of hosts and Temporal do not agree.
const mostSkew = 5 * time.Second

func late(skew time.Duration) error {
	if skew.Abs() > mostSkew {
		return fmt.Errorf("it differs by %s from the clock of Temporal: questions and limits end at another time", skew.Round(time.Second))
	}
	return nil
}

// probe sends a payload that is large enough for the store, and reads it back.
func (t *Cluster) probe(ctx context.Context) (err error) {
	sent := strings.Repeat(rand.Text()+"\n", 2*storedFrom/27+1)
	run, err := t.c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: "adroit.doctor", WorkflowExecutionTimeout: time.Minute, StaticSummary: hint.Name("worker doctor")}, "adroit.doctor", sent)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, t.c.TerminateWorkflow(context.WithoutCancel(ctx), run.GetID(), run.GetRunID(), "the check is over"))
	}()
	history := t.c.GetWorkflowHistory(ctx, run.GetID(), run.GetRunID(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	if !history.HasNext() {
		return errors.New("a workflow that was started has no history")
	}
	ev, err := history.Next()
	if err != nil {
		return err
	}
	var got string
	in, err := t.decode(ev.GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads())
	if err == nil {
		err = converter.GetDefaultDataConverter().FromPayloads(&common.Payloads{Payloads: in}, &got)
	}
	if err != nil {
		return err
	}
	if got != sent {
		return errors.New("what came back is not what was sent")
	}
	return nil
}

// mostStuck bounds the jobs that doctor examines.
const mostStuck = 200

// stuck names the jobs with which no worker can go on.
func (c *checkup) stuck(ctx context.Context, t *Cluster) (n int, err error) {
	page, err := t.c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: t.namespace, PageSize: mostStuck, Query: fmt.Sprintf("TaskQueue = %q AND ExecutionStatus = 'Running'", t.queue)})
	if err != nil {
		return 0, err
	}
	for _, e := range page.Executions {
		d, err := t.c.DescribeWorkflowExecution(ctx, e.GetExecution().GetWorkflowId(), e.GetExecution().GetRunId())
		if err != nil {
			continue // it has ended
		}
		if why := t.stuck(ctx, d); why != "" {
			n++
			c.line("fault", "jobs", "%s: %s", e.GetExecution().GetWorkflowId(), why)
		}
	}
	return n, nil
}

// attributes registers the search attributes that a cluster lacks: a workflow that sets one
// which is not registered would fail its task for ever. A server registers what two ask for at the same
// moment twice, and returns either value from then on: they take turns.
func (t *Cluster) attributes(ctx context.Context) error {
	o := client.StartWorkflowOptions{ID: "adroit.attributes", TaskQueue: "adroit.doctor", WorkflowExecutionTimeout: attributesPatience, WorkflowExecutionErrorWhenAlreadyStarted: true}
	turn, err := t.c.ExecuteWorkflow(ctx, o, o.ID) // nobody runs it
	for ; errors.As(err, new(*serviceerror.WorkflowExecutionAlreadyStarted)); turn, err = t.c.ExecuteWorkflow(ctx, o, o.ID) {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("taking its turn at the search attributes of Temporal: %w", err)
	}
	err = t.register(ctx)
	if e := t.c.TerminateWorkflow(context.WithoutCancel(ctx), turn.GetID(), turn.GetRunID(), "its turn is over"); err == nil && e != nil {
		err = fmt.Errorf("ending its turn at the search attributes of Temporal: %w", e)
	}
	return err
}

func (t *Cluster) register(ctx context.Context) error {
	list, err := t.c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: t.namespace})
	if err != nil {
		return fmt.Errorf("looking at the search attributes of Temporal: %w", err)
	}
	lacking := map[string]enums.IndexedValueType{}
	for _, a := range []temporal.SearchAttributeKeyKeyword{AttributeStatus, AttributeHost, AttributeAgent, AttributeModel} {
		if _, ok := list.CustomAttributes[a.GetName()]; !ok {
			lacking[a.GetName()] = enums.INDEXED_VALUE_TYPE_KEYWORD
		}
	}
	if _, ok := list.CustomAttributes[AttributeCost.GetName()]; !ok {
		lacking[AttributeCost.GetName()] = enums.INDEXED_VALUE_TYPE_DOUBLE
	}
	if len(lacking) > 0 {
		_, err = t.c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: t.namespace, SearchAttributes: lacking})
		if err != nil {
			return problem.WithHint(fmt.Errorf("registering the search attributes of jobs: %w", err), "an operator of the cluster adds AdroitStatus, AdroitHost, AdroitAgent and AdroitModel of type Keyword, and AdroitCost of type Double: temporal operator search-attribute create")
		}
	}
	d, err := t.describe(ctx)
	if err != nil {
		return err
	}
	seen, twice := map[string]bool{}, []string{}
	for _, name := range d.GetConfig().GetCustomSearchAttributeAliases() {
		if seen[name] && strings.HasPrefix(name, "Adroit") {
			twice = append(twice, name)
		}
		seen[name] = true
	}
	if slices.Sort(twice); len(twice) > 0 {
		return problem.WithHint(fmt.Errorf("the namespace %s has search attributes twice, and returns either value of a job: %s", t.namespace, strings.Join(twice, ", ")),
			"when no job is open: temporal operator search-attribute remove --yes --name "+strings.Join(twice, " --name "))
	}
	return t.usable(ctx)
}

// attributesPatience bounds the wait for a server to read attributes that were just registered. One with a
// database other than SQLite looks every few seconds, and refuses them until then.
const attributesPatience = time.Minute

// usable waits until the search attributes can be asked for.
func (t *Cluster) usable(ctx context.Context) error {
	query := fmt.Sprintf("%s IS NULL AND %s IS NULL AND %s IS NULL AND %s IS NULL AND %s IS NULL",
		AttributeStatus.GetName(), AttributeHost.GetName(), AttributeAgent.GetName(), AttributeModel.GetName(), AttributeCost.GetName())
	for end := time.Now().Add(attributesPatience); ; {
		_, err := t.c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: t.namespace, Query: query})
		if !errors.As(err, new(*serviceerror.InvalidArgument)) || time.Now().After(end) {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// versions names the builds that have open jobs.
func (c *checkup) versions(ctx context.Context, t *Cluster) error {
	polls, _, err := t.builds(ctx)
	if err != nil {
		return err
	}
	jobs := map[string]int{}
	err = t.open(ctx, func(d *workflowservice.DescribeWorkflowExecutionResponse) error {
		if of := pinned(d.GetWorkflowExecutionInfo().GetVersioningInfo()); of != "" && d.GetWorkflowExecutionInfo().GetParentExecution() == nil {
			jobs[of]++
		}
		return nil
	})
	if err != nil {
		return err
	}
	now := ""
	d, err := t.c.WorkerDeploymentClient().GetHandle(t.queue).Describe(ctx, client.WorkerDeploymentDescribeOptions{})
	if err != nil && !errors.As(err, new(*serviceerror.NotFound)) { // no worker has been here yet
		return err
	}
	if v := d.Info.RoutingConfig.CurrentVersion; v != nil {
		now = v.BuildID
		jobs[now] += 0
	}
	for of := range polls {
		jobs[of] += 0
	}
	for _, of := range slices.Sorted(maps.Keys(jobs)) {
		what := fmt.Sprintf("%s: %d open jobs", of, jobs[of])
		if of == now {
			what += "; new jobs begin with it"
		}
		if hosts := polls[of]; len(hosts) > 0 {
			slices.Sort(hosts)
			c.line("ok", "versions", "%s; on %s", what, strings.Join(hosts, ", "))
		} else {
			c.line("warn", "versions", "%s; no worker runs it: its jobs go on with the current version if they fit, and wait for it otherwise", what)
		}
	}
	return nil
}

// Failures implements [adroit.JobReader] with those of all hosts that answer. Each keeps its own.
func (r *remote) Failures(ctx context.Context, q adroit.FailureQuery) ([]adroit.Failure, error) {
	of := q
	if of.Skip = 0; q.Limit > 0 {
		of.Limit = q.Skip + q.Limit
	}
	var lists [][]adroit.Failure
	err := ofAll(ctx, r, func(c adroit.Client) ([]adroit.Failure, error) { return c.Failures(ctx, of) },
		func(_ string, list []adroit.Failure, _ bool) { lists = append(lists, list) })
	if err != nil {
		return nil, err
	}
	all := byRank(lists)
	if len(q.Words) == 0 {
		slices.SortStableFunc(all, func(a, b adroit.Failure) int { return b.At.Compare(a.At) })
	}
	all = all[min(q.Skip, len(all)):]
	if q.Limit > 0 {
		all = all[:min(q.Limit, len(all))]
	}
	return all, nil
}

// FailureStats implements [adroit.JobReader].
func (r *remote) FailureStats(ctx context.Context, q adroit.StatsQuery) (*adroit.CoordinatorStats, error) {
	return adroit.SumCoordinators(ctx, r.Jobs, q)
}

// ForgetFailures implements [adroit.JobWriter]. A host that does not answer is an error: it still has its own.
func (r *remote) ForgetFailures(ctx context.Context, q adroit.FailureQuery) (sum int, err error) {
	var absent []string
	err = ofAll(ctx, r, func(c adroit.Client) (int, error) { return c.ForgetFailures(ctx, q) }, func(host string, n int, away bool) {
		if sum += n; away {
			absent = append(absent, host)
		}
	})
	if err == nil {
		err = remembers(absent, sum, "failures")
	}
	return sum, err
}

// The facts of persons are kept by every host that answers, under one id: a job may come to each.

// Facts implements [adroit.Memory] with those of all hosts that answer.
func (r *remote) Facts(ctx context.Context, q adroit.FactQuery) ([]adroit.Fact, error) {
	var lists [][]adroit.Fact
	err := ofAll(ctx, r, func(c adroit.Client) ([]adroit.Fact, error) { return c.Facts(ctx, q) },
		func(_ string, list []adroit.Fact, _ bool) { lists = append(lists, list) })
	seen := map[string]bool{}
	all := slices.DeleteFunc(byRank(lists), func(f adroit.Fact) bool { again := seen[f.ID]; seen[f.ID] = true; return again })
	if q.Text == "" {
		slices.SortStableFunc(all, func(a, b adroit.Fact) int { return b.Created.Compare(a.Created) })
	}
	if q.Limit > 0 {
		all = all[:min(q.Limit, len(all))]
	}
	return all, err
}

// Remember implements [adroit.Memory].
func (r *remote) Remember(ctx context.Context, n adroit.FactNote) (*adroit.Fact, error) {
	n.ID = cmp.Or(n.ID, memory.ID(rand.Text()))
	list, _, err := ofAny(ctx, r, func(c adroit.Client) (*adroit.Fact, error) { return c.Remember(ctx, n) })
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// Forget implements [adroit.Memory]. It returns how much the host forgot that had most. A host that does not answer is
// an error: it still has its own.
func (r *remote) Forget(ctx context.Context, q adroit.FactQuery) (int, error) {
	list, absent, err := ofAny(ctx, r, func(c adroit.Client) (int, error) { return c.Forget(ctx, q) })
	if err != nil {
		return 0, err
	}
	return slices.Max(list), remembers(absent, slices.Max(list), "facts")
}

// whole is the id of the job that ref means, or ref.
func (r *remote) whole(ctx context.Context, ref string) string {
	if _, err := r.t.c.DescribeWorkflowExecution(ctx, ref, ""); errors.As(err, new(*serviceerror.NotFound)) {
		if _, id, err := r.t.find(ctx, ref); err == nil {
			return cmp.Or(id, ref)
		}
	}
	return ref
}

// Remove implements [adroit.JobWriter].
func (r *remote) Remove(ctx context.Context, ref string, o adroit.RemoveOptions) (*adroit.Removed, error) {
	gone, err := r.Client.Remove(ctx, ref, o)
	if err == nil {
		gone.Notes = append(gone.Notes, r.t.forget(ctx, gone.Job.ID)...)
	}
	return gone, err
}

// Prune implements [adroit.JobWriter] on every host that answers; the others are noted.
func (r *remote) Prune(ctx context.Context, o adroit.PruneOptions) (*adroit.PruneReport, error) {
	all := &adroit.PruneReport{Removed: []string{}}
	err := ofAll(ctx, r, func(c adroit.Client) (*adroit.PruneReport, error) { return c.Prune(ctx, o) }, func(host string, one *adroit.PruneReport, away bool) {
		if away {
			all.Notes = append(all.Notes, host+" does not answer: its jobs are as they were")
			return
		}
		all.Removed, all.Kept, all.Notes = append(all.Removed, one.Removed...), append(all.Kept, one.Kept...), append(all.Notes, one.Notes...)
	})
	if err != nil {
		return nil, err
	}
	if !o.DryRun {
		for _, id := range all.Removed {
			all.Notes = append(all.Notes, r.t.forget(ctx, id)...)
		}
	}
	return all, nil
}
