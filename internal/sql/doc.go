// Package sql reads SQL text into plan trees.
//
// lex.go cuts the text into tokens once; parser.go walks them; expr.go and its
// neighbours read expressions by precedence, query.go and from.go queries, and
// one file each family of statements, listed in statement.go. Operators become
// plan.UnresolvedFunctions under the names that Spark registers them by.
//
// Rules:
//
//	Q1  Every keyword is also an identifier, as in Spark without its ANSI
//	    keywords, sixteen join words aside, which cannot name a table alias.
//	    Where a word could be either, the tokens behind it decide, as they do
//	    in Spark: SELECT 1 FROM names a column FROM.
//	Q2  Reading never goes back: each token is looked at a bounded number of
//	    times, so time and memory grow with the length of the text.
//	Q3  A syntax error ends reading at once. A mistake in what parses (a date
//	    out of range, an interval of mixed units) or something refused is kept
//	    and reported when the rest of the text has parsed, as in Spark.
//	Q4  Nothing here knows the session: literals that depend on its time zone
//	    stay plan.TypedLiteral, names stay names.
//	Q5  Nesting is bounded by maxDepth; what is deeper is refused by
//	    FAILED_TO_PARSE_TOO_COMPLEX. Chains (a AND b AND …) do not nest.
//
// There are no clocks, files or goroutines here.
package sql
