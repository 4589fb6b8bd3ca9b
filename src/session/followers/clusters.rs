//! Clusterings that followers make with their session, one at a time: each of its part of the points.

use super::{Answers, Followers, Iterating};
use crate::clusters::RankedRun;
use leastwise_anneal::cluster::Options;
use leastwise_collective::{Communicator, DEADLINE, Fault};
use leastwise_error::Error;
use std::sync::{Arc, Mutex, PoisonError};

/// A follower's part of a clustering.
pub(super) struct Followed {
    run: RankedRun,
    /// Number of its first point, among those of all.
    first: usize,
    labels: Vec<u32>,
}

impl Followed {
    /// An error as it is of the points of all.
    fn of_all(&self, error: Error) -> Error {
        match error {
            Error::NonFiniteRow { what, row, component, value } => Error::NonFiniteRow { what, row: self.first + row, component, value },
            other => other,
        }
    }
}

/// Labels of followers' points, as they come, with the ranks.
pub struct Labels(Answers<(u32, Vec<u32>)>);

impl Labels {
    /// Labels of all followers of a session of so many ranks, in the order of ranks.
    pub fn of_ranks(&self, size: u32) -> Result<Vec<u32>, Error> {
        let mut found: Vec<_> = self.0.within(DEADLINE).take(size as usize - 1).collect();
        found.sort_unstable_by_key(|(rank, _)| *rank);
        match (1..size).find(|rank| found.iter().all(|(other, _)| other != rank)) {
            Some(rank) => Err(Fault::Broken { rank, size, message: "it did not give the labels of its points".into() }.into()),
            None => Ok(found.into_iter().flat_map(|(_, labels)| labels).collect()),
        }
    }
}

impl Followers {
    /// Has all followers begin a clustering, each of its part of the points, which come with the number of the first one.
    pub fn begin_clustering(&self, parts: Vec<(usize, Vec<f32>)>, options: Options, metric: String) {
        let parts: Vec<_> = parts.into_iter().map(Mutex::new).collect();
        self.orders.give(move |follower| {
            let ranks = follower.communicator.clone();
            let part = parts.get(ranks.rank() as usize - 1).ok_or(Error::Internal("a follower has no part of the points"))?;
            let (first, points) = std::mem::take(&mut *part.lock().unwrap_or_else(PoisonError::into_inner));
            let run = RankedRun::new(ranks, points, options.clone(), &metric);
            follower.clustering = Some(Followed { run, first, labels: Vec::new() });
            Ok(())
        });
    }

    /// Has all followers go on to the next rest, as this rank is about to do.
    pub fn go_on_clustering(&self, own: &Arc<dyn Communicator>) -> Iterating {
        let failures = self.orders.ask(|follower| {
            let Some(followed) = &mut follower.clustering else { return Some(Error::Internal("a follower lacks a clustering")) };
            match followed.run.go_on(&mut follower.devices) {
                Ok(outcome) => {
                    followed.labels = outcome.map(|outcome| outcome.labels).unwrap_or_default();
                    None
                }
                Err(error) => Some(followed.of_all(error)),
            }
        });
        Iterating { failures, own: own.clone() }
    }

    /// Has all followers end their clustering, at a rest or at its end; gives the labels that they came to.
    pub fn end_clustering(&self) -> Labels {
        Labels(self.orders.ask(|follower| {
            let mut followed = follower.clustering.take()?;
            followed.run.leave(&mut follower.devices);
            Some((follower.communicator.rank(), followed.labels))
        }))
    }
}
