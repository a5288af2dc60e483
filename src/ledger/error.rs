//! Why a network has no totals.

/// What the closed forms of a network refuse. Every message is one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// A total past 64 bits.
    #[error("'{network}' as a network: {what} overflow 64 bits")]
    Overflow {
        /// The suite or model.
        network: String,
        /// What is counted.
        what: &'static str,
    },
    /// More steps than checkpointings are tried for.
    #[error("'{network}' as a network has {steps} layers, more than the {limit} that checkpoints are set among")]
    TooManySteps {
        /// The suite or model.
        network: String,
        /// Its steps.
        steps: usize,
        /// The most there can be.
        limit: usize,
    },
}
