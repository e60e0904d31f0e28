// Package quantiles summarises many numbers by few, from which any quantile is
// told within an error, and tells the same one as Spark's percentile_approx.
//
// The summary is Greenwald and Khanna's, "Space-efficient Online Computation of
// Quantile Summaries". Which numbers it keeps depends on when it is compressed;
// that happens where Spark does it.
package quantiles
