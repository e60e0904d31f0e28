// Package statereader reads what stateful operators of a checkpoint keep: its tables as of a
// batch (statestore), and which there are (state-metadata). It writes nothing, and a query that
// runs on the checkpoint is not disturbed.
//
// There are no goroutines here.
package statereader
