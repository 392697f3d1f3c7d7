package flowvet

import (
	"go/types"
	"slices"
	"strings"
)

// A ban lists functions and variables of packages that workflow code may not mention. Names are F,
// T.M or T.*; no names are all names.
type ban struct {
	paths string // a trailing slash stands for everything below too
	names string
	but   string // of all names, these are fine
	say   string
	local bool // callers in other packages need not know: it does not change what the function gives
}

const (
	sayClock  = "a replay reads another time; take the time from a step, and wait with flow.Sleep"
	sayRandom = "a replay draws something else; draw it in a step"
	sayID     = "a replay makes another id; use r.Job and r.Next, or make it in a step"
	sayHost   = "a replay may find the machine otherwise; use a tool or a step of its own, or the workflow's input"
	sayNet    = "a replay would do it again and may get another answer; do it in a step"
	sayLock   = "nothing else runs in workflow code that it could be for; run branches with flow.Map, and keep shared things in steps"
	sayLog    = "a replay writes it again; tell watchers with r.Note, which is said once"
)

// idMaker lists the usual names of functions that make IDs from a hash or a text: these are the
// same each time.
const idMaker = "Parse ParseBytes MustParse ParseStrict FromBytes FromString FromBytesOrNil FromStringOrNil Validate IsInvalidLengthError " +
	"NewSHA1 NewMD5 NewHash NewV3 NewV5 Nil Max NameSpaceDNS NameSpaceURL NameSpaceOID NameSpaceX500 NamespaceDNS NamespaceURL " +
	"NamespaceOID NamespaceX500 UUID.* NullUUID.* UUIDs.* ID.* ULID.* KSUID.* CompressedSet.*"

var bans = []ban{
	{paths: "time", names: "Now Since Until Sleep After AfterFunc Tick NewTimer NewTicker", say: sayClock},
	{paths: "time", names: "Local LoadLocation Time.Local", say: sayHost},
	{paths: "context", names: "WithTimeout WithDeadline WithTimeoutCause WithDeadlineCause", say: sayClock},
	// A generator from a seed gives the same each time.
	{paths: "math/rand math/rand/v2", but: "New NewPCG NewChaCha8 NewSource NewZipf Rand.* PCG.* ChaCha8.* Zipf.* Source.* Source64.*", say: sayRandom},
	{paths: "crypto/rand hash/maphash", say: sayRandom},
	{paths: "github.com/google/uuid github.com/gofrs/uuid/ github.com/satori/go.uuid github.com/hashicorp/go-uuid github.com/pborman/uuid " +
		"github.com/rs/xid github.com/oklog/ulid/ github.com/segmentio/ksuid github.com/nats-io/nuid github.com/teris-io/shortid " +
		"github.com/lithammer/shortuuid/ github.com/matoous/go-nanoid/ go.jetify.com/typeid/", but: idMaker, say: sayID},

	{paths: "os", but: "IsExist IsNotExist IsPermission IsTimeout IsPathSeparator Expand NewSyscallError " +
		"ErrInvalid ErrPermission ErrExist ErrNotExist ErrClosed ErrNoDeadline ErrDeadlineExceeded ErrProcessDone " +
		"SyscallError.* PathError.* LinkError.* FileMode.*", say: sayHost},
	{paths: "os/exec os/user os/signal plugin syscall golang.org/x/sys/", but: "ErrNotFound ErrDot ErrWaitDelay Error.* ExitError.* Errno.* Signal.*", say: sayHost},
	{paths: "path/filepath", names: "Abs EvalSymlinks Glob Walk WalkDir", say: sayHost},
	{paths: "github.com/adroit-run/adroit/internal/text/hint", names: "Command", say: sayHost},
	{paths: "io/ioutil", but: "Discard NopCloser ReadAll", say: sayHost},
	{paths: "runtime runtime/debug runtime/metrics runtime/pprof", but: "KeepAlive Error.* TypeAssertionError.*", say: sayHost},
	{paths: "reflect", names: "Value.MapRange Value.MapKeys Value.Pointer Value.UnsafePointer Value.UnsafeAddr", say: sayOrder},

	{paths: "net", but: "ParseIP ParseCIDR ParseMAC JoinHostPort SplitHostPort CIDRMask IPv4 IPv4Mask " +
		"IPv4bcast IPv4allsys IPv4allrouter IPv4zero IPv6zero IPv6unspecified IPv6loopback ErrClosed " +
		"IP.* IPMask.* IPNet.* HardwareAddr.* Error.* AddrError.* DNSError.* OpError.* ParseError.* TCPAddr.* UDPAddr.* Addr.* UnknownNetworkError.* InvalidAddrError.*", say: sayNet},
	{paths: "net/http", names: "Get Head Post PostForm DefaultClient DefaultTransport Client.* Transport.* RoundTripper.* Server.* " +
		"ListenAndServe ListenAndServeTLS Serve ServeTLS ProxyFromEnvironment", say: sayNet},
	{paths: "net/smtp net/rpc/ net/http/httptest net/http/httputil crypto/tls", names: "", but: "Config.* Certificate.* DumpRequest DumpResponse VersionName CipherSuiteName", say: sayNet},
	{paths: "database/sql", but: "ErrNoRows ErrTxDone ErrConnDone Named NullString.* NullInt64.* NullTime.* NullBool.* NullFloat64.*", say: sayNet},

	{paths: "sync sync/atomic", say: sayLock, local: true},
	{paths: "golang.org/x/sync/", say: sayGo},
	{paths: "log log/slog log/syslog", say: sayLog, local: true},
	{paths: "fmt", names: "Print Printf Println", say: sayLog, local: true},
	{paths: "fmt", names: "Scan Scanf Scanln", say: sayHost},
}

// banned gives the ban on obj, nil if there is none.
func banned(obj types.Object) *ban {
	name := obj.Name()
	if fn, ok := obj.(*types.Func); ok {
		name = plainName(fn)
	}
	for i, b := range bans {
		if !of(b.paths, obj.Pkg().Path()) {
			continue
		}
		if b.names == "" && !has(b.but, name) || b.names != "" && has(b.names, name) {
			return &bans[i]
		}
	}
	return nil
}

// of reports whether path is one of paths.
func of(paths, path string) bool {
	return slices.ContainsFunc(strings.Fields(paths), func(p string) bool {
		return path == strings.TrimSuffix(p, "/") || strings.HasSuffix(p, "/") && strings.HasPrefix(path, p)
	})
}

// has reports whether name is one of names, or a method of one of them.
func has(names, name string) bool {
	owner, _, method := strings.Cut(name, ".")
	fields := strings.Fields(names)
	return slices.Contains(fields, name) || method && slices.Contains(fields, owner+".*")
}
