//! Which cases run in which order, in a worker process that may die without taking the run along.
