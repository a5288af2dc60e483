//! One measuring session: warm-up, samples, stop. It sees only a Sampler.
