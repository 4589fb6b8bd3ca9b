//! The rows that clusters are made of, where there are more than are needed.

/// Rows for each cluster: as many as FAISS takes. The mean of so many is as good as that of all.
const OF_CLUSTER: usize = 256;

/// Rows below which all are taken.
const FEWEST: usize = 1 << 15;

/// How many rows of `count` are enough for so many clusters.
pub fn enough(count: usize, clusters: usize) -> usize {
    clusters.saturating_mul(OF_CLUSTER).max(FEWEST).min(count)
}

/// `sample` of `count` rows, ascending: the rows are cut into as many runs of equal length, and one of each is drawn. So a sorted file is
/// sampled from its beginning to its end. The same rows for the same seed.
pub fn rows(count: usize, sample: usize, seed: u32) -> impl Iterator<Item = usize> {
    let sample = sample.min(count);
    let start = move |run: usize| (run as u128 * count as u128 / sample as u128) as usize;
    (0..sample).map(move |run| {
        let first = start(run);
        first + mixed(seed, run as u32) as usize % (start(run + 1) - first)
    })
}

/// MurmurHash3's last step, of a number and a seed (A. Appleby).
fn mixed(seed: u32, number: u32) -> u32 {
    let mut hash = number.wrapping_mul(0x9E37_79B1) ^ seed;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85EB_CA6B);
    hash = (hash ^ hash >> 13).wrapping_mul(0xC2B2_AE35);
    hash ^ hash >> 16
}
