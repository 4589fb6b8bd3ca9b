//! Methods of engines that may be ranks, which modules of WebAssembly do not have: `RankedNative` of `src/session/surface.idl`.

use crate::engine::Engine;
use crate::values::{read_record, read_vectors};
use leastwise::anneal::cluster::Options;
use napi::bindgen_prelude::{Env, Float64ArraySlice, Result, Uint32ArraySlice, Unknown};
use napi_derive::napi;

#[napi]
impl Engine {
    /// A task whose `done` carries the clustering of the points of all ranks, or of its own on an engine that is none.
    #[napi]
    pub fn cluster_by_ranks(
        &self,
        env: &Env,
        points: Unknown,
        start: Option<Float64ArraySlice>,
        options: Unknown,
        metric: String,
    ) -> Result<u32> {
        let points = read_vectors(env, points)?;
        let options: Options = read_record(env, options)?;
        self.call(env, |session| session.cluster_by_ranks(points, start.as_deref(), &options, &metric))
    }
    /// A task whose `values` are sums of tensors over all ranks, or means, packed. A rank without tensors has all tasks fail.
    #[napi]
    pub fn sum_over_ranks(&self, env: &Env, tensors: Option<Uint32ArraySlice>, mean: bool) -> Result<u32> {
        self.call(env, |session| session.sum_over_ranks(tensors.as_deref(), mean))
    }
    /// Means of tensors over all ranks, packed, which an evaluation by all ranks computes; none on an engine that is no rank.
    #[napi]
    pub fn means_over_ranks<'env>(&self, env: &'env Env, tensors: Uint32ArraySlice, step: u32) -> Result<Uint32ArraySlice<'env>> {
        Uint32ArraySlice::from_data(env, self.call(env, |session| session.means_over_ranks(&tensors, step))?)
    }
}
