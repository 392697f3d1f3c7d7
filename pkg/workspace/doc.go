// Package workspace is what a tool may touch of the directory of a job: its files,
// and the commands it runs there.
//
//	text, err := env.Files.ReadText("cart.go")
//	text.Content = strings.Replace(text.Content, "a", "b", 1)
//	err = env.Files.WriteText("cart.go", text) // refused if somebody else changed it
//	out, err := env.Exec.Run(ctx, tools.Command{Shell: "go test ./...", Snapshot: true})
//
// Names are relative to the workspace and use slashes. They are confined by
// [os.Root], so a name or a link that leads outside is refused, also when
// something races to swap it.
//
// It is not a sandbox: a command runs with the rights of whoever started
// adroit, and the output of a command says so. It is not a version control system
// either: the ledger knows what one job changed, and nothing else.
package workspace
