//! Samples, quantiles, confidence intervals, outliers and the stopping rule: pure functions fed with numbers.
