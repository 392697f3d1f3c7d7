package temporal

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
)

// A data directory has its host's name, and a line for each start of its workers. Temporal has the last start of
// each host, as a workflow that nobody runs: one that a data directory lacks was of another copy of it.
const hostFile, startsFile, startsID = "host", "host.starts", "adroit.host/"

// startEvery is the interval of new starts of a worker that goes on: a copy is older than the last one.
const startEvery = time.Hour

// enter returns the name of the host that a data directory is, which it is given for ever, unless it is a copy of
// another one. A copy may become a host of its own.
func (t *Cluster) enter(ctx context.Context, data, host string) (string, error) {
	b, err := os.ReadFile(filepath.Join(data, hostFile)) // none: a new host
	name := strings.TrimSpace(string(b))
	if err == nil {
		err = t.copied(ctx, data, name, true)
		own := errors.As(err, new(*problem.Error)) && host != "" && host != name
		switch {
		case err != nil && !own:
			return "", err
		case own:
			err = t.unused(ctx, data, host)
			for _, file := range []string{startsFile, hostFile} {
				if err == nil {
					err = os.Remove(filepath.Join(data, file))
				}
				if errors.Is(err, fs.ErrNotExist) {
					err = nil
				}
			}
		}
	} else if err = nil; host != "" {
		err = t.unused(ctx, data, host)
	}
	if err == nil {
		name, err = hostName(data, host)
	}
	if err == nil {
		err = t.start(ctx, data, name)
	}
	return name, err
}

// copied refuses a data directory that is a copy of the host's: that has had a start which the copy lacks, or, at
// the first look, a worker elsewhere answers for it.
func (t *Cluster) copied(ctx context.Context, data, host string, first bool) error {
	d, err := t.c.DescribeWorkflowExecution(ctx, startsID+host, "")
	if errors.As(err, new(*serviceerror.NotFound)) {
		return nil // the first one, or a server that lost its database
	}
	if err != nil {
		return err
	}
	var last, place string
	for name, v := range map[string]*string{"start": &last, "place": &place} {
		if err := converter.GetDefaultDataConverter().FromPayload(d.GetWorkflowExecutionInfo().GetMemo().GetFields()[name], v); err != nil {
			return err
		}
	}
	had, err := os.ReadFile(filepath.Join(data, startsFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	way := hint.Command("worker --host NAME") + ", with a new name, makes it a host of its own; if that other one is gone, " + hint.Command("continue ID --host NAME") + " then goes on with its jobs"
	if !slices.Contains(strings.Fields(string(had)), last) {
		return problem.Invalidf(way, "%s is an old copy of the data directory of the host %s, which has gone on since: a worker began there on %s", data, host, d.GetWorkflowExecutionInfo().GetStartTime().AsTime().Local().Format(time.DateTime))
	}
	if !first || place == placeOf(data) {
		return nil
	}
	_, err = t.on(host).Jobs(ctx, adroit.ListOptions{Limit: 1})
	switch {
	case err == nil:
		return problem.Invalidf(way, "%s is a copy of the data directory of the host %s, of which a worker runs elsewhere", data, host)
	case errors.Is(err, errAway): // the machine has restarted, or the directory was moved
		return nil
	}
	return err
}

// placeOf identifies a data directory where it is, until the machine restarts.
func placeOf(data string) string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // Linux has it
	return strings.TrimSpace(string(boot)) + " " + rootfs.Identity(data)
}

// start notes a start of a host's worker: in its data directory first, so that Temporal has none that it lacks.
func (t *Cluster) start(ctx context.Context, data, host string) error {
	id := rand.Text()
	f, err := rootfs.OpenLog(filepath.Join(data, startsFile), 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, id)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	memo := &common.Memo{Fields: map[string]*common.Payload{}} // in clear: one without the key has to read it
	for name, v := range map[string]string{"start": id, "place": placeOf(data)} {
		if memo.Fields[name], err = converter.GetDefaultDataConverter().ToPayload(v); err != nil {
			return err
		}
	}
	_, err = t.c.WorkflowService().StartWorkflowExecution(ctx, &workflowservice.StartWorkflowExecutionRequest{
		Namespace: t.namespace, WorkflowId: startsID + host, WorkflowType: &common.WorkflowType{Name: "adroit.host"}, TaskQueue: &taskqueue.TaskQueue{Name: "adroit.doctor"}, // nobody runs it
		Identity: host, RequestId: id, WorkflowIdConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING, Memo: memo,
	})
	return err
}

// guard returns an error when another copy of the data directory has become the host, and nil at the end of ctx.
func (t *Cluster) guard(ctx context.Context, data, host string) error {
	for last := time.Now(); ; {
		select {
		case <-time.After(reconcileEvery):
		case <-ctx.Done():
			return nil
		}
		err := t.copied(ctx, data, host, false)
		if errors.As(err, new(*problem.Error)) {
			return err
		}
		if err == nil && time.Since(last) > startEvery && t.start(ctx, data, host) == nil {
			last = time.Now()
		}
	}
}

// unused refuses the name of a host that is there for another data directory: each would be given steps
// of jobs that the other one has.
func (t *Cluster) unused(ctx context.Context, data, host string) error {
	known, err := t.everyHost(ctx)
	if errors.Is(err, errAway) { // it is the first one
		return nil
	}
	if err == nil && slices.Contains(known, host) {
		err = problem.Invalidf("take another name, or the data directory of that host (ADROIT_HOME)", "there is a host %s, and %s is not its data directory", host, data)
	}
	return err
}

// hostName is the name that a data directory has for ever, made where it has none.
func hostName(data, host string) (string, error) {
	file, given := filepath.Join(data, hostFile), host
	switch b, err := os.ReadFile(file); {
	case err == nil && (host == "" || host == strings.TrimSpace(string(b))):
		return strings.TrimSpace(string(b)), nil
	case err == nil:
		return "", problem.Invalidf("leave --host out, or take another data directory", "this data directory is that of the host %s: its jobs wait for that name", strings.TrimSpace(string(b)))
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	if host == "" {
		machine, err := os.Hostname()
		if err != nil {
			return "", err
		}
		b := make([]byte, 5)
		rand.Read(b) // never fails: see its documentation
		host = machine + "-" + strings.ToLower(base32.StdEncoding.EncodeToString(b))
	}
	if strings.ContainsAny(host, "/ \t\n") || host == Queue || len(host) > mostName {
		return "", problem.Invalidf(fmt.Sprintf("letters, digits and -, at most %d, will do", mostName), "%q cannot be the name of a host", host)
	}
	err := rootfs.MkdirAll(data)
	if err == nil {
		err = rootfs.CreateFile(file, 0o600, []byte(host+"\n"))
	}
	if errors.Is(err, fs.ErrExist) { // another worker was first
		return hostName(data, given)
	}
	return host, err
}

// mostName bounds the name of a host: a server polls nothing under one of more than 1,000 bytes.
const mostName = 200
