//! Ends of a group of ranks.

use std::time::Duration;

/// Reason that a collective call came to nothing: on all ranks that are left the same.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Fault {
    /// A rank ended before the others had what they wait for.
    #[error("rank {rank} of {size} {}: what only it had is lost; the others can go on alone", if *panicked { "died" } else { "left" })]
    Gone {
        /// The rank.
        rank: u32,
        /// Number of ranks.
        size: u32,
        /// True if its thread panicked.
        panicked: bool,
    },
    /// A rank can't go on.
    #[error("rank {rank} of {size} can't go on: {message}")]
    Broken {
        /// The rank.
        rank: u32,
        /// Number of ranks.
        size: u32,
        /// Message of its failure.
        message: String,
    },
    /// Ranks did not make a call in time.
    #[error("{call}: rank{} {} did not come within {} s: is it hanging, or on another way through the program?", if missing.len() > 1 { "s" } else { "" }, list(missing), within.as_secs_f64())]
    Late {
        /// Label of the call that was waited in.
        call: &'static str,
        /// Ranks that did not come.
        missing: Vec<u32>,
        /// The deadline.
        within: Duration,
    },
    /// Not all ranks made a call in time, where nobody knows which did.
    #[error("{call}: not all of the {size} ranks came within {} s: is one hanging, gone, or on another way through the program?", within.as_secs_f64())]
    Stalled {
        /// Label of the call that was waited in.
        call: &'static str,
        /// Number of ranks.
        size: u32,
        /// The deadline.
        within: Duration,
    },
    /// The communicator failed.
    #[error("ranks can't reach each other any more: {message}")]
    Failed {
        /// Its own words.
        message: String,
    },
    /// Ranks made different calls.
    #[error("rank {rank} called {called}, while rank 0 called {expected}: all ranks must run the same program")]
    Mismatch {
        /// The first rank whose call is not that of rank 0.
        rank: u32,
        /// Its call.
        called: String,
        /// The call of rank 0.
        expected: String,
    },
    /// Ranks were given different things.
    #[error("rank {rank} has other {what} than rank 0: all ranks must declare the same")]
    Differs {
        /// Name of what differs.
        what: &'static str,
        /// The first rank that differs from rank 0.
        rank: u32,
    },
    /// It was asked for something that ranks do not do.
    #[error("{0}")]
    Refused(String),
}

fn list(ranks: &[u32]) -> String {
    ranks.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}
