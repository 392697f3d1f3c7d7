package main

import (
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"
)

// oneName restricts the packages that work in a tree which commands can write to one path element
// at a time. A path of several elements, or a followed link, can lead to a different file than a
// moment ago: to one of the user's own. Below internal/work the system calls that take a name are
// left to the functions of internal/system/rootfs, which refuse a path. There, and in the sandbox,
// which comes before them, none follows a link.
var oneName = &analysis.Analyzer{
	Name: "onename",
	Doc:  "refuse calls that resolve a path, or follow a link, in a tree that commands can write to",
	Run:  runOneName,
}

// nameCalls are the calls that take a name, with where the name and the flags are;
// -1 for those without flags.
var nameCalls = map[string][2]int{
	"Openat": {1, 2}, "Openat2": {1, -1}, "Fstatat": {1, 3}, "Fchmodat": {1, 3}, "Fchownat": {1, 4}, "Faccessat": {1, 3}, "Faccessat2": {1, 3}, "Linkat": {1, 4},
	"Symlinkat": {2, -1}, "Renameat": {1, -1}, "Renameat2": {1, -1}, "Unlinkat": {1, -1}, "Mkdirat": {1, -1}, "Mknodat": {1, -1}, "Mkfifoat": {1, -1},
	"Readlinkat": {1, -1}, "UtimesNanoAt": {1, 3}, "Statx": {1, 2}, "NameToHandleAt": {1, 2}, "Execveat": {1, -1},
}

// pathCalls take a path alone. Those of os that the packages need for their own
// directories are not among them.
const pathCalls = " Access Chmod Chown Creat Getxattr Lchown Lgetxattr Link Lremovexattr Lsetxattr Lstat Mkdir Mkfifo Mknod Readlink Removexattr Rename Rmdir Setxattr Stat Symlink Truncate Unlink Utime Utimes UtimesNano "

func runOneName(pass *analysis.Pass) (any, error) {
	at := pass.Pkg.Path() + "/"
	outer := strings.Contains(at, "/internal/work/") && !strings.Contains(at, "/internal/work/sandbox/")
	if !outer && !strings.Contains(at, "/internal/system/rootfs/") && !strings.Contains(at, "/internal/work/sandbox/") {
		return nil, nil
	}
	for _, file := range pass.Files {
		if strings.HasSuffix(pass.Fset.Position(file.Pos()).Filename, "_test.go") {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if why := followed(pass.TypesInfo, n, outer); why != "" {
					pass.Reportf(n.Pos(), "%s", why)
				}
			case *ast.CompositeLit:
				if t, ok := pass.TypesInfo.TypeOf(n).(*types.Named); ok && t.Obj().Name() == "OpenHow" && !mentions(n, "RESOLVE_NO_SYMLINKS", "RESOLVE_NO_MAGICLINKS") {
					pass.Reportf(n.Pos(), "OpenHow without RESOLVE_NO_SYMLINKS follows links that a command can make")
				}
			}
			return true
		})
	}
	return nil, nil
}

// followed explains what is wrong with a system call, or returns "".
func followed(info *types.Info, call *ast.CallExpr, outer bool) string {
	fn, ok := typeutil.Callee(info, call).(*types.Func)
	if !ok || fn.Pkg() == nil || !slices.Contains([]string{"syscall", "golang.org/x/sys/unix"}, fn.Pkg().Path()) {
		return ""
	}
	name := fn.Name()
	args, takesName := nameCalls[name]
	switch {
	case outer && (takesName || strings.Contains(pathCalls, " "+name+" ")):
		return name + " takes a path, which a command can have lead elsewhere: open the directory and use the functions of internal/system/rootfs that take one name"
	case name == "Open" && outer && !has(info, call.Args[1], fn, "O_NOFOLLOW"):
		return "Open without O_NOFOLLOW follows a link that a command can make"
	case !takesName || len(call.Args) <= max(args[0], args[1]):
		return ""
	}
	text := info.Types[call.Args[args[0]]].Value
	if text != nil && constant.StringVal(text) == "." {
		return ""
	}
	if text != nil && strings.Contains(constant.StringVal(text), "/") {
		return name + " of a path of several parts: open the directory first"
	}
	if args[1] < 0 {
		return ""
	}
	flags := call.Args[args[1]]
	if name == "Openat" && !has(info, flags, fn, "O_NOFOLLOW") {
		return "Openat without O_NOFOLLOW follows a link that a command can make"
	}
	if name != "Openat" && !has(info, flags, fn, "AT_SYMLINK_NOFOLLOW", "AT_EMPTY_PATH", "AT_SYMLINK_FOLLOW") {
		return name + " with these flags follows a link that a command can make, or resolves a path: use a descriptor, or AT_SYMLINK_NOFOLLOW"
	}
	return ""
}

// has reports whether flags have one of the named ones.
func has(info *types.Info, flags ast.Expr, fn *types.Func, names ...string) bool {
	v := info.Types[flags].Value
	if v == nil {
		return mentions(flags, names...)
	}
	all, _ := constant.Int64Val(v)
	for _, n := range names {
		c, ok := fn.Pkg().Scope().Lookup(n).(*types.Const)
		if !ok {
			continue
		}
		if bit, _ := constant.Int64Val(c.Val()); all&bit != 0 {
			return true
		}
	}
	return false
}

// mentions reports whether one of the names is in an expression.
func mentions(e ast.Node, names ...string) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && slices.Contains(names, id.Name)
		return !found
	})
	return found
}
