// Package workspace is the part of the machine a job may touch: its files, the
// commands it runs, its git repository, and the record that takes it all back.
//
//	led, err := ledger.Open(filepath.Join(data, job, "ledger"), overlay.Recover)
//	files, err := workspace.Open(dir, led)
//	text, err := files.ReadText("cart.go")
//	text.Content = strings.Replace(text.Content, "a", "b", 1)
//	err = files.WriteText("cart.go", text) // refused if somebody else changed it
//	run := process.New(dir, filepath.Join(data, job, "logs"), led)
//	out, err := run.Run(ctx, process.Cmd{Shell: "go test ./...", Snapshot: true})
//	diff, err := led.Diff(ctx, dir, false)
//	report, err := led.Undo(dir)
//
// Names are relative to the workspace and use slashes. They are confined by
// [os.Root], so a name or a link that leads outside is refused, also when
// something races to swap it.
//
// It is not a sandbox: a command runs with the rights of whoever started
// adroit, and [process.Output] says so. It is not a version control system
// either: the ledger knows what one job changed, and nothing else.
package workspace
