package temporal

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/failure/v1"
	sdk "go.temporal.io/api/sdk/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/config"
)

// Keys encrypt what goes through Temporal, with AES-256-GCM. They lie in a file of lines ID KEY
// (KEY is 32 bytes in base64), which only its user can read. The last one encrypts, all decrypt.
// A line that is appended is in use a second later, without a restart. Keys are safe for
// concurrent use.
type Keys struct {
	file string

	mu     sync.Mutex
	read   time.Time   // when the file was looked at
	as     os.FileInfo // of the file as it was read
	byID   map[string]cipher.AEAD
	newest string
}

// LoadKeys reads a file of keys.
func LoadKeys(file string) (*Keys, error) {
	k := &Keys{file: file}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k, k.load()
}

// load reads the file again if it has changed.
func (k *Keys) load() error {
	k.read = time.Now()
	info, err := os.Stat(k.file)
	if err == nil && k.as != nil && os.SameFile(info, k.as) && info.ModTime().Equal(k.as.ModTime()) && info.Size() == k.as.Size() {
		return nil
	}
	b, err := rootfs.ReadPrivate(k.file, "its keys are")
	if errors.Is(err, fs.ErrNotExist) {
		return problem.WithHint(fmt.Errorf("the file of temporal.key_file, %s, is not there", k.file), hint.Command("worker key")+" makes it; all hosts and all who look at jobs need the same keys")
	}
	if err != nil {
		return fmt.Errorf("keys of Temporal's payloads: %w", err)
	}
	byID, newest := map[string]cipher.AEAD{}, ""
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 2 || byID[fields[0]] != nil {
			return problem.Invalidf("each line is ID KEY, and each ID is there once", "%s: a line that is no key of its own", k.file)
		}
		raw, err := base64.StdEncoding.DecodeString(fields[1])
		if err != nil || len(raw) != 32 {
			return problem.Invalidf("a key is 32 bytes in base64, as "+hint.Command("worker key")+" makes them", "%s: the key %s is none", k.file, fields[0])
		}
		block, err := aes.NewCipher(raw)
		if err != nil {
			return err
		}
		if byID[fields[0]], err = cipher.NewGCM(block); err != nil {
			return err
		}
		newest = fields[0]
	}
	if newest == "" {
		return problem.Invalidf(hint.Command("worker key")+" adds one", "%s has no key", k.file)
	}
	k.as, k.byID, k.newest = info, byID, newest
	return nil
}

// current is the key that encrypts. A file that was spoiled meanwhile leaves the keys as they were.
func (k *Keys) current() (string, cipher.AEAD) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.read) > time.Second {
		_ = k.load() // doctor reports it, and so does the next start
	}
	return k.newest, k.byID[k.newest]
}

// find is a key that decrypts.
func (k *Keys) find(id string) (cipher.AEAD, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var err error
	if k.byID[id] == nil {
		err = k.load()
	}
	if a := k.byID[id]; a != nil {
		return a, nil
	}
	return nil, errors.Join(fmt.Errorf("it is encrypted with the key %s, which %s lacks", id, k.file), err)
}

// AddKey appends a new key to a file of keys, which it makes where there is none.
func AddKey(file string) (id string, err error) {
	old, err := rootfs.ReadPrivate(file, "its keys are")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if len(old) > 0 {
		if _, err := LoadKeys(file); err != nil {
			return "", err
		}
	}
	raw, tail := make([]byte, 32), make([]byte, 3)
	rand.Read(raw) // never fails: see its documentation
	rand.Read(tail)
	id = time.Now().UTC().Format("20060102") + "-" + hex.EncodeToString(tail)
	if len(old) > 0 && !bytes.HasSuffix(old, []byte("\n")) {
		old = append(old, '\n')
	}
	return id, rootfs.WriteFile(file, fmt.Appendf(old, "%s %s\n", id, base64.StdEncoding.EncodeToString(raw)))
}

// Marks of encrypted payloads. The words come from Temporal's own examples.
const (
	encrypted = "binary/encrypted"
	keyID     = "encryption-key-id"
)

// A codec is a converter.PayloadCodec with Keys, which may be nil: then it encrypts nothing, and
// refuses what is encrypted. In the workflows of a worker, where an error would end the job or
// drop a signal, it panics: the task fails with that message and is tried again until there is a key.
type codec struct {
	keys    *Keys
	insists bool
}

// Encode implements converter.PayloadCodec.
func (c codec) Encode(in []*common.Payload) ([]*common.Payload, error) {
	if c.keys == nil {
		return in, nil
	}
	id, aead := c.keys.current()
	out := make([]*common.Payload, len(in))
	for i, p := range in {
		plain, err := proto.Marshal(p)
		if err != nil {
			return nil, err
		}
		nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(plain)+aead.Overhead())
		rand.Read(nonce)
		out[i] = &common.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encrypted), keyID: []byte(id)},
			Data:     aead.Seal(nonce, nonce, plain, []byte(id)),
		}
	}
	return out, nil
}

// Decode implements converter.PayloadCodec. What was written before there were keys, it lets pass.
func (c codec) Decode(in []*common.Payload) ([]*common.Payload, error) {
	out := slices.Clone(in)
	for i, p := range in {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != encrypted {
			continue
		}
		own, err := c.open(p)
		if err != nil && c.insists {
			panic(err)
		}
		if err != nil {
			return nil, err
		}
		out[i] = own
	}
	return out, nil
}

func (c codec) open(p *common.Payload) (*common.Payload, error) {
	id := string(p.GetMetadata()[keyID])
	if c.keys == nil {
		return nil, undecodable(fmt.Errorf("it is encrypted with the key %s, and temporal.key_file names no keys", id))
	}
	aead, err := c.keys.find(id)
	if err != nil {
		return nil, undecodable(err)
	}
	n := aead.NonceSize()
	if len(p.Data) < n {
		return nil, undecodable(errors.New("it is cut"))
	}
	plain, err := aead.Open(nil, p.Data[:n], p.Data[n:], []byte(id))
	if err != nil {
		return nil, undecodable(fmt.Errorf("the key %s of %s is another one than that which encrypted it", id, c.keys.file))
	}
	own := new(common.Payload)
	return own, proto.Unmarshal(plain, own)
}

func undecodable(err error) error {
	return problem.WithHint(fmt.Errorf("a payload cannot be decrypted: %w", err), "temporal.key_file has to be that of the other hosts")
}

// An about describes a job in lists while its host is away.
type about struct{ Title, Dir string }

const aboutMemo = "about"

// memo is what a workflow has about its job, encrypted where there are keys.
func memo(a about) map[string]any { return map[string]any{aboutMemo: a} }

// about reads a [memo]. It is empty for a job of an earlier version, or without its key.
func (t *Cluster) about(m *common.Memo) (a about) {
	if t.options(false).DataConverter.FromPayload(m.GetFields()[aboutMemo], &a) != nil {
		return about{}
	}
	return a
}

// storedFrom is the size from which a payload lies in the store; mostStored bounds one, which has
// to go through the memory of workers.
const storedFrom, mostStored = 128 << 10, 64 << 20

// A store is a directory of large payloads, which the history has by reference: a
// converter.StorageDriver. Each lies in the directory of its namespace and job, under its digest,
// so that all of a job goes when Temporal has forgotten the job. It is safe for concurrent use,
// by many processes.
type store struct {
	dir       string // empty: nothing is stored, and what was is refused
	namespace string // the id, which no other cluster has
}

// Name implements converter.StorageDriver. Histories have it.
func (s *store) Name() string { return "adroit" }

// Type implements converter.StorageDriver.
func (s *store) Type() string { return "adroit.directory" }

// SelectDriver implements converter.StorageDriverSelector.
func (s *store) SelectDriver(converter.StorageDriverSelectContext, *common.Payload) (converter.StorageDriver, error) {
	if s.dir == "" {
		return nil, nil
	}
	return s, nil
}

// Store implements converter.StorageDriver.
func (s *store) Store(ctx converter.StorageDriverStoreContext, payloads []*common.Payload) ([]converter.StorageDriverClaim, error) {
	job := "other"
	if w, ok := ctx.Target.(converter.StorageDriverWorkflowInfo); ok {
		job, _, _ = strings.Cut(w.WorkflowID, "/") // a sub-agent's is its job's
	}
	if !plainName(job) {
		sum := sha256.Sum256([]byte(job))
		job = "other-" + hex.EncodeToString(sum[:])
	}
	claims := make([]converter.StorageDriverClaim, len(payloads))
	for i, p := range payloads {
		err := ctx.GetLimiter().Permit(ctx.Context, p, func() error {
			b, err := proto.Marshal(p)
			if err != nil {
				return err
			}
			sum := sha256.Sum256(b)
			name := s.namespace + "/" + job + "/" + hex.EncodeToString(sum[:])
			claims[i].ClaimData = map[string]string{"name": name}
			return s.put(name, b)
		})
		if err != nil {
			return nil, fmt.Errorf("storing a payload in %s: %w", s.dir, err)
		}
	}
	return claims, nil
}

func (s *store) put(name string, b []byte) error {
	file := filepath.Join(s.dir, filepath.FromSlash(name))
	if info, err := os.Stat(file); err == nil && info.Size() == int64(len(b)) {
		now := time.Now()
		return os.Chtimes(file, now, now) // for sweep
	}
	return rootfs.WriteFile(file, b)
}

// Retrieve implements converter.StorageDriver. An error fails a task, which is tried again.
func (s *store) Retrieve(ctx converter.StorageDriverRetrieveContext, claims []converter.StorageDriverClaim) ([]*common.Payload, error) {
	out := make([]*common.Payload, len(claims))
	for i, c := range claims {
		err := ctx.GetLimiter().Permit(ctx.Context, c, func() (err error) {
			out[i], err = s.get(c.ClaimData["name"])
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s *store) get(name string) (*common.Payload, error) {
	parts := strings.Split(name, "/")
	switch {
	case len(parts) != 3 || slices.ContainsFunc(parts, func(p string) bool { return !plainName(p) }):
		return nil, fmt.Errorf("a payload is named %q, which is no name of a stored one", name)
	case s.dir == "":
		return nil, fmt.Errorf("the payload %s lies in a store, and temporal.store names no directory on this machine", name)
	}
	b, err := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the payload %s is not in the store %s: it was removed, or this machine has another directory", name, s.dir)
	}
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != parts[2] {
		return nil, fmt.Errorf("the payload %s in the store %s is not what was stored: its digest is another one", name, s.dir)
	}
	p := new(common.Payload)
	return p, proto.Unmarshal(b, p)
}

// plainName reports whether a part of a name leads nowhere else.
func plainName(s string) bool {
	return s != "" && len(s) <= 100 && s[0] != '.' && strings.IndexFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '.' && r != '_' && r != '-'
	}) < 0
}

// sweepAge is the age below which nothing is swept: a payload is there before its workflow.
const sweepAge = time.Hour

// sweep removes the payloads of jobs that Temporal has forgotten, because their retention is over.
func (t *Cluster) sweep(ctx context.Context) (removed int, err error) {
	if t.store.dir == "" {
		return 0, nil
	}
	top := filepath.Join(t.store.dir, t.store.namespace)
	list, err := os.ReadDir(top)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, e := range list {
		dir := filepath.Join(top, e.Name())
		if !e.IsDir() || time.Since(changed(dir)) < sweepAge {
			continue
		}
		_, err := t.c.WorkflowService().DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{Namespace: t.namespace, Execution: &common.WorkflowExecution{WorkflowId: e.Name()}})
		if !errors.As(err, new(*serviceerror.NotFound)) {
			if err != nil {
				return removed, err
			}
			continue
		}
		if err := rootfs.RemoveAll(dir); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, err
}

// changed returns when the last file of a directory was stored, or used again.
func changed(dir string) (last time.Time) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return time.Now() // so that it stays
	}
	for _, e := range list {
		if info, err := e.Info(); err != nil || info.ModTime().After(last) {
			last = time.Now()
			if err == nil {
				last = info.ModTime()
			}
		}
	}
	return last
}

// sweepAll sweeps the store now and each hour, until ctx ends.
func (t *Cluster) sweepAll(ctx context.Context) {
	for {
		_, _ = t.sweep(ctx) // doctor reports what keeps it from that
		select {
		case <-time.After(time.Hour):
		case <-ctx.Done():
			return
		}
	}
}

// forget has Temporal delete what it has of a job that its host has removed. It returns why it did not, for people:
// then that goes with the retention of the namespace.
func (t *Cluster) forget(ctx context.Context, id string) (notes []string) {
	var all []*common.WorkflowExecution
	err := t.executions(ctx, fmt.Sprintf("RootWorkflowId = %q", id), func(e *workflowpb.WorkflowExecutionInfo) { all = append(all, e.GetExecution()) })
	for _, e := range all {
		_, gone := t.c.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{Namespace: t.namespace, WorkflowExecution: e})
		if err == nil && !errors.As(gone, new(*serviceerror.NotFound)) {
			err = gone
		}
	}
	if err != nil {
		notes = append(notes, fmt.Sprintf("Temporal keeps what it has of %s until its retention is over: %v", id, err))
	}
	return notes
}

// takes returns an error if a request, or the answer to it, is too large for Temporal. A host keeps the job before
// it answers, and its answer has the text three times. Images go another way.
func (t *Cluster) takes(q adroit.Request) error {
	q.Attachments = nil
	b, err := json.Marshal(q.Input)
	if err != nil {
		return err
	}
	packed, err := pack(b)
	most := mostBytes
	if t.store.dir != "" {
		most = mostStored
	}
	switch n := 3 * len(packed); {
	case err != nil:
		return err
	case len(b) > most:
		return problem.Invalidf("", "the request: %s", tooBig(len(b), most))
	case n > most:
		return problem.Invalidf("", "the answer to the request: %s", tooBig(n, most))
	}
	return nil
}

// readable returns an error if the newest job that runs cannot be read with the keys and the
// store of this machine: a worker without them would fail the tasks of all jobs.
func (t *Cluster) readable(ctx context.Context) error {
	page, err := t.c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: t.namespace, PageSize: 1, Query: fmt.Sprintf("AdroitHost IS NOT NULL AND TaskQueue = %q AND ExecutionStatus = 'Running'", t.queue)})
	if err != nil || len(page.Executions) == 0 {
		return err
	}
	of := page.Executions[0].GetExecution()
	history := t.c.GetWorkflowHistory(ctx, of.GetWorkflowId(), of.GetRunId(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		ev, err := history.Next()
		if err == nil {
			_, err = t.decode(ev.GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads())
		}
		if err != nil {
			return problem.WithHint(fmt.Errorf("the jobs of this namespace cannot be read here: %s: %w", of.GetWorkflowId(), err), "temporal.key_file and temporal.store have to be those of the other hosts")
		}
		return nil
	}
	return nil
}

// decode reads payloads of a history, which has references to those that are stored.
func (t *Cluster) decode(in []*common.Payload) ([]*common.Payload, error) {
	in = slices.Clone(in)
	for i, p := range in {
		ref := new(sdk.ExternalStorageReference)
		if string(p.GetMetadata()[converter.MetadataMessageType]) != string(ref.ProtoReflect().Descriptor().FullName()) {
			continue
		}
		err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(p.Data, ref)
		if err == nil {
			in[i], err = t.store.get(ref.GetClaimData()["name"])
		}
		if err != nil {
			return nil, err
		}
	}
	return codec{keys: t.keys}.Decode(in)
}

// secure returns the TLS configuration of a connection; nil: no TLS.
func secure(at config.TemporalTLS) (*tls.Config, error) {
	if !at.Enabled && at == (config.TemporalTLS{}) {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: at.ServerName}
	if at.CA != "" {
		pem, err := os.ReadFile(at.CA)
		if err != nil {
			return nil, fmt.Errorf("temporal.tls.ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, problem.Invalidf("it has certificates in PEM", "temporal.tls.ca: %s has no certificate", at.CA)
		}
	}
	if (at.Cert == "") != (at.Key == "") {
		return nil, problem.Invalidf("name both, or neither", "temporal.tls has one of cert and key, the certificate of this client and its key")
	}
	if at.Cert != "" {
		if _, err := tls.LoadX509KeyPair(at.Cert, at.Key); err != nil {
			return nil, fmt.Errorf("temporal.tls.cert and key: %w", err)
		}
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { // one that was renewed counts
			pair, err := tls.LoadX509KeyPair(at.Cert, at.Key)
			return &pair, err
		}
	}
	return c, nil
}

// apiKey are the credentials of an API key, nil if there is none. The SDK sends it over TLS alone.
func apiKey(at config.Temporal) (client.Credentials, error) {
	read := func(context.Context) (string, error) { return at.APIKey, nil }
	if at.APIKeyFile != "" {
		read = func(context.Context) (string, error) { // one that was renewed counts
			b, err := rootfs.ReadPrivate(at.APIKeyFile, "its key is")
			return strings.TrimSpace(string(b)), err
		}
	}
	switch key, err := read(context.Background()); {
	case err != nil:
		return nil, fmt.Errorf("temporal.api_key_file: %w", err)
	case key == "" && at.APIKeyFile != "":
		return nil, problem.Invalidf("it has the key alone", "temporal.api_key_file: %s is empty", at.APIKeyFile)
	case key == "":
		return nil, nil
	}
	return client.NewAPIKeyDynamicCredentials(read), nil
}

// failed is what a failure says, if this machine can read it.
func (t *Cluster) failed(f *failure.Failure) string {
	if own := f.GetEncodedAttributes(); own != nil {
		if _, err := (codec{keys: t.keys}).Decode([]*common.Payload{own}); err != nil {
			return "why is encrypted with a key that this machine lacks"
		}
	}
	err := t.options(false).FailureConverter.FailureToError(f)
	if own := new(temporal.ApplicationError); errors.As(err, &own) {
		return own.Message() // which has its causes
	}
	return err.Error()
}
