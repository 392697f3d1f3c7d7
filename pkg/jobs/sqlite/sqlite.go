// Package sqlite keeps jobs, journals and event logs in one SQLite file.
//
//	rt, err := adroit.Open(ctx, adroit.Options{Storage: adroit.Storage{Data: dir, Store: Store(dir)}, …})
//
// What a method acknowledged survives the end of the process and of the power.
// Several processes of one machine may open the same directory; it must not be on a
// network file system.
package sqlite
