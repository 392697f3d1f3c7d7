package temporal

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	common "go.temporal.io/api/common/v1"
	"go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// pair writes a certificate for 127.0.0.1 and its key, and returns both.
func (r *rig) pair(name string) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		r.t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		DNSNames: []string{"temporal.example"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		r.t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		r.t.Fatal(err)
	}
	err = errors.Join(os.WriteFile(r.file(name+".crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(r.file(name+".key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), 0o600))
	own, e := tls.LoadX509KeyPair(r.file(name+".crt"), r.file(name+".key"))
	if err = errors.Join(err, e); err != nil {
		r.t.Fatal(err)
	}
	return own
}

// TestTLS connects through a frontend that asks for TLS, a certificate of the client and a key.
func TestTLS(t *testing.T) {
	r := served(t)
	server, own := r.pair("server"), r.pair("client")
	r.pair("other")
	to, err := grpc.NewClient(r.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	forward, err := proxy.NewWorkflowServiceProxyServer(proxy.WorkflowServiceProxyOptions{Client: workflowservice.NewWorkflowServiceClient(to)})
	if err != nil {
		t.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AddCert(own.Leaf)
	front := grpc.NewServer(
		grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients})),
		grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if md, _ := metadata.FromIncomingContext(ctx); len(md.Get("authorization")) != 1 || md.Get("authorization")[0] != "Bearer hush" {
				return nil, status.Error(codes.Unauthenticated, "no key")
			}
			return next(ctx, req)
		}))
	workflowservice.RegisterWorkflowServiceServer(front, forward)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go front.Serve(l) //nolint:errcheck // Stop ends it
	t.Cleanup(front.Stop)
	if err := os.WriteFile(r.file("api.key"), []byte("hush\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := config.Temporal{Address: l.Addr().String(), Namespace: "default", APIKeyFile: r.file("api.key"),
		TLS: config.TemporalTLS{CA: r.file("server.crt"), Cert: r.file("client.crt"), Key: r.file("client.key"), ServerName: "temporal.example"}}
	until(t, func() error {
		c, err := Dial(t.Context(), good)
		if err == nil {
			_, err = c.describe(t.Context())
			err = errors.Join(err, c.Close())
		}
		return err
	})
	for _, c := range []struct {
		name, want string
		spoil      func(*config.Temporal)
	}{
		{"no TLS", "a server with TLS needs temporal.tls", func(at *config.Temporal) { at.TLS, at.APIKeyFile = config.TemporalTLS{}, "" }},
		{"TLS for a plain server", "a server without TLS needs neither", func(at *config.Temporal) { at.Address = r.address }},
		{"a key for a plain server", "a server without TLS needs neither", func(at *config.Temporal) { at.Address, at.TLS = r.address, config.TemporalTLS{} }},
		{"another authority", "signed by unknown authority", func(at *config.Temporal) { at.TLS.CA = r.file("other.crt") }},
		{"another client", "temporal.tls has cert and key", func(at *config.Temporal) { at.TLS.Cert, at.TLS.Key = r.file("other.crt"), r.file("other.key") }},
		{"another name", "x509: cannot validate certificate for 127.0.0.1", func(at *config.Temporal) { at.TLS.ServerName = "" }},
		{"no key", "no key", func(at *config.Temporal) { at.APIKeyFile = "" }},
		{"another key", "no key", func(at *config.Temporal) { at.APIKeyFile, at.APIKey = "", "loud" }},
		{"a key without file", "temporal.api_key_file", func(at *config.Temporal) { at.APIKeyFile = r.file("absent") }},
		{"half a pair", "name both, or neither", func(at *config.Temporal) { at.TLS.Key = "" }},
		{"no certificates", "it has certificates in PEM", func(at *config.Temporal) { at.TLS.CA = r.file("api.key") }},
		{"nobody listens", "connect: connection refused", func(at *config.Temporal) { at.Address = "127.0.0.1:1" }},
		{"no such host", "lookup nowhere.invalid", func(at *config.Temporal) { at.Address = "nowhere.invalid:7233" }},
		{"no such namespace", "temporal operator namespace create --namespace shop", func(at *config.Temporal) { at.Namespace = "shop" }},
		{"no port", "HOST:PORT: address 127.0.0.1: missing port", func(at *config.Temporal) { at.Address = "127.0.0.1" }},
		{"a URL", "HOST:PORT: address http://127.0.0.1:7233: too many colons", func(at *config.Temporal) { at.Address = "http://127.0.0.1:7233" }},
	} {
		at := good
		c.spoil(&at)
		own, err := Dial(t.Context(), at)
		if err == nil {
			own.Close()
		}
		if shown := fmt.Sprint(err, "\n", problem.Hint(err)); err == nil || !strings.Contains(shown, c.want) {
			t.Errorf("%s: %s", c.name, shown)
		}
	}
}

// TestDoctor checks a cluster on which all is well, and one where little is.
func TestDoctor(t *testing.T) {
	r := served(t)
	var out bytes.Buffer
	var err error
	r.at.KeyFile, r.at.Store = r.file("keys"), r.file("store")
	id, err := AddKey(r.at.KeyFile)
	if err = errors.Join(err, os.Mkdir(r.at.Store, 0o700)); err != nil {
		t.Fatal(err)
	}
	until(t, func() error {
		out.Reset()
		if err := doctor(t.Context(), &out, r.at); err != nil {
			return errors.New(out.String())
		}
		return nil
	})
	for _, want := range []string{"ok     connection", "ok     search attributes", "ok     key                " + id, "ok     payloads", "ok     clock", "ok     jobs", "warn   workers            no host polls, and jobs wait for one: adroit worker"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, &out)
		}
	}
	if stored, _ := os.ReadDir(r.at.Store); len(stored) != 1 {
		t.Errorf("nothing is stored")
	}

	// A job of another program, whose workflow this worker lacks.
	c, err := client.Dial(client.Options{HostPort: r.address})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w := (&Worker{o: Options{Host: "here"}}).on(c)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if _, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "J00000000000AB", TaskQueue: Queue}, "job", Carry{Placed: Placed{Host: "here", Workflow: "absent"}}); err != nil {
		t.Fatal(err)
	}
	bad := r.at
	bad.KeyFile = ""
	for _, bad.Store = range []string{r.file("keys"), r.file("absent")} { // a file, and a share that is not mounted
		if _, err := Dial(t.Context(), bad); err == nil || !strings.Contains(err.Error(), "temporal.store: "+bad.Store+" is no directory") {
			t.Errorf("the store is %s: %v", bad.Store, err)
		}
	}
	bad.Store = "/proc"
	until(t, func() error {
		out.Reset()
		if err := doctor(t.Context(), &out, bad); err == nil || !strings.Contains(out.String(), `has no workflow "absent"`) {
			return errors.New(out.String())
		}
		return nil
	})
	for _, want := range []string{"warn   key", "fault  payloads", "fault  jobs               J00000000000AB"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, &out)
		}
	}

	// Workers of a new namespace begin at the same moment.
	if _, err := c.WorkflowService().RegisterNamespace(t.Context(), &workflowservice.RegisterNamespaceRequest{Namespace: "new", WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	at := config.Temporal{Address: r.address, Namespace: "new"}
	own, err := Dial(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	until(t, func() error {
		_, err := own.c.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Namespace: at.Namespace})
		return err
	})
	if _, err := own.Client().Jobs(t.Context(), adroit.ListOptions{}); err == nil || !strings.Contains(problem.Hint(err), "worker doctor registers them") {
		t.Errorf("a list of a namespace without search attributes: %v, %s", err, problem.Hint(err))
	}
	errs := make(chan error)
	for range 8 {
		go func() { errs <- own.attributes(t.Context()) }()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	n, err := c.WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: "new"})
	if got := n.GetConfig().GetCustomSearchAttributeAliases(); err != nil || len(got) != 5 {
		t.Errorf("they have registered %v, %v", got, err)
	}
	// Those of an earlier version registered some of them twice.
	for _, field := range []string{"Double01", "Double02", "Double03"} { // one is taken
		_, _ = c.WorkflowService().UpdateNamespace(t.Context(), &workflowservice.UpdateNamespaceRequest{Namespace: "new", Config: &namespace.NamespaceConfig{CustomSearchAttributeAliases: map[string]string{field: "AdroitCost"}}})
	}
	if out.Reset(); doctor(t.Context(), &out, at) == nil || !strings.Contains(out.String(), "search attributes twice, and returns either value of a job: AdroitCost") {
		t.Errorf("it names none that is there twice:\n%s", &out)
	}
	out.Reset()
	bad.Address = "127.0.0.1:1"
	if err := doctor(t.Context(), &out, bad); err == nil || !strings.Contains(out.String(), "fault  connection") {
		t.Errorf("nobody listens: %v\n%s", err, &out)
	}
}

// TestCodec decrypts for who has the token, and for the pages of one origin.
func TestCodec(t *testing.T) {
	dir := t.TempDir()
	if _, err := AddKey(dir + "/keys"); err != nil {
		t.Fatal(err)
	}
	keys, err := LoadKeys(dir + "/keys")
	if err != nil {
		t.Fatal(err)
	}
	s := &store{dir: dir + "/store", namespace: "n"}
	large, err := converter.GetDefaultDataConverter().ToPayload(strings.Repeat("large ", storedFrom))
	if err != nil {
		t.Fatal(err)
	}
	small, err := converter.GetDefaultDataConverter().ToPayload("small")
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := codec{keys: keys}.Encode([]*common.Payload{small, large})
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed[0].Data, []byte("small")) {
		t.Error("it is not encrypted")
	}
	plain := func(t *testing.T, payloads ...*common.Payload) []byte {
		b, err := protojson.Marshal(&common.Payloads{Payloads: payloads})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	h, err := codecHandler(codec{keys: keys}, s, "0123456789abcdef", "http://localhost:8233")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(method, path, auth, origin string, body []byte) (int, string, http.Header) {
		req := httptest.NewRequest(method, path, bytes.NewReader(body))
		if auth != "" {
			req.Header.Set("Authorization", auth)
		}
		if origin != "" {
			req.Header.Set("Origin", origin)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		b, _ := io.ReadAll(w.Body) // of a buffer
		return w.Code, string(b), w.Header()
	}
	body := plain(t, sealed[0])
	for _, c := range []struct {
		method, path, auth, origin string
		code                       int
	}{
		{"POST", "/0123456789abcdef/decode", "", "http://localhost:8233", 200},
		{"POST", "/decode", "Bearer 0123456789abcdef", "", 200},
		{"POST", "/decode", "", "", 401},
		{"POST", "/0123456789abcdeX/decode", "", "", 401},
		{"POST", "/decode", "Bearer x", "", 401},
		{"POST", "/0123456789abcdef/decode", "", "http://evil.example", 403},
		{"POST", "/0123456789abcdef/encode", "", "", 404},
		{"GET", "/0123456789abcdef/decode", "", "", 404},
		{"OPTIONS", "/0123456789abcdef/decode", "", "http://localhost:8233", 204},
	} {
		code, text, header := ask(c.method, c.path, c.auth, c.origin, body)
		if code != c.code {
			t.Errorf("%s %s %q %q: %d %s", c.method, c.path, c.auth, c.origin, code, text)
		}
		if allowed := header.Get("Access-Control-Allow-Origin"); (allowed == c.origin) != (c.origin != "http://evil.example") {
			t.Errorf("%s from %q: allowed is %q", c.path, c.origin, allowed)
		}
		if got := new(common.Payloads); code == 200 {
			if err := protojson.Unmarshal([]byte(text), got); err != nil || string(got.Payloads[0].Data) != `"small"` {
				t.Errorf("%v: %s", err, text)
			}
		}
	}
	none := codec{}
	if _, err := none.Decode(sealed); err == nil || !strings.Contains(err.Error(), "temporal.key_file names no keys") {
		t.Errorf("without keys: %v", err)
	}
	cut := &common.Payload{Metadata: sealed[0].Metadata, Data: append([]byte{sealed[0].Data[0] ^ 1}, sealed[0].Data[1:]...)}
	if _, err := (codec{keys: keys}).Decode([]*common.Payload{cut}); err == nil {
		t.Error("a payload that was changed is decrypted")
	}
	for _, text := range []string{"", "a b\n", "a\n", "x AAAA\nx AAAA\n"} {
		if err := os.WriteFile(dir+"/bad", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadKeys(dir + "/bad"); err == nil {
			t.Errorf("%q are keys", text)
		}
	}
	if err := os.Chmod(dir+"/keys", 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKeys(dir + "/keys"); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("keys that others can read: %v", err)
	}
	if err := serveCodec(t.Context(), io.Discard, config.Temporal{}, dir, "0.0.0.0:0", ""); err == nil {
		t.Error("it listens for other machines")
	}
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- serveCodec(ctx, w, config.Temporal{Store: s.dir}, dir, "127.0.0.1:0", "") }()
	line := make([]byte, 200)
	n, err := r.Read(line)
	if err != nil || !strings.HasPrefix(string(line[:n]), "codec endpoint: http://127.0.0.1:") {
		t.Errorf("%q, %v", line[:n], err)
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestRestore copies the database of the server and the data directory of the host while a job waits
// and no worker runs, loses both, and goes on from the copies; then it loses the database alone, and
// goes on with what the host has.
func TestRestore(t *testing.T) {
	r := newRig(t, "calls: [{name: push, args: {n: 1}}]", "calls: [{name: work, args: {n: 2}}]", "calls: [{name: push, args: {n: 3}}]", "calls: [{name: push, args: {n: 4}}]", "text: Done.")
	id := r.begin(executor.ApproveEdits)
	next := func(done int) {
		t.Helper()
		until(t, func() error {
			d, err := r.Job(t.Context(), id)
			if got := r.effects(); err == nil && (d.Job.Status != jobs.Waiting || len(d.Questions) != 1 || got[fmt.Sprint("end ", done)] != min(done, 1)) {
				err = fmt.Errorf("it is %s: %s, %v", d.Job.Status, d.Job.Reason, got)
			}
			return err
		})
	}
	next(0)
	r.approve(id)
	next(2)
	r.kill(r.worker)
	r.kill(r.server)
	for _, name := range []string{"data", "temporal.db"} {
		if err := exec.Command("cp", "-a", r.file(name), r.file(name+".copy")).Run(); err != nil {
			t.Fatal(err)
		}
	}
	logs, err := filepath.Glob(r.file("temporal.db-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(logs, r.file("data"), r.file("temporal.db")) {
		if strings.HasPrefix(filepath.Base(f), "temporal.db-") {
			if err := os.Rename(f, strings.Replace(f, "temporal.db-", "temporal.db.copy-", 1)); err != nil {
				t.Fatal(err)
			}
		} else if err := os.RemoveAll(f); err != nil {
			t.Fatal(err)
		}
	}
	copies, err := filepath.Glob(r.file("*.copy*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range copies {
		if err := os.Rename(f, strings.Replace(f, ".copy", "", 1)); err != nil {
			t.Fatal(err)
		}
	}
	r.serve()
	r.work()
	next(2)
	r.approve(id)
	next(3)

	r.kill(r.worker)
	r.kill(r.server)
	logs, err = filepath.Glob(r.file("temporal.db*"))
	for _, f := range logs {
		err = errors.Join(err, os.Remove(f))
	}
	if err != nil || len(logs) == 0 {
		t.Fatalf("%v: the server has no database", err)
	}
	r.serve()
	r.work()
	next(3)
	until(t, func() error { // a new server takes a while
		_, err := r.Start(t.Context(), id, adroit.StartOptions{})
		return err
	})
	next(3)
	r.approve(id)
	r.ended(id, jobs.Done)
	for what, n := range r.effects() {
		if n != 1 {
			t.Errorf("%s: %d times", what, n)
		}
	}
}

// TestMove has a host that never comes back: its job can be seen, and goes on with another host, where
// the model learns what it cannot see; the old one ends, if its host comes back after all.
func TestMove(t *testing.T) {
	r := newRig(t, "calls: [{name: work, args: {n: 1}}]", "calls: [{name: push, args: {n: 2, delay: 20s}}]", "text: Moved.")
	if err := os.Mkdir(r.file("other"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.file("script.yaml"), []byte("turns:\n  - calls: [{name: work, args: {n: 1}}]\n  - text: Moved.\n"), 0o600); err != nil {
		t.Fatal(err) // of the second host: the conversation begins with the same turn
	}
	second, host := r.workFor("other", "worker")
	t.Cleanup(func() { r.kill(second) })
	q := adroit.Request{Target: "worker"}
	q.Prompt, q.Dir, q.Approve, q.Host, q.Engine = "Go.", r.file("workspace"), executor.ApproveAll, r.host, "temporal"
	s, err := r.Submit(t.Context(), q)
	if err == nil {
		_, err = r.Start(t.Context(), s.Job.ID, adroit.StartOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	id := s.Job.ID
	until(t, func() error {
		if r.effects()["begin 2"] == 0 {
			return errors.New("not begun")
		}
		return nil
	})
	if _, err := r.Retry(t.Context(), id, adroit.RetryOptions{Host: host}); err == nil || !strings.Contains(err.Error(), "runs on") {
		t.Errorf("a job that runs was moved: %v", err)
	}
	r.kill(r.worker)
	r.ended(id, jobs.Interrupted)
	if _, err := r.Retry(t.Context(), id, adroit.RetryOptions{Host: "nowhere"}); err == nil {
		t.Error("it was moved to a host that is not there")
	}
	if err := os.Rename(r.file("workspace"), r.file("away")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Retry(t.Context(), id, adroit.RetryOptions{Host: host}); err == nil || !strings.Contains(err.Error(), "the host "+host+" has no directory "+r.file("workspace")) {
		t.Errorf("it was moved to a host without its directory: %v", err)
	}
	if err := os.Rename(r.file("away"), r.file("workspace")); err != nil {
		t.Fatal(err)
	}
	again, err := r.Retry(t.Context(), id, adroit.RetryOptions{Host: host, Message: "Hurry."})
	if err == nil {
		_, err = r.Start(t.Context(), again.Job.ID, adroit.StartOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	r.ended(again.Job.ID, jobs.Done)
	d, err := r.Job(t.Context(), again.Job.ID)
	if err != nil || d.Config.Host != host {
		t.Errorf("it ran on %+v, %v", d, err)
	}
	text, err := r.Transcript(t.Context(), again.Job.ID)
	if err != nil {
		t.Fatal(err)
	}
	whole := fmt.Sprintf("%+v", text)
	for _, want := range []string{"it was on " + r.host, "is lost here", "push: it may or may not have happened", "Hurry."} {
		if !strings.Contains(whole, want) {
			t.Errorf("the model did not learn %q: %s", want, whole)
		}
	}
	if got := r.effects(); got["begin 2"] != 1 || got["begin 1"] != 1 {
		t.Errorf("effects are %v", got)
	}
	r.ended(id, jobs.Cancelled) // also if its host never comes back
	r.work()
	until(t, func() error {
		d, err := r.Job(t.Context(), id)
		if want := "it goes on as " + again.Job.ID + " with the host " + host; err == nil && (d.Job.Status != jobs.Cancelled || !strings.HasSuffix(d.Job.Reason, want)) {
			err = fmt.Errorf("it is %s: %s", d.Job.Status, d.Job.Reason)
		}
		return err
	})
}

// TestMoveTree has a job with a worktree go on with a host whose clone lacks the commit at which it
// began: that is fetched from where the clone came from.
func TestMoveTree(t *testing.T) {
	r := newRig(t, "calls: [{name: push, args: {n: 1}}]", "text: Done.")
	gitIn := func(dir string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = r.file(dir), append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	gitIn("workspace", "init", "--quiet", "-b", "main")
	gitIn("workspace", "commit", "--quiet", "--allow-empty", "-m", "first")
	gitIn(".", "clone", "--quiet", "--bare", "workspace", "origin.git")
	gitIn("workspace", "remote", "add", "origin", r.file("origin.git"))
	gitIn(".", "clone", "--quiet", "origin.git", "clone")
	gitIn("workspace", "commit", "--quiet", "--allow-empty", "-m", "second")
	gitIn("workspace", "push", "--quiet", "origin", "main")
	base := gitIn("workspace", "rev-parse", "HEAD")
	q := adroit.Request{Target: "worker"}
	q.Prompt, q.Dir, q.Approve, q.Worktree = "Go.", r.file("workspace"), executor.ApproveEdits, true
	s, err := r.Submit(t.Context(), q)
	if err == nil {
		_, err = r.Start(t.Context(), s.Job.ID, adroit.StartOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	r.ended(s.Job.ID, jobs.Waiting)
	r.kill(r.worker)
	err = errors.Join(os.Rename(r.file("workspace"), r.file("gone")), os.Rename(r.file("clone"), r.file("workspace")), os.Mkdir(r.file("other"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	second, host := r.workFor("other", "worker")
	t.Cleanup(func() { r.kill(second) })
	again, err := r.Retry(t.Context(), s.Job.ID, adroit.RetryOptions{Host: host})
	if err != nil {
		t.Fatal(err)
	}
	if again.Worktree == nil || again.Worktree.Base != base {
		t.Errorf("it begins at %+v, want %s", again.Worktree, base)
	}
	if !strings.Contains(string(again.Job.Input), "new worktree of the commit "+base) {
		t.Errorf("the model does not learn the commit: %s", again.Job.Input)
	}
}

// TestLost names what may have changed on a host that is gone, and what a new one begins with.
func TestLost(t *testing.T) {
	p := &past{acts: map[string]bool{}, placed: Placed{Base: "abc"}}
	if err := p.resolved(Outcome{Output: []byte(`{"tools":[{"name":"write_file","needs":["write"]},{"name":"read_file","needs":["read"]}],"checks":[{"name":"run_tests","needs":["exec"]}]}`)}); err != nil {
		t.Fatal(err)
	}
	for _, call := range []flow.Step{{Name: "write_file", Input: []byte(`{"args":{"path":"a.txt"}}`)}, {Name: "read_file", Input: []byte(`{"args":{"path":"b.txt"}}`)},
		{Name: "write_file", Input: []byte(`{"args":{"path":"a.txt"}}`)}, {Name: "run_tests", Input: []byte(`{}`)}} {
		p.call(call)
	}
	if want := []string{"write_file a.txt", "run_tests"}; !slices.Equal(p.lost, want) {
		t.Errorf("lost is %q, want %q", p.lost, want)
	}
	text := p.missing("new", "old", false)
	for _, want := range []string{"host new", "was on old", "* write_file a.txt\n* run_tests", "the commit abc, at which the job began, is neither here"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
}
