//! Indices of compressed vectors.

use crate::engine::Engine;
use crate::objects::{from_js, to_js};
use crate::values::Numbers;
use leastwise::anneal::file::published::Files;
use leastwise::session::{Answer, singles};
use napi::bindgen_prelude::{
    Env, Float32ArraySlice, JsObjectValue, Object, Result, ToNapiValue, Uint8ArraySlice, Uint32ArraySlice, Unknown,
};
use napi_derive::napi;
use serde::Serialize;

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
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// The key of an answer in a task's `done`, and its value.
pub fn answered<'env>(env: &'env Env, answer: Answer) -> Result<(&'static str, Unknown<'env>)> {
    Ok(match answer {
        Answer::Index(index) => ("index", index.into_unknown(env)?),
        Answer::Hits(hits) => {
            let mut object = Object::new(env)?;
            object.set_named_property("ids", Uint32ArraySlice::from_data(env, hits.ids)?)?;
            object.set_named_property("distances", Float32ArraySlice::from_data(env, hits.distances)?)?;
            object.set_named_property("searchedBy", hits.by.backend)?;
            if let Some(reason) = hits.by.reason {
                object.set_named_property("reason", reason)?;
            }
            ("hits", object.into_unknown(env)?)
        }
        Answer::Ids(ids) => ("ids", Uint32ArraySlice::from_data(env, ids)?.into_unknown(env)?),
        Answer::Bytes(bytes) => ("bytes", Uint8ArraySlice::from_data(env, bytes)?.into_unknown(env)?),
        Answer::Evaluation(found) => {
            let evaluated = Evaluated {
                recall: found.recall,
                bytes: found.bytes as f64,
                ratio: found.ratio,
                ms_per_query: found.ms_per_query,
                ms_single: found.ms_single,
                exact_ms_per_query: found.exact_ms_per_query,
                searched_by: found.by.backend,
                reason: found.by.reason,
            };
            ("evaluation", to_js(env, &evaluated)?)
        }
    })
}

#[napi]
impl Engine {
    #[napi]
    pub fn compress(&self, env: &Env, points: Unknown, options: Unknown) -> Result<u32> {
        let points = Numbers::read(env, points)?;
        let options = from_js(options).map_err(|error| leastwise::Error::InvalidOption(error.reason.clone()));
        self.call(env, |session| session.compress(singles(points.reals())?, &options?))
    }

    #[napi]
    pub fn open_index(&self, env: &Env, file: &[u8]) -> Result<u32> {
        self.call(env, |session| session.open_index(file))
    }

    #[napi]
    pub fn open_published(
        &self,
        env: &Env,
        idx: &[u8],
        anchors: &[u8],
        assign: &[u8],
        jacobians: Option<Uint8ArraySlice>,
        residuals: Option<Uint8ArraySlice>,
    ) -> Result<u32> {
        let files = Files { idx, anchors, assign, jacobians: jacobians.as_deref(), residuals: residuals.as_deref() };
        self.call(env, |session| session.open_published(files))
    }

    #[napi]
    pub fn index_reader(&self, env: &Env) -> Result<u32> {
        self.call(env, |session| Ok(session.index_reader()))
    }

    #[napi]
    pub fn feed_index_reader(&self, env: &Env, reader: u32, piece: &[u8]) -> Result<()> {
        self.call(env, |session| session.feed_index_reader(reader, piece))
    }

    #[napi]
    pub fn finish_index_reader(&self, env: &Env, reader: u32) -> Result<u32> {
        self.call(env, |session| session.finish_index_reader(reader))
    }

    #[napi]
    pub fn free_index_reader(&self, reader: u32) {
        self.post(move |session| session.free_index_reader(reader));
    }

    #[napi]
    pub fn index_info(&self, env: &Env, index: u32) -> Result<String> {
        self.call(env, |session| session.index_info(index))
    }

    #[napi]
    pub fn index_sizes<'env>(&self, env: &'env Env, index: u32) -> Result<Uint32ArraySlice<'env>> {
        let sizes = self.call(env, |session| session.index_sizes(index))?;
        Uint32ArraySlice::from_data(env, Vec::from(sizes))
    }

    #[napi]
    pub fn index_bytes(&self, env: &Env, index: u32) -> Result<f64> {
        self.call(env, |session| session.index_bytes(index).map(|bytes| bytes as f64))
    }

    #[napi]
    pub fn set_index_searching(&self, env: &Env, index: u32, place: String) -> Result<()> {
        self.call(env, move |session| session.set_index_searching(index, &place))
    }

    #[napi]
    pub fn set_index_sketching(&self, env: &Env, index: u32, sketching: bool) -> Result<()> {
        self.call(env, |session| session.set_index_sketching(index, sketching))
    }

    #[napi]
    pub fn search_index(
        &self,
        env: &Env,
        index: u32,
        queries: Unknown,
        k: u32,
        probes: Option<u32>,
        filter: Option<Uint8ArraySlice>,
    ) -> Result<u32> {
        let queries = Numbers::read(env, queries)?;
        let filter = filter.map(|filter| filter.to_vec());
        self.call(env, |session| session.search_index(index, singles(queries.reals())?, k, probes, filter))
    }

    #[napi]
    pub fn evaluate_index(&self, env: &Env, index: u32, queries: Unknown, points: Unknown, k: u32, probes: Option<u32>) -> Result<u32> {
        let [queries, points] = [Numbers::read(env, queries)?, Numbers::read(env, points)?];
        self.call(env, |session| session.evaluate_index(index, singles(queries.reals())?, singles(points.reals())?, k, probes))
    }

    #[napi]
    pub fn add_to_index(&self, env: &Env, index: u32, points: Unknown) -> Result<u32> {
        let points = Numbers::read(env, points)?;
        self.call(env, |session| session.add_to_index(index, singles(points.reals())?))
    }

    #[napi]
    pub fn remove_from_index(&self, env: &Env, index: u32, ids: &[u32]) -> Result<u32> {
        self.call(env, |session| session.remove_from_index(index, ids).map(|removed| removed as u32))
    }

    #[napi]
    pub fn reconstruct_from_index<'env>(&self, env: &'env Env, index: u32, ids: &[u32]) -> Result<Float32ArraySlice<'env>> {
        let vectors = self.call(env, |session| session.reconstruct_from_index(index, ids))?;
        Float32ArraySlice::from_data(env, vectors)
    }

    #[napi]
    pub fn save_index(&self, env: &Env, index: u32) -> Result<u32> {
        self.call(env, |session| session.save_index(index))
    }

    #[napi]
    pub fn free_index(&self, index: u32) {
        self.post(move |session| session.free_index(index));
    }
}
