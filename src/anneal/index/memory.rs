//! Memory that an index takes, part by part.

use super::Index;
use serde::Serialize;

/// Bytes of memory. Searched through its graph, an index takes what its file does, [`sketches`](Self::sketches) of dim/8 + 4 bytes a vector (dim rounded up
/// to 64), and anchors and model in f32; through lists, 4 bytes a vector and, if they are kept, the byte sketches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Codes of the vectors.
    pub codes: usize,
    /// Anchor of every vector, ⌈log₂ anchors⌉ bits each, as in the file.
    pub labels: usize,
    /// Ids: nothing while they are 0, 1, 2…; otherwise 2 + ⌈log₂(end / count)⌉ bits each, about.
    pub ids: usize,
    /// Anchors: in f16, as in the file, and twice in f32, turned.
    pub anchors: usize,
    /// Model of the code.
    pub model: usize,
    /// Lists of the anchors' vectors, 4 bytes a vector, while searches go through them.
    pub lists: usize,
    /// Sketches that searches go by.
    pub sketches: usize,
    /// Graph.
    pub graph: usize,
    /// All of these.
    pub total: usize,
}

impl Index {
    /// Bytes that it takes now.
    pub fn memory(&self) -> Memory {
        let codes = self.stored.codes.capacity();
        let labels = self.stored.labels.memory();
        let ids = self.stored.ids.memory();
        let anchors = 2 * self.stored.anchors.capacity() + 4 * (self.turned_centroids.capacity() + self.turned_columns.capacity());
        let model = self.stored.coder.memory();
        let lists = self.lists.get().map_or(0, |lists| lists.memory());
        let sketches = self.sketch_bytes();
        let graph = self.graph.as_ref().map_or(0, |graph| graph.bytes());
        let total = codes + labels + ids + anchors + model + lists + sketches + graph;
        Memory { codes, labels, ids, anchors, model, lists, sketches, graph, total }
    }

    /// Frees what the next search through lists makes anew, where searches walk in a graph and lists have no sketches that take more.
    pub fn rest(&mut self) {
        if self.drawn.is_some() && self.sketches.is_empty() {
            self.lists.take();
        }
    }
}
