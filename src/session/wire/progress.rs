//! Progress of tasks as the façade gets it: objects with arrays in them.

use crate::{Answer, Progress};
use leastwise_anneal::index::{Evaluation, Hits, SearchedBy};
use leastwise_solve::{Iteration, Report};
use serde::Serialize;

/// Maker of a host's values.
pub trait Host {
    /// A value of the host's language.
    type Value;
    /// Error of making a value.
    type Error;

    /// A value by serde: structures are objects.
    fn plain(&self, value: &impl Serialize) -> Result<Self::Value, Self::Error>;
    /// Adds a property to an object.
    fn set(&self, object: &mut Self::Value, name: &str, value: Self::Value) -> Result<(), Self::Error>;
    /// A typed array of f64.
    fn doubles(&self, values: Vec<f64>) -> Result<Self::Value, Self::Error>;
    /// A typed array of f32.
    fn singles(&self, values: Vec<f32>) -> Result<Self::Value, Self::Error>;
    /// A typed array of u32.
    fn words(&self, values: Vec<u32>) -> Result<Self::Value, Self::Error>;
    /// A typed array of bytes.
    fn bytes(&self, values: Vec<u8>) -> Result<Self::Value, Self::Error>;
}

/// States of a task; a promise or arrays are added to their objects.
#[derive(Serialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum State<'a> {
    /// The time slice ended: resume the task.
    Yielded,
    /// The device works: resume the task when the promise resolves.
    Waiting,
    /// An iteration of a solver was completed: resume the task.
    Iteration {
        /// The iteration.
        iteration: Iteration,
    },
    /// A part of the work is done: resume the task.
    Progress {
        /// Work done, in the units of `total`.
        done: f64,
        /// Work in all.
        total: f64,
    },
    /// The task is over.
    Done {
        /// Report of a solve.
        #[serde(skip_serializing_if = "Option::is_none")]
        report: Option<&'a Report>,
    },
}

/// What a search ran on.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Searched {
    searched_by: &'static str,
    through: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Evaluated {
    recall: f64,
    bytes: f64,
    ratio: f64,
    ms_per_query: f64,
    ms_single: f64,
    exact_ms_per_query: f64,
    searched_by: &'static str,
    through: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// A host's value for what a task has come to. How it waits is the binding's to add.
pub fn progress<H: Host>(host: &H, progress: Progress) -> Result<H::Value, H::Error> {
    match progress {
        Progress::Yielded | Progress::Waiting(_) => host.plain(&State::Yielded),
        Progress::Iteration(iteration) => host.plain(&State::Iteration { iteration }),
        Progress::Partly { done, total } => host.plain(&State::Progress { done, total }),
        Progress::Report(report) => host.plain(&State::Done { report: Some(&report) }),
        Progress::Stepped => host.plain(&State::Done { report: None }),
        Progress::Values(values) => done(host, "values", host.doubles(values)?),
        Progress::Answer(answer) => answered(host, answer),
        Progress::Covariance(made) => done(host, "covariance", host.plain(&made)?),
        Progress::Gradients(mut made) => {
            let values = std::mem::take(&mut made.values);
            done(host, "gradients", with(host, &made, [("values", host.doubles(values)?)])?)
        }
        Progress::Graduated(mut made) => {
            let weights = std::mem::take(&mut made.weights);
            done(host, "graduated", with(host, &made, [("weights", host.doubles(weights)?)])?)
        }
        Progress::Clustering(mut made) => {
            let centroids = host.singles(std::mem::take(&mut made.centroids))?;
            let [labels, counts] = [&mut made.labels, &mut made.counts].map(std::mem::take);
            let arrays = [("centroids", centroids), ("labels", host.words(labels)?), ("counts", host.words(counts)?)];
            done(host, "clustering", with(host, &made, arrays)?)
        }
    }
}

fn answered<H: Host>(host: &H, answer: Answer) -> Result<H::Value, H::Error> {
    match answer {
        Answer::Index(index) => done(host, "index", host.plain(&index)?),
        Answer::Ids(ids) => done(host, "ids", host.words(ids)?),
        Answer::Bytes(bytes) => done(host, "bytes", host.bytes(bytes)?),
        Answer::Hits(hits) => done(host, "hits", found(host, hits)?),
        Answer::Evaluation(evaluation) => done(host, "evaluation", measured(host, evaluation)?),
    }
}

// Apart, as the next: what only searches come to is in their part of the module.
#[inline(never)]
fn found<H: Host>(host: &H, hits: Hits) -> Result<H::Value, H::Error> {
    let arrays = [("ids", host.words(hits.ids)?), ("distances", host.singles(hits.distances)?)];
    let SearchedBy { backend, through, reason } = hits.by;
    with(host, &Searched { searched_by: backend, through: through.name(), reason }, arrays)
}

#[inline(never)]
fn measured<H: Host>(host: &H, found: Evaluation) -> Result<H::Value, H::Error> {
    let SearchedBy { backend, through, reason } = found.by;
    host.plain(&Evaluated {
        recall: found.recall,
        bytes: found.bytes as f64,
        ratio: found.ratio,
        ms_per_query: found.ms_per_query,
        ms_single: found.ms_single,
        exact_ms_per_query: found.exact_ms_per_query,
        searched_by: backend,
        through: through.name(),
        reason,
    })
}

/// The state of a task that is over, with what it came to.
fn done<H: Host>(host: &H, name: &str, value: H::Value) -> Result<H::Value, H::Error> {
    with(host, &State::Done { report: None }, [(name, value)])
}

/// An object with more properties.
pub fn with<'a, H: Host>(
    host: &H,
    object: &impl Serialize,
    more: impl IntoIterator<Item = (&'a str, H::Value)>,
) -> Result<H::Value, H::Error> {
    let mut object = host.plain(object)?;
    for (name, value) in more {
        host.set(&mut object, name, value)?;
    }
    Ok(object)
}
