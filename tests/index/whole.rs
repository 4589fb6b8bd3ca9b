//! Codes that keep numbers as they are.

use super::{data::fresh, kmeans, mixture, options};
use half::f16;
use leastwise::anneal::code::Code;
use leastwise::anneal::index::{Coarse, Hits, Index, Rescoring, SearchedBy, exact, graphed};

fn flat(points: &[f32], dim: usize, code: Code) -> Index {
    Index::build(points, dim, Coarse::default(), &options(code)).expect("an index")
}

/// Vectors far from the origin, whose distances are small beside their lengths: products would lose the digits that tell them apart.
fn far_away(count: usize, dim: usize, seed: u64) -> Vec<f32> {
    mixture(count, dim, 4, seed).iter().map(|value| 1000.0 + 0.001 * value).collect()
}

#[test]
fn vectors_come_back_to_the_bit() {
    let seed = fresh();
    for (count, dim) in [(1, 1), (70, 3), (333, 37)] {
        let points = mixture(count, dim, 3, seed);
        let ids: Vec<u32> = (0..count as u32).collect();
        let index = flat(&points, dim, Code::F32);
        assert_eq!((index.clusters(), index.code().name()), (1, "f32"));
        assert_eq!(index.reconstruct(&ids).expect("vectors"), points);
        // Times a power of two: of halves all comes back, but what is next to nothing beside the largest.
        let halves: Vec<f32> = points.iter().map(|value| f16::from_f32(*value).to_f32()).collect();
        for points in [&points, &halves] {
            let back = flat(points, dim, Code::F16).reconstruct(&ids).expect("vectors");
            let largest = points.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
            let rounds = if points == &halves { 0.0 } else { 2f32.powi(-11) };
            for (got, wanted) in back.iter().zip(points) {
                assert!((got - wanted).abs() <= rounds * wanted.abs() + largest * 2f32.powi(-34), "{got} {wanted}");
            }
        }
    }
}

#[test]
fn hits_are_those_of_exact_search_to_the_bit() {
    let seed = fresh();
    for (count, dim) in [(40, 1), (333, 7), (900, 37), (1500, 64)] {
        let (points, queries) = (far_away(count, dim, seed), far_away(90, dim, seed + 1));
        let filter: Vec<u8> = (0..count).map(|id| u8::from(id % 3 != 0)).collect();
        for filter in [None, Some(&filter[..])] {
            let k = count.min(11);
            let truth = exact(&points, &queries, dim, k, filter).expect("hits");
            let mut index = flat(&points, dim, Code::F32);
            let decoded = index.search(&queries, k, None, filter).expect("hits");
            assert_eq!((&decoded.ids, &decoded.distances), (&truth.ids, &truth.distances), "seed {seed}, {count} × {dim}");
            while !index.sketch(k, 0.0) {}
            let sketched = index.search(&queries, k, None, filter).expect("hits");
            assert_eq!((&sketched.ids, &sketched.distances), (&truth.ids, &truth.distances), "seed {seed}, {count} × {dim}, by sketches");
            // Distances to what half precision keeps.
            let known = flat(&points, dim, Code::F16);
            let rounded = known.reconstruct(&known.ids()).expect("vectors");
            let truth = exact(&rounded, &queries, dim, k, filter).expect("hits");
            let hits = known.search(&queries, k, None, filter).expect("hits");
            assert_eq!((hits.ids, hits.distances), (truth.ids, truth.distances), "seed {seed}, {count} × {dim}, halves");
        }
    }
}

#[test]
fn hits_of_a_device_are_ranked_by_exact_distances() {
    let (dim, k, spare) = (19, 5, 16);
    let (points, queries) = (far_away(700, dim, 5), far_away(130, dim, 6));
    for clusters in [1, 9] {
        let coarse = if clusters == 1 { Coarse::default() } else { kmeans(&points, dim, clusters, 3) };
        let mut index = Index::build(&points, dim, coarse, &options(Code::F32)).expect("an index");
        assert_eq!((index.found_for(k), index.is_rescored()), (k + spare, true));
        let truth = index.search(&queries, k + spare, None, None).expect("hits");
        // What a device finds, in no order and with distances that say nothing; of one query fewer than k.
        let mut found =
            Hits { distances: vec![0.0; truth.ids.len()], by: SearchedBy { backend: "webgpu", ..SearchedBy::CPU }, ..truth.clone() };
        found.ids.chunks_exact_mut(k + spare).for_each(<[u32]>::reverse);
        let short = truth.ids[..2].to_vec();
        found.ids[..k + spare].fill(u32::MAX);
        found.ids[3..5].copy_from_slice(&short);
        let ranked = index.rescore(&queries, &found, 0..130, k).expect("hits");
        assert_eq!(ranked.ids[..k], [&short[..], &[u32::MAX; 3]].concat());
        assert!(ranked.distances[2..k].iter().all(|distance| distance.is_infinite()));
        for query in 1..130 {
            let (got, wanted) = (query * k..(query + 1) * k, query * (k + spare)..query * (k + spare) + k);
            assert_eq!(ranked.ids[got.clone()], truth.ids[wanted.clone()]);
            assert_eq!(ranked.distances[got], truth.distances[wanted]);
        }
        // In slices that are over at once: the same hits.
        let mut rescoring = Rescoring::new(found.clone(), k);
        let hits = loop {
            if let Some(hits) = rescoring.advance(&index, &queries, || true).expect("a slice") {
                break hits;
            }
        };
        assert_eq!((&hits.ids, &hits.distances, hits.by.backend), (&ranked.ids, &ranked.distances, "webgpu"));
        // What went since is no hit.
        index.remove(&[truth.ids[k + spare]]);
        let again = index.rescore(&queries, &found, 1..2, k).expect("hits");
        assert_eq!(again.ids, truth.ids[k + spare + 1..][..k]);
    }
    assert_eq!(flat(&points, dim, Code::F16).found_for(1024), 1024 + spare);
    let int8 = Index::build(&points, dim, kmeans(&points, dim, 4, 1), &options(Code::Int8)).expect("an index");
    assert_eq!((int8.found_for(k), int8.is_rescored()), (k, false));
}

#[test]
fn files_keep_all_and_are_checked() {
    let (dim, points) = (21, mixture(300, 21, 3, 8));
    for code in [Code::F32, Code::F16] {
        let mut index = flat(&points, dim, code);
        let more: Vec<f32> = points[..dim * 5].iter().map(|value| value * 3.0).collect();
        index.add(&more).expect("ids");
        index.remove(&[7, 301]);
        let file = index.save();
        let back = Index::open(&file).expect("the index");
        assert_eq!(back.save(), file);
        assert_eq!(back.reconstruct(&back.ids()).expect("vectors"), index.reconstruct(&index.ids()).expect("vectors"));
        let width = if code == Code::F32 { 4 } else { 2 };
        assert!(file.len() - back.count() * dim * width < 1500, "{} bytes beside the numbers", file.len() - back.count() * dim * width);
        assert_eq!(Index::open(&index.save_by_lists()).expect("the index").save(), file);
    }
}

#[test]
fn graphs_walk_to_exact_neighbours() {
    let (dim, points, queries) = (40, mixture(3000, 40, 8, 11), mixture(50, 40, 8, 12));
    for coarse in [Coarse::default(), kmeans(&points, dim, 16, 3)] {
        let mut index = Index::build(&points, dim, coarse, &options(Code::F32)).expect("an index");
        let mut building = graphed::Building::new(&index, None, None).expect("a graph");
        while !building.advance(&mut index, 0.0).expect("a graph") {}
        while !graphed::draw(&mut index, 0.0) {}
        let hits = graphed::search(&index, &queries, 10, 128, None).expect("hits");
        let truth = index.search(&queries, 10, None, None).expect("hits");
        let met = hits.ids.chunks(10).zip(truth.ids.chunks(10)).map(|(a, b)| a.iter().filter(|id| b.contains(id)).count()).sum::<usize>();
        assert!(met > 480, "{met} of 500, {} clusters", index.clusters());
        // Distances of hits are exact.
        for (place, id) in hits.ids.iter().enumerate().filter(|(_, id)| truth.ids.contains(id)) {
            let query = place / 10;
            if let Some(other) = truth.ids[query * 10..][..10].iter().position(|other| other == id) {
                assert_eq!(hits.distances[place], truth.distances[query * 10 + other]);
            }
        }
    }
}
