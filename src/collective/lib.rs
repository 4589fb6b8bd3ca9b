//! Collective calls between ranks: equal programs, each with a part of the work, which all make the same calls in the same order.
//!
//! A [`Communicator`] has one required call, [`exchange`](Communicator::exchange): every rank gives bytes, and gets those of all,
//! in the order of ranks. All else is made of it. A sum is added up by each rank in the order of ranks, so its bits depend neither
//! on who came first nor on the rank: all ranks get the same.
//!
//! Every call has a deadline and a [`Call`], what it is: its kind, its label and its length. Ranks that disagree about it, ranks
//! that are gone and ranks that are late are a [`Fault`] on all others, and the communicator gives nothing else from then on.
//!
//! [`threads`] makes communicators for threads of one process; GPUs have one over NCCL (`native_cuda/device/nccl/`).
//!
//! ```
//! use leastwise_collective::{Communicator, threads};
//! use std::time::Duration;
//!
//! let ranks = threads(3, Duration::from_secs(30));
//! let sums: Vec<f64> = std::thread::scope(|scope| {
//!     let run = |rank: std::sync::Arc<dyn Communicator>| scope.spawn(move || rank.sum("example", &[f64::from(rank.rank())]).unwrap()[0]);
//!     ranks.into_iter().map(run).collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).collect()
//! });
//! assert_eq!(sums, [3.0; 3]);
//! ```

mod fault;
mod threads;

pub use fault::Fault;
pub use threads::{threads, threads_of};

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

/// Time that a call waits for other ranks, unless it is told.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// Kinds of calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Every rank gets what all gave.
    Gather,
    /// Every rank gets a sum, or another fold, of what all gave.
    Reduce,
    /// Every rank gets what the first one gave.
    Broadcast,
    /// Every rank waits for all.
    Barrier,
}

impl Kind {
    /// All of them, in the order of [`Traffic`].
    pub const ALL: [Self; 4] = [Self::Gather, Self::Reduce, Self::Broadcast, Self::Barrier];

    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gather => "gather",
            Self::Reduce => "reduce",
            Self::Broadcast => "broadcast",
            Self::Barrier => "barrier",
        }
    }
}

/// Description of a call, on which all ranks must agree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// Kind of the call.
    pub kind: Kind,
    /// Purpose of the call, in messages.
    pub label: &'static str,
    /// Bytes that a rank gives; none where each rank may give another number.
    pub bytes: Option<usize>,
}

/// Calls of one kind, and bytes that this rank gave and got in them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Count {
    /// Number of calls.
    pub calls: u64,
    /// Bytes that this rank gave.
    pub given: u64,
    /// Bytes of other ranks that came here.
    pub received: u64,
}

/// Counts of all calls, by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    counts: [Count; Kind::ALL.len()],
}

impl Traffic {
    /// The calls of a kind.
    pub fn of(&self, kind: Kind) -> Count {
        self.counts[kind as usize]
    }

    /// All calls.
    pub fn total(&self) -> Count {
        self.counts.iter().fold(Count::default(), |sum, count| Count {
            calls: sum.calls + count.calls,
            given: sum.given + count.given,
            received: sum.received + count.received,
        })
    }

    /// Counts a call.
    pub fn note(&mut self, kind: Kind, given: usize, received: usize) {
        let count = &mut self.counts[kind as usize];
        *count = Count { calls: count.calls + 1, given: count.given + given as u64, received: count.received + received as u64 };
    }
}

/// Bytes of all ranks, in the order of ranks.
pub type Gathered = Arc<Vec<Vec<u8>>>;

/// One rank's end of a group of ranks. A device may know its type, and exchange numbers without the host then.
pub trait Communicator: Any + Send + Sync {
    /// Number of this rank, from 0.
    fn rank(&self) -> u32;

    /// Number of ranks.
    fn size(&self) -> u32;

    /// Bytes and calls so far.
    fn traffic(&self) -> Traffic;

    /// Gives bytes, and gets those of all ranks.
    ///
    /// # Errors
    /// A [`Fault`] on all ranks that are left, within the deadline: a rank is gone, is late, or makes another call. Every later call
    /// gives the same one.
    fn exchange(&self, call: Call, own: Vec<u8>) -> Result<Gathered, Fault>;

    /// Tells the others that this rank can't go on, for a reason that only it has: their calls end with this fault, unless there was
    /// another one before. Nothing is waited for.
    fn give_up(&self, fault: Fault);

    /// Values of every rank, as many of each.
    ///
    /// # Errors
    /// Those of [`exchange`](Self::exchange).
    fn gather(&self, label: &'static str, own: &[f64]) -> Result<Vec<Vec<f64>>, Fault> {
        let bytes = bytemuck::cast_slice(own).to_vec();
        let all = self.exchange(Call { kind: Kind::Gather, label, bytes: Some(bytes.len()) }, bytes)?;
        Ok(all.iter().map(|bytes| numbers(bytes)).collect())
    }

    /// Values of every rank, of which each may have another number.
    ///
    /// # Errors
    /// Those of [`exchange`](Self::exchange).
    fn gather_varying(&self, label: &'static str, own: &[f64]) -> Result<Vec<Vec<f64>>, Fault> {
        let all = self.exchange(Call { kind: Kind::Gather, label, bytes: None }, bytemuck::cast_slice(own).to_vec())?;
        Ok(all.iter().map(|bytes| numbers(bytes)).collect())
    }

    /// Sums over all ranks, added up in the order of ranks.
    ///
    /// # Errors
    /// Those of [`exchange`](Self::exchange).
    fn sum(&self, label: &'static str, own: &[f64]) -> Result<Vec<f64>, Fault> {
        self.reduce(label, own, &|a, b| a + b)
    }

    /// The largest of all ranks; NaN is never larger.
    ///
    /// # Errors
    /// Those of [`exchange`](Self::exchange).
    fn largest(&self, label: &'static str, own: &[f64]) -> Result<Vec<f64>, Fault> {
        self.reduce(label, own, &|a, b| if b > a { b } else { a })
    }

    /// Values of all ranks, combined in the order of ranks.
    ///
    /// # Errors
    /// Those of [`exchange`](Self::exchange).
    fn reduce(&self, label: &'static str, own: &[f64], combine: &dyn Fn(f64, f64) -> f64) -> Result<Vec<f64>, Fault> {
        let bytes = bytemuck::cast_slice(own).to_vec();
        let all = self.exchange(Call { kind: Kind::Reduce, label, bytes: Some(bytes.len()) }, bytes)?;
        let mut all = all.iter().map(|bytes| numbers::<f64>(bytes));
        let mut folded = all.next().unwrap_or_default();
        all.for_each(|values| folded.iter_mut().zip(values).for_each(|(sum, value)| *sum = combine(*sum, value)));
        Ok(folded)
    }

    /// Values of the first rank; what other ranks give is dropped, and may be of any length.
    ///
    /// # Errors
    /// Those of [`exchange`](Self::exchange).
    fn broadcast(&self, label: &'static str, own: &[f64]) -> Result<Vec<f64>, Fault> {
        let bytes = if self.rank() == 0 { bytemuck::cast_slice(own).to_vec() } else { Vec::new() };
        let all = self.exchange(Call { kind: Kind::Broadcast, label, bytes: None }, bytes)?;
        Ok(all.first().map(|bytes| numbers(bytes)).unwrap_or_default())
    }

    /// Waits for all ranks.
    ///
    /// # Errors
    /// Those of [`exchange`](Self::exchange).
    fn barrier(&self, label: &'static str) -> Result<(), Fault> {
        self.exchange(Call { kind: Kind::Barrier, label, bytes: Some(0) }, Vec::new()).map(drop)
    }

    /// Checks that all ranks have the same number, a fingerprint of what they are about to do.
    ///
    /// # Errors
    /// [`Fault::Differs`] on all ranks, with the first rank whose number differs from that of rank 0; ranks can go on after it. Else
    /// those of [`exchange`](Self::exchange).
    fn agree(&self, what: &'static str, fingerprint: u64) -> Result<(), Fault> {
        let all = self.exchange(Call { kind: Kind::Gather, label: what, bytes: Some(8) }, fingerprint.to_le_bytes().to_vec())?;
        match all.iter().position(|other| *other != all[0]) {
            Some(rank) => Err(Fault::Differs { what, rank: rank as u32 }),
            None => Ok(()),
        }
    }
}

/// Tells all ranks words about what this one has made, or that it has failed (none), and hears them of all: in one call. Every rank makes
/// it between collective calls, so that a failure of one is not a call that it does not make. A rank that failed hears nothing.
///
/// # Errors
/// [`Fault::Refused`] where another rank failed and this one did not; else those of [`Communicator::exchange`].
pub fn told<const N: usize>(communicator: &dyn Communicator, label: &'static str, made: Option<[u64; N]>) -> Result<Vec<[u64; N]>, Fault> {
    let words: Vec<u64> = [u64::from(made.is_none())].into_iter().chain(made.unwrap_or([0; N])).collect();
    let own: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let all = communicator.exchange(Call { kind: Kind::Gather, label, bytes: Some(own.len()) }, own)?;
    let of_rank = |bytes: &Vec<u8>| bytes.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_le_bytes)).collect::<Vec<u64>>();
    let all: Vec<Vec<u64>> = all.iter().map(of_rank).collect();
    match all.iter().position(|words| words[0] != 0) {
        Some(rank) if made.is_some() => Err(Fault::Refused(format!("rank {rank} could not set up its part: it has the reason"))),
        Some(_) => Ok(Vec::new()),
        None => Ok(all.iter().map(|words| std::array::from_fn(|k| words[1 + k])).collect()),
    }
}

/// Tells all ranks whether this one has what it made, and hears it of the others, as [`told`] does.
///
/// # Errors
/// Those of [`told`].
pub fn failed_elsewhere<T, E>(communicator: &dyn Communicator, made: &Result<T, E>) -> Result<(), Fault> {
    told(communicator, "set-up", made.as_ref().ok().map(|_| [])).map(drop)
}

/// Result of this rank, once all have theirs.
///
/// # Errors
/// This rank's own first, then those of [`failed_elsewhere`].
pub fn everybody<T, E: From<Fault>>(communicator: &dyn Communicator, made: Result<T, E>) -> Result<T, E> {
    let others = failed_elsewhere(communicator, &made);
    let made = made?;
    others?;
    Ok(made)
}

/// Numbers of bytes, which may lie anywhere.
pub fn numbers<T: bytemuck::AnyBitPattern>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
}

/// FNV-1a of 64 bits, for [`Communicator::agree`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fingerprint(pub u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    /// Adds bytes, and their number: what follows each other is told apart.
    pub fn add(&mut self, bytes: &[u8]) {
        let length = (bytes.len() as u64).to_le_bytes();
        for byte in length.iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
