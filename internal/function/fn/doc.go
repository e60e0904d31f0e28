// Package fn is what a function of the shelf is made of: its definition, the
// binding of a call, and the words that families of functions are written in.
//
//   - def.go, shelf.go, bind.go: Def, Binding, Shelf.
//   - sig.go, input.go: signatures, from Takes(Str(), Exactly(plan.Int)) on. An
//     ordinary function is Scalar(names, group, signature, kernel, examples…), an
//     aggregate is Aggregate(…), one that is written with others is Short(…).
//   - coerce.go, implicit.go: the types that arguments meet in.
//   - rows.go: kernels from a function of one row: Fixed, Text, Nested.
//   - compare.go, number.go: the order of values, Java's arithmetic.
//   - errors.go: the errors that more than one family raises.
//
// A name is exported here when two families need it; what one family needs
// lives with that family. Nothing here knows a function by name.
package fn
