//! Searches by sketches find what searches without them find, to the bit.

use super::{data::Random, indexes, kmeans, mixture, of_bits, options};
use leastwise::anneal::code::Code;
use leastwise::anneal::index::{Index, Options};

/// Searches before and after sketches are made.
fn assert_same(index: &mut Index, queries: &[f32], k: usize, probes: Option<u32>, filter: Option<&[u8]>) {
    index.set_sketching(false);
    let decoded = index.search(queries, k, probes, filter).expect("hits");
    index.set_sketching(true);
    assert!(index.sketch(k, f64::INFINITY));
    assert!(index.sketch_bytes() > 0, "{}: there are sketches", index.code().name());
    let sketched = index.search(queries, k, probes, filter).expect("hits");
    assert!(sketched == decoded, "{}: k = {k}, probes {probes:?}, filter {}", index.code().name(), filter.is_some());
    let dim = index.dim();
    for (query, row) in queries.chunks_exact(dim).enumerate().step_by(17) {
        let alone = index.search(row, k, probes, filter).expect("hits");
        assert_eq!(alone.ids, decoded.ids[query * k..][..k]);
        assert_eq!(alone.distances, decoded.distances[query * k..][..k]);
    }
}

#[test]
fn hits_are_those_of_decoding_everything() {
    let mut random = Random(50);
    for (count, dim, clusters) in [(2000, 40, 13), (1500, 77, 1), (900, 130, 300)] {
        let (points, queries) = (mixture(count, dim, 6, 51), mixture(70, dim, 6, 52));
        let filter: Vec<u8> = (0..count).map(|_| (random.below(3) == 0).into()).collect();
        let few: Vec<u8> = (0..count).map(|id| u8::from(id % 301 == 5)).collect();
        for mut index in indexes(&points, dim, clusters) {
            if index.code() == Code::None {
                // Nothing is decoded anyway.
                assert!(index.sketch(1, f64::INFINITY) && index.sketch_bytes() == 0);
                continue;
            }
            for k in [1, 10, 50] {
                assert_same(&mut index, &queries, k, None, None);
                assert_same(&mut index, &queries, k, Some(3), None);
                assert_same(&mut index, &queries, k, None, Some(&filter));
                assert_same(&mut index, &queries, k, Some(2), Some(&few));
            }
            // Points themselves, and what is far from everything.
            assert_same(&mut index, &points[..20 * dim], 10, None, None);
            let far: Vec<f32> = queries.iter().enumerate().map(|(k, value)| value * [1e3, 1e12, 1e30][k / dim % 3]).collect();
            assert_same(&mut index, &far, 10, None, None);
        }
    }
}

#[test]
fn sketches_go_along_with_changes() {
    let (dim, points, more, queries) = (33, mixture(1200, 33, 4, 53), mixture(300, 33, 4, 54), mixture(40, 33, 4, 55));
    for code in [Code::Int8, Code::Int4, Code::Bits] {
        let mut index = Index::build(&points, dim, kmeans(&points, dim, 9, 3), &options(code)).expect("an index");
        let compare = |index: &mut Index| {
            index.sketch(10, f64::INFINITY);
            let by_sketches = index.search(&queries, 10, None, None).expect("hits");
            let opened = Index::open(&index.save()).expect("an index");
            assert!(opened.sketch_bytes() == 0 && index.sketch_bytes() > 0);
            assert_eq!(by_sketches, opened.search(&queries, 10, None, None).expect("hits"));
        };
        compare(&mut index);
        let bytes = index.sketch_bytes();
        index.add(&more).expect("ids");
        // Between a change and the next sketches all is decoded.
        let hits = index.search(&queries, 10, None, None).expect("hits");
        compare(&mut index);
        assert_eq!(index.search(&queries, 10, None, None).expect("hits"), hits);
        assert_eq!(index.sketch_bytes(), bytes / 1200 * 1500);
        index.remove(&(0..1500).step_by(7).collect::<Vec<_>>());
        assert_eq!(index.sketch_bytes(), bytes / 1200 * (1500 - 1500_usize.div_ceil(7)));
        compare(&mut index);
    }
}

#[test]
fn sketches_are_made_in_slices() {
    let (dim, points, queries) = (36, mixture(1500, 36, 4, 56), mixture(20, 36, 4, 57));
    let mut index = Index::build(&points, dim, kmeans(&points, dim, 40, 3), &of_bits(3.0)).expect("an index");
    let hits = index.search(&queries, 5, None, None).expect("hits");
    let mut slices = 1;
    while !index.sketch(5, 0.0) {
        slices += 1;
        assert_eq!(index.search(&queries, 5, None, None).expect("hits"), hits);
    }
    assert!(slices >= 40_usize.div_ceil(rayon::current_num_threads()), "{slices} slices");
    assert_eq!(index.search(&queries, 5, None, None).expect("hits"), hits);
}

#[test]
fn vectors_that_bounds_say_nothing_about() {
    // All alike, or on a few points: more than are kept as candidates, and ties by id.
    let (dim, count) = (48, 3000);
    let alike = [0.25].repeat(count * dim);
    let places = mixture(3, dim, 3, 58);
    let few: Vec<f32> = (0..count).flat_map(|row| &places[row % 3 * dim..][..dim]).copied().collect();
    for points in [alike, few] {
        for code in [Code::Int8, Code::Int4, Code::Bits] {
            let mut index =
                Index::build(&points, dim, kmeans(&points, dim, 2, 2), &Options { code, ..Options::default() }).expect("an index");
            let mut queries = mixture(30, dim, 3, 59);
            queries.extend(&points[..3 * dim]);
            assert_same(&mut index, &queries, 10, None, None);
        }
    }
}

#[test]
fn vectors_beside_which_others_are_nothing() {
    // Numbers so small that their reciprocals aren't finite, and large ones.
    let (dim, count) = (40, 1000);
    let mut points = mixture(count, dim, 2, 60);
    for (row, point) in points.chunks_exact_mut(dim).enumerate() {
        let factor = [1.0, 1e-20, 1e-41, 0.0][row % 4];
        point.iter_mut().for_each(|value| *value *= factor);
    }
    for code in [Code::Int8, Code::Int4, Code::Bits] {
        for clusters in [1, 5] {
            let coarse = kmeans(&points, dim, clusters, 3);
            let mut index = Index::build(&points, dim, coarse, &options(code)).expect("an index");
            let queries = [&points[..8 * dim], &[0.0].repeat(dim), &[1e-41].repeat(dim)].concat();
            assert_same(&mut index, &queries, 10, None, None);
        }
    }
    // Of all small ones the unit is chosen by the largest.
    let small: Vec<f32> = points.iter().map(|value| value * 1e-36).collect();
    let mut index = Index::build(&small, dim, kmeans(&small, dim, 3, 3), &options(Code::Int8)).expect("an index");
    assert_same(&mut index, &small[..8 * dim], 10, None, None);
}

#[test]
fn sketches_of_what_stays_stay() {
    let (dim, points) = (40, mixture(1200, 40, 5, 71));
    let queries = mixture(30, dim, 5, 72);
    let mut index = Index::build(&points, dim, kmeans(&points, dim, 7, 3), &of_bits(3.0)).expect("an index");
    assert!(index.sketch(5, f64::INFINITY));
    let whole = index.sketch_bytes();
    let gone: Vec<u32> = (0..1200).filter(|id| id % 7 == 2 || (300..340).contains(id)).collect();
    assert_eq!(index.remove(&gone), gone.len());
    assert_eq!(index.sketch_bytes(), whole / 1200 * (1200 - gone.len()));
    assert!(index.sketch(5, 0.0), "nothing is left to be made");
    let by_sketches = index.search(&queries, 5, None, None).expect("hits");
    // Those that come are drawn beside them.
    let mut grown = index;
    grown.add(&queries).expect("ids");
    assert!(grown.sketch(5, f64::INFINITY));
    let after = grown.search(&queries, 5, None, None).expect("hits");
    grown.set_sketching(false);
    assert_eq!(grown.search(&queries, 5, None, None).expect("hits"), after);
    grown.remove(&(1200..1230).collect::<Vec<_>>());
    assert_eq!(grown.search(&queries, 5, None, None).expect("hits"), by_sketches);
}
