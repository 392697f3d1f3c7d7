package clocks

import (
	"context"
	crand "crypto/rand"
	"fmt"
	"hash/maphash"
	"log"
	"log/slog"
	mrand "math/rand"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
)

func clocks(r *flow.Run, _ string) (string, error) {
	t := time.Now()                                               // want `time.Now in workflow code: a replay reads another time; take the time from a step, and wait with flow.Sleep`
	_ = time.Since(t)                                             // want `time.Since in workflow code`
	time.Sleep(time.Second)                                       // want `time.Sleep in workflow code`
	_ = time.NewTimer(1)                                          // want `time.NewTimer in workflow code`
	_ = time.Tick(1)                                              // want `time.Tick in workflow code`
	_ = t.Local()                                                 // want `time.Time.Local in workflow code`
	_, _ = context.WithTimeout(context.Background(), time.Second) // want `context.WithTimeout in workflow code`
	now := time.Now                                               // want `time.Now in workflow code`
	_ = now
	return t.Add(time.Hour).Format(time.RFC3339), nil
}

func random(s *executor.Scope) {
	_ = rand.N(10)          // want `rand.N in workflow code: a replay draws something else; draw it in a step`
	_ = mrand.Intn(10)      // want `rand.Intn in workflow code`
	_, _ = crand.Read(nil)  // want `rand.Read in workflow code`
	_ = maphash.MakeSeed()  // want `maphash.MakeSeed in workflow code`
	_ = uuid.NewString()    // want `uuid.NewString in workflow code: a replay makes another id`
	_ = uuid.New().String() // want `uuid.New in workflow code`
	_ = uuid.NewSHA1(uuid.UUID{}, nil)
	_ = rand.New(rand.NewPCG(1, 2)).IntN(10)
}

func host(r *flow.Run) {
	_ = os.Getenv("HOME")      // want `os.Getenv in workflow code: a replay may find the machine otherwise`
	_ = os.Args                // want `os.Args in workflow code`
	b, err := os.ReadFile("x") // want `os.ReadFile in workflow code`
	_ = os.IsNotExist(err)
	_ = exec.Command("ls").Run() // want `exec.Command in workflow code` `exec.Cmd.Run in workflow code`
	_, _ = filepath.Abs("x")     // want `filepath.Abs in workflow code`
	_ = filepath.Join("a", "b")
	_ = runtime.NumCPU()        // want `runtime.NumCPU in workflow code`
	_, _ = net.Dial("tcp", "x") // want `net.Dial in workflow code: a replay would do it again`
	_ = net.ParseIP("::1").String()
	_, _ = http.Get("http://x")     // want `http.Get in workflow code`
	_, _ = new(http.Client).Do(nil) // want `http.Client.Do in workflow code`
	_ = http.StatusText(200)
	_, _ = url.Parse("http://x")
	fmt.Println(string(b))   // want `fmt.Println in workflow code: a replay writes it again; tell watchers with r.Note`
	log.Print("x")           // want `log.Print in workflow code`
	slog.Info("x")           // want `slog.Info in workflow code`
	_ = fmt.Sprintf("%p", r) // want `%p in workflow code: an address differs each time`
	_ = fmt.Sprintf("%%p %d", 1)
	_ = r.Note("at %[1]p", r) // want `%p in workflow code`
}

func together(r *flow.Run) error {
	go host(r)          // want `a go statement in workflow code: the order in which goroutines run is not recorded; run branches with flow.Map`
	c := make(chan int) // want `make of a channel in workflow code`
	c <- 1              // want `a send to a channel in workflow code`
	<-c                 // want `a receive from a channel in workflow code`
	for range c {       // want `a range over a channel in workflow code`
	}
	select { // want `a select statement in workflow code`
	case <-c:
	case v := <-c:
		_ = v
		<-c // want `a receive from a channel in workflow code`
	case c <- 1:
	default:
	}
	close(c) // want `close of a channel in workflow code`
	var mu sync.Mutex
	mu.Lock() // want `sync.Mutex.Lock in workflow code: nothing else runs in workflow code`
	var n atomic.Int64
	n.Add(1) // want `atomic.Int64.Add in workflow code`
	var g errgroup.Group
	g.Go(nil) // want `errgroup.Group.Go in workflow code`
	_, err := flow.Map(r, []int{1}, func(r *flow.Run, i int) (int, error) {
		return time.Now().Second(), nil // want `time.Now in workflow code`
	})
	return err
}

// handler performs a step: it may do all of this.
func handler(ctx context.Context) string {
	go func() { <-ctx.Done() }()
	_ = map[string]any{"x": os.Args}
	for k := range map[string]int{} {
		return k
	}
	return time.Now().String() + uuid.NewString()
}

func define() {
	started := time.Now()
	flow.Define("x", func(r *flow.Run, _ string) (string, error) {
		return time.Until(started).String(), nil // want `time.Until in workflow code`
	})
}

var Literal = func(r *flow.Run) {
	_ = time.Now() // want `time.Now in workflow code`
}
