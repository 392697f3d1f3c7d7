// Package sandbox confines a command, so that what a model writes can touch
// its workspace and nothing else.
//
//	level, report := sandbox.Choose(sandbox.Auto)
//	cmd := exec.Command("go", "test", "./...")
//	stage, err := sandbox.Wrap(cmd, level, &sandbox.Policy{Dir: ws, Write: []string{ws}, Private: tmp})
//	err = cmd.Start()
//	err = stage.Started(err) // an error means that the command did not run
//
// There is no helper program. A binary that links this package starts itself
// again under the name adroit-sandbox, and an init function takes over before
// main: it sets up the confinement and then becomes the command, or stays as
// the first process of the command's own process namespace. The policy travels
// in a memory file that the command never sees.
//
// A level is had or not had; nothing is half on. If any part of the set-up
// fails, the command does not run. Which levels a machine can do is found out
// by running a command under each, never by looking at version numbers.
//
// It is not a virtual machine: a hole in the kernel is a hole in the sandbox.
package sandbox
