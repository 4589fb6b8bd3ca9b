//! Indices of compressed vectors.

use super::Engine;
use super::values::{refuse, singles};
use js_sys::{Float32Array, Object, Reflect, Uint8Array, Uint32Array};
use leastwise_anneal::file::published::Files;
use leastwise_anneal::index::SearchedBy;
use leastwise_error::Error;
use leastwise_session::Answer;
use wasm_bindgen::prelude::*;

/// What a search ran on, and why not elsewhere if there is a reason.
fn searched(by: SearchedBy) -> Vec<(&'static str, JsValue)> {
    [("searchedBy", by.backend.into())].into_iter().chain(by.reason.map(|reason| ("reason", reason.into()))).collect()
}

/// The key of an answer in a task's `done`, and its value.
pub fn answered(answer: Answer) -> Result<(&'static str, JsValue), JsValue> {
    let record = |entries: &[(&str, JsValue)]| {
        let object = Object::new();
        for (key, value) in entries {
            Reflect::set(&object, &(*key).into(), value)?;
        }
        Ok::<_, JsValue>(object.into())
    };
    Ok(match answer {
        Answer::Index(index) => ("index", index.into()),
        Answer::Hits(hits) => {
            let arrays = [("ids", Uint32Array::from(&hits.ids[..]).into()), ("distances", Float32Array::from(&hits.distances[..]).into())];
            ("hits", record(&[&arrays, &searched(hits.by)[..]].concat())?)
        }
        Answer::Ids(ids) => ("ids", Uint32Array::from(&ids[..]).into()),
        Answer::Bytes(bytes) => ("bytes", Uint8Array::from(&bytes[..]).into()),
        Answer::Evaluation(found) => {
            let entries = [
                ("recall", found.recall),
                ("bytes", found.bytes as f64),
                ("ratio", found.ratio),
                ("msPerQuery", found.ms_per_query),
                ("msSingle", found.ms_single),
                ("exactMsPerQuery", found.exact_ms_per_query),
            ];
            let entries = entries.map(|(key, value)| (key, value.into()));
            ("evaluation", record(&[&entries, &searched(found.by)[..]].concat())?)
        }
    })
}

#[wasm_bindgen]
impl Engine {
    pub fn compress(&mut self, points: JsValue, options: JsValue) -> Result<u32, JsValue> {
        let points = singles(&points)?;
        let options = serde_wasm_bindgen::from_value(options).map_err(|error| refuse(Error::InvalidOption(error.to_string())))?;
        self.session.compress(points, &options).map_err(refuse)
    }

    #[wasm_bindgen(js_name = openIndex)]
    pub fn open_index(&mut self, file: &[u8]) -> Result<u32, JsValue> {
        self.session.open_index(file).map_err(refuse)
    }

    #[wasm_bindgen(js_name = openPublished)]
    pub fn open_published(
        &mut self,
        idx: &[u8],
        anchors: &[u8],
        assign: &[u8],
        jacobians: Option<Vec<u8>>,
        residuals: Option<Vec<u8>>,
    ) -> Result<u32, JsValue> {
        let files = Files { idx, anchors, assign, jacobians: jacobians.as_deref(), residuals: residuals.as_deref() };
        self.session.open_published(files).map_err(refuse)
    }

    #[wasm_bindgen(js_name = indexReader)]
    pub fn index_reader(&mut self) -> u32 {
        self.session.index_reader()
    }

    #[wasm_bindgen(js_name = feedIndexReader)]
    pub fn feed_index_reader(&mut self, reader: u32, piece: &[u8]) -> Result<(), JsValue> {
        self.session.feed_index_reader(reader, piece).map_err(refuse)
    }

    #[wasm_bindgen(js_name = finishIndexReader)]
    pub fn finish_index_reader(&mut self, reader: u32) -> Result<u32, JsValue> {
        self.session.finish_index_reader(reader).map_err(refuse)
    }

    #[wasm_bindgen(js_name = freeIndexReader)]
    pub fn free_index_reader(&mut self, reader: u32) {
        self.session.free_index_reader(reader);
    }

    #[wasm_bindgen(js_name = indexInfo)]
    pub fn index_info(&self, index: u32) -> Result<String, JsValue> {
        self.session.index_info(index).map_err(refuse)
    }

    #[wasm_bindgen(js_name = indexSizes)]
    pub fn index_sizes(&self, index: u32) -> Result<Vec<u32>, JsValue> {
        self.session.index_sizes(index).map(Vec::from).map_err(refuse)
    }

    #[wasm_bindgen(js_name = indexBytes)]
    pub fn index_bytes(&self, index: u32) -> Result<f64, JsValue> {
        self.session.index_bytes(index).map(|bytes| bytes as f64).map_err(refuse)
    }

    #[wasm_bindgen(js_name = setIndexSearching)]
    pub fn set_index_searching(&mut self, index: u32, place: &str) -> Result<(), JsValue> {
        self.session.set_index_searching(index, place).map_err(refuse)
    }

    #[wasm_bindgen(js_name = setIndexSketching)]
    pub fn set_index_sketching(&mut self, index: u32, sketching: bool) -> Result<(), JsValue> {
        self.session.set_index_sketching(index, sketching).map_err(refuse)
    }

    #[wasm_bindgen(js_name = searchIndex)]
    pub fn search_index(
        &mut self,
        index: u32,
        queries: JsValue,
        k: u32,
        probes: Option<u32>,
        filter: Option<Vec<u8>>,
    ) -> Result<u32, JsValue> {
        let queries = singles(&queries)?;
        self.session.search_index(index, queries, k, probes, filter).map_err(refuse)
    }

    #[wasm_bindgen(js_name = evaluateIndex)]
    pub fn evaluate_index(&mut self, index: u32, queries: JsValue, points: JsValue, k: u32, probes: Option<u32>) -> Result<u32, JsValue> {
        let [queries, points] = [singles(&queries)?, singles(&points)?];
        self.session.evaluate_index(index, queries, points, k, probes).map_err(refuse)
    }

    #[wasm_bindgen(js_name = addToIndex)]
    pub fn add_to_index(&mut self, index: u32, points: JsValue) -> Result<u32, JsValue> {
        let points = singles(&points)?;
        self.session.add_to_index(index, points).map_err(refuse)
    }

    #[wasm_bindgen(js_name = removeFromIndex)]
    pub fn remove_from_index(&mut self, index: u32, ids: &[u32]) -> Result<u32, JsValue> {
        self.session.remove_from_index(index, ids).map(|removed| removed as u32).map_err(refuse)
    }

    #[wasm_bindgen(js_name = reconstructFromIndex)]
    pub fn reconstruct_from_index(&self, index: u32, ids: &[u32]) -> Result<Vec<f32>, JsValue> {
        self.session.reconstruct_from_index(index, ids).map_err(refuse)
    }

    #[wasm_bindgen(js_name = saveIndex)]
    pub fn save_index(&mut self, index: u32) -> Result<u32, JsValue> {
        self.session.save_index(index).map_err(refuse)
    }

    #[wasm_bindgen(js_name = freeIndex)]
    pub fn free_index(&mut self, index: u32) {
        self.session.free_index(index);
    }
}
