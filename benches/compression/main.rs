//! `cargo bench --bench compression`: codes and search on real embeddings, against FAISS' figures on the same data, and on a mixture of
//! normal distributions.
//!
//! The embeddings are in `LEASTWISE_DATA`, a folder with `embeddings/`: 20,000 × 384 f16 unit vectors and 500 queries that are not among
//! them. All bytes of the file count; FAISS' rows leave codebooks out. Arguments: numbers are ratios to try in place of the table's.

#[path = "../../tests/index/data.rs"]
#[allow(dead_code)]
mod data;

use half::f16;
use leastwise::anneal::code::Code;
use leastwise::anneal::index::{Coarse, Index, Options, clusters_for};
use std::time::Instant;

/// FAISS on two cores: index, share of the f32 bytes, recall@10, seconds.
const FAISS: [(&str, f64, f64, f64); 7] = [
    ("SQ8", 0.25, 0.9948, 0.03),
    ("SQ6", 0.188, 0.9812, 0.03),
    ("SQ4", 0.125, 0.9378, 0.02),
    ("PQ192", 0.125, 0.9522, 163.0),
    ("OPQ192", 0.125, 0.9560, 454.0),
    ("PQ96", 0.0625, 0.8692, 85.0),
    ("PQ48", 0.03125, 0.7592, 42.0),
];

/// Rounds of the coarse clustering.
const ROUNDS: usize = 10;

fn main() {
    let asked: Vec<f64> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    if let Some(folder) = std::env::var_os("LEASTWISE_DATA") {
        let read = |name: &str| npy_f16(&std::path::Path::new(&folder).join("embeddings").join(name));
        let (points, dim) = read("minilm-20k-base.f16.npy");
        let (queries, _) = read("minilm-queries.f16.npy");
        table("embeddings", &points, &queries, dim, &asked, &FAISS);
    } else {
        println!("LEASTWISE_DATA is not set: it names the folder that holds embeddings/minilm-20k-base.f16.npy");
    }
    let dim = 128;
    table("mixture of 64", &data::mixture(20_000, dim, 64, 1), &data::mixture(500, dim, 64, 2), dim, &asked, &[]);
}

/// FAISS' rows, and ours: of the ratios that were asked for, or of all and the other codes.
fn table(name: &str, points: &[f32], queries: &[f32], dim: usize, asked: &[f64], others: &[(&str, f64, f64, f64)]) {
    println!(
        "\n{name}: {} vectors of {dim}, {} queries, {} threads",
        points.len() / dim,
        queries.len() / dim,
        rayon::current_num_threads()
    );
    println!(
        "{:24} {:>8} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "index", "of f32", "recall@10", "cluster s", "code s", "ms each", "ms alone", "decoding", "alone"
    );
    for (name, ratio, recall, seconds) in others {
        println!("{:24} {:7.2}% {recall:10.4} {:>9} {seconds:9.2}", format!("FAISS {name}"), ratio * 100.0, "");
    }
    let ratios = if asked.is_empty() { &[0.252, 0.188, 0.125, 0.066, 0.0625, 0.03125][..] } else { asked };
    for &ratio in ratios {
        let clusters = clusters_for(points.len() / dim, dim, ratio);
        row(&format!("bits, ratio {ratio}"), points, queries, dim, clusters, &Options { ratio: Some(ratio), ..Options::default() });
    }
    if asked.is_empty() {
        for code in [Code::Int8, Code::Int4, Code::None] {
            row(code.name(), points, queries, dim, 64, &Options { code, ..Options::default() });
        }
    }
}

fn row(name: &str, points: &[f32], queries: &[f32], dim: usize, clusters: usize, options: &Options) {
    let start = Instant::now();
    let Coarse { centroids, labels } = data::kmeans(points, dim, clusters, ROUNDS);
    let clustered = start.elapsed().as_secs_f64();
    let mut index = Index::build(points, dim, Coarse { centroids, labels }, options).expect("an index");
    let built = start.elapsed().as_secs_f64() - clustered;
    let decoding = index.evaluate(queries, points, 10, None).expect("an evaluation");
    index.sketch(10, f64::INFINITY);
    let found = index.evaluate(queries, points, 10, None).expect("an evaluation");
    assert_eq!(found.recall, decoding.recall);
    println!(
        "{:24} {:7.2}% {:10.4} {clustered:9.2} {built:9.2} {:9.3} {:9.3} {:9.3} {:9.3}   (exact {:.3} ms)",
        format!("{name} ({clusters})"),
        found.ratio * 100.0,
        found.recall,
        found.ms_per_query,
        found.ms_single,
        decoding.ms_per_query,
        decoding.ms_single,
        found.exact_ms_per_query
    );
}

/// Values and row length of a two-dimensional f16 array.
fn npy_f16(path: &std::path::Path) -> (Vec<f32>, usize) {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let header = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let text = String::from_utf8_lossy(&bytes[10..header]);
    assert!(text.contains("'<f2'"), "{}: not f16", path.display());
    let shape = text.split_once("'shape': (").expect("a shape").1;
    let dim = shape
        .split(',')
        .nth(1)
        .and_then(|number| number.trim_end_matches(')').trim().trim_end_matches(')').parse().ok())
        .expect("two dimensions");
    (bytes[header..].chunks_exact(2).map(|pair| f16::from_le_bytes([pair[0], pair[1]]).to_f32()).collect(), dim)
}
