//! Batches of queries on a device, held to the search on the CPU.
//!
//! `VK_ICD_FILENAMES=/usr/lib/chromium/vk_swiftshader_icd.json XDG_RUNTIME_DIR=/tmp cargo test --test index device`

use super::data::{Random, kmeans, mixture};
use super::support::{SharedDevice, is_full, repeated, shared_device};
use super::{indexes, indexes_of, of_bits, options, share_of_codes};
use leastwise::anneal::code::Code;
use leastwise::anneal::index::device::{Image, MOST_K, Next, Scratch, Searching, Upload, Wanted};
use leastwise::anneal::index::{Coarse, Hits, Index, Options};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Counters, Device, Limits, Precision};
use std::sync::Arc;

fn gpu(limits: Limits) -> SharedDevice {
    shared_device(Some(limits))
}

/// The kernels' twins.
fn twins(limits: Limits) -> Device {
    Device::Cpu(CpuDevice::new(Precision::F32, limits))
}

/// Buffers of as little as a row or two.
fn tiny(bytes: u64) -> Limits {
    Limits { binding_bytes: bytes, buffer_bytes: bytes, ..Limits::SMALL }
}

fn image_of(device: &mut Device, index: &Index) -> Image {
    let image = Image::new(device, index).expect("room on the device");
    let mut upload = Upload::default();
    while let Some(recording) = image.upload(index, &mut upload) {
        device.run(recording).expect("an upload");
    }
    image
}

#[derive(Clone, Copy, Default)]
struct Query<'a> {
    k: usize,
    probes: Option<u32>,
    filter: Option<&'a [u8]>,
}

/// What a device finds, and what it did for that once the index was there; nothing is left of it.
fn found_on(device: &mut Device, index: &Index, queries: &[f32], query: Query) -> (Hits, Counters) {
    let before = device.counters().bytes_live;
    let image = image_of(device, index);
    let (hits, counters) = found_in(device, image, index, queries, query);
    assert_eq!(device.counters().bytes_live, before, "buffers are left");
    (hits, counters)
}

fn found_in(device: &mut Device, image: Image, index: &Index, queries: &[f32], query: Query) -> (Hits, Counters) {
    let probes = query.probes.unwrap_or_else(|| index.default_probes()).min(index.clusters() as u32) as usize;
    let wanted = Wanted { queries: queries.to_vec(), k: query.k, probes, filter: query.filter.map(<[u8]>::to_vec) };
    let scratch = Scratch::new(device, &image, &wanted, None).expect("room on the device");
    let mut searching = Searching::new(device, Arc::new(image), scratch, wanted);
    let before = device.counters();
    let mut readback = Vec::new();
    let hits = loop {
        match searching.advance(&readback) {
            Next::Run(recording) => readback = device.run(recording).expect("a recording"),
            Next::Done(hits) => break hits,
        }
    };
    let counters = device.counters().since(&before);
    let (image, scratch) = searching.end();
    scratch.dispose(device);
    Arc::into_inner(image).expect("nobody else has it").dispose(device);
    (hits, counters)
}

/// The same neighbours, but for those that are as near up to rounding, in order, at the same distances.
fn agree(what: &str, index: &Index, queries: &[f32], query: Query, found: &Hits) {
    let (k, count) = (query.k, queries.len() / index.dim());
    // Some beyond the last, which the device may have taken in its place.
    let expected = index.search(queries, (k + 8).min(1 << 20), query.probes, query.filter).expect("hits");
    assert_eq!((found.ids.len(), found.distances.len(), found.k), (count * k, count * k, k), "{what}");
    // The points are drawn as the queries are. A distance is a sum of squared lengths, of the query, its anchor and its
    // code, and known to their rounding even where it is next to none itself.
    let scale = (0..count).map(|of| scale_of(index, queries, of)).fold(0.0, f32::max);
    for of in 0..count {
        let (ids, distances) = (&found.ids[of * k..][..k], &found.distances[of * k..][..k]);
        let beyond = (k + 8).min(1 << 20);
        let (all, right) = (&expected.ids[of * beyond..][..beyond], &expected.distances[of * beyond..][..beyond]);
        let tolerance = |distance: f32| 1e-4 * distance.max(right[0]) + 1e-5 * scale;
        let mut seen = ids.iter().filter(|id| **id != u32::MAX).collect::<Vec<_>>();
        let there = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), there, "{what}: query {of} finds one twice");
        for place in 0..k {
            assert_eq!(ids[place] == u32::MAX, all[place] == u32::MAX, "{what}: query {of}, place {place}");
            if ids[place] == u32::MAX {
                assert_eq!(distances[place], f32::INFINITY);
                continue;
            }
            let near = (distances[place] - right[place]).abs() <= tolerance(right[place]);
            assert!(near, "{what}: query {of}, place {place}: {} instead of {}", distances[place], right[place]);
            assert!(place == 0 || distances[place] >= distances[place - 1], "{what}: query {of} has the nearest first");
            if ids[place] == all[place] {
                continue;
            }
            // Another, which must be as near.
            let other = all.iter().position(|id| *id == ids[place]);
            let as_near = other.is_some_and(|other| (right[other] - right[place]).abs() <= 2.0 * tolerance(right[place]));
            assert!(as_near, "{what}: query {of}, place {place}: {} instead of {}", ids[place], all[place]);
        }
    }
}

/// The squared length of a query.
fn scale_of(index: &Index, queries: &[f32], of: usize) -> f32 {
    let dim = index.dim();
    queries[of * dim..][..dim].iter().map(|value| value * value).sum()
}

#[test]
fn every_code_is_searched_on_every_device() {
    let seed = super::data::fresh();
    let (dim, points, queries) = (37, mixture(1500, 37, 5, seed), mixture(150, 37, 5, seed + 1));
    let filter: Vec<u8> = (0..1500).map(|id| u8::from(id % 3 != 1)).collect();
    for &limits in repeated(&[Limits::SMALL, Limits::WEBGPU], 1) {
        for mut device in [gpu(limits), twins(limits).into()] {
            for index in indexes(&points, dim, 13) {
                for (k, probes, filter) in [
                    (10, None, None),
                    (1, Some(3), None),
                    (100, Some(13), Some(&filter[..])),
                    (MOST_K, Some(1), None),
                    (7, Some(2), Some(&filter[..])),
                ] {
                    let query = Query { k, probes, filter };
                    let what = format!("seed {seed}, {}, k = {k}, probes {probes:?}, filter {}", index.code().name(), filter.is_some());
                    agree(&what, &index, &queries, query, &found_on(&mut device, &index, &queries, query).0);
                }
            }
        }
    }
}

#[test]
fn ragged_sizes_agree() {
    let mut device = gpu(Limits::SMALL);
    for (number, (count, dim, queries)) in
        [(1, 1, 1), (1, 3, 70), (2, 63, 1), (63, 1, 129), (257, 63, 33), (1000, 3, 17), (300, 384, 40)].into_iter().enumerate()
    {
        let seed = super::data::fresh() + number as u64;
        let (points, queries) = (mixture(count, dim, 3, seed), mixture(queries, dim, 3, seed + 100));
        let clusters = [1, 5, 16][number % 3].min(count);
        for index in indexes_of(&share_of_codes(seed), &points, dim, clusters) {
            for k in [1, 5, count + 3] {
                let query = Query { k: k.min(MOST_K), ..Query::default() };
                let what = format!("seed {seed}, {count} × {dim}, {}, k = {k}", index.code().name());
                agree(&what, &index, &queries, query, &found_on(&mut device, &index, &queries, query).0);
            }
        }
    }
}

#[test]
fn vectors_that_came_and_went_are_where_they_belong() {
    let seed = super::data::fresh();
    let (dim, points, more) = (20, mixture(900, 20, 4, seed), mixture(400, 20, 4, seed + 1));
    let mut device = gpu(Limits::SMALL);
    for mut index in indexes_of(&share_of_codes(seed), &points, dim, 9) {
        let untouched = index.revision();
        index.remove(&(0..900).filter(|id| id % 7 == 3).collect::<Vec<_>>());
        index.add(&more).expect("ids");
        index.remove(&[905, 3, 1201]);
        assert!(index.revision() > untouched);
        let query = Query { k: 12, probes: Some(5), filter: None };
        agree(&format!("seed {seed}, {}", index.code().name()), &index, &more, query, &found_on(&mut device, &index, &more, query).0);
    }
}

/// Rows of all lengths, within words and beyond.
#[test]
fn bits_of_any_number_agree() {
    let seed = super::data::fresh();
    let (dim, points, queries) = (21, mixture(300, 21, 4, seed), mixture(40, 21, 4, seed + 1));
    let mut device = gpu(Limits::SMALL);
    let query = Query { k: 5, ..Query::default() };
    for step in (1..24).step_by(if is_full() { 1 } else { 3 }) {
        let index = Index::build(&points, dim, kmeans(&points, dim, 6, 3), &of_bits(f64::from(step) * 0.5)).expect("an index");
        agree(&format!("seed {seed}, {step} half bits"), &index, &queries, query, &found_on(&mut device, &index, &queries, query).0);
    }
}

/// Anchors, rotations, codes and queries in several buffers each, by buffers that hold little.
#[test]
fn what_does_not_fit_one_buffer_lies_in_several() {
    let seed = super::data::fresh();
    let (dim, points, queries) = (48, mixture(700, 48, 6, seed), mixture(90, 48, 6, seed + 1));
    for (bytes, mut device) in [(16 << 10, gpu(tiny(16 << 10))), (4 << 10, twins(tiny(4 << 10)).into())] {
        let codes = [Code::None, Code::Int8, Code::Int4, Code::Bits];
        let first = (seed % 4) as usize;
        for code in (0..if is_full() { 4 } else { 2 }).map(|place| codes[(first + place) % 4]) {
            // Two-bit levels are few: tables of wide trellises take a buffer of their own.
            let coded = if code == Code::Bits { of_bits(8.0) } else { options(code) };
            let index = Index::build(&points, dim, kmeans(&points, dim, 40, 3), &coded).expect("an index");
            for &probes in repeated(&[6, 40], 1) {
                let query = Query { k: 9, probes: Some(probes), filter: None };
                let Ok(_) = Image::new(&mut device, &index).map(|image| image.dispose(&mut device)) else {
                    assert!(code == Code::Bits && bytes == 4 << 10, "{code:?} fits into {bytes} bytes");
                    continue;
                };
                let (hits, counters) = found_on(&mut device, &index, &queries, query);
                agree(&format!("seed {seed}, {code:?}, {bytes} bytes, {probes} probes"), &index, &queries, query, &hits);
                assert!(counters.readbacks > 1, "several batches of queries");
            }
        }
    }
}

#[test]
fn what_cannot_lie_there_is_refused() {
    let (dim, points) = (300, mixture(400, 300, 2, 1));
    let index = Index::build(&points, dim, kmeans(&points, dim, 4, 1), &options(Code::Int8)).expect("an index");
    let mut device = twins(tiny(2 << 10));
    let error = Image::new(&mut device, &index).map(|_| ()).expect_err("256 levels, a spread and a low a coordinate are more");
    assert_eq!(error.code(), "limits");
    assert_eq!(device.counters().bytes_live, 0);
}

#[test]
fn a_batch_is_one_readback_of_its_hits() {
    let (dim, points, queries) = (16, mixture(3000, 16, 4, 5), mixture(500, 16, 4, 6));
    let index = Index::build(&points, dim, kmeans(&points, dim, 10, 3), &of_bits(4.0)).expect("an index");
    let mut device = gpu(Limits::WEBGPU);
    let (_, counters) = found_on(&mut device, &index, &queries, Query { k: 10, ..Query::default() });
    assert_eq!((counters.readbacks, counters.bytes_read_back), (1, 500 * 10 * 8));
    // A rotation in one block, anchors, and one block of vectors: decoded, multiplied, and looked through.
    assert_eq!((counters.dispatches, counters.submissions), (5, 1));
    assert!(counters.bytes_uploaded < 500 * 16 * 4 + 64 * 5 + 1000, "{} bytes beside the queries", counters.bytes_uploaded);
}

#[test]
fn equal_distances_come_by_ids() {
    // Vectors are their anchors, each twice, on both sides of the queries.
    let (dim, count) = (3, 400);
    let centroids: Vec<f32> = (0..8).flat_map(|corner| (0..3).map(move |axis| if corner >> axis & 1 == 1 { 1.0 } else { -1.0 })).collect();
    let labels: Vec<u32> = (0..count).map(|id| (id * 5 % 8) as u32).collect();
    let points: Vec<f32> = labels.iter().flat_map(|label| centroids[*label as usize * dim..][..dim].to_vec()).collect();
    let index =
        Index::build(&points, dim, Coarse { centroids, labels }, &Options { code: Code::None, ..Options::default() }).expect("an index");
    for mut device in [gpu(Limits::WEBGPU), gpu(Limits::SMALL)] {
        for (k, probes) in [(7, 8), (400, 8), (30, 3)] {
            let queries = vec![0.0; dim * 20];
            let query = Query { k, probes: Some(probes), filter: None };
            let (hits, _) = found_on(&mut device, &index, &queries, query);
            let expected = index.search(&queries, k, Some(probes), None).expect("hits");
            assert_eq!(hits.ids, expected.ids, "k = {k}");
            hits.distances.iter().zip(&expected.distances).for_each(|(a, b)| assert!(a == b || (a - b).abs() < 1e-5, "{a} {b}"));
        }
    }
}

#[test]
fn queries_from_anywhere_find_something() {
    let seed = super::data::fresh();
    let (dim, points) = (12, mixture(300, 12, 3, 5));
    let mut device = gpu(Limits::SMALL);
    let mut random = Random(7);
    let mut queries: Vec<f32> = (0..40 * dim).map(|_| random.normal() * 10f32.powi(random.below(12) as i32 - 3)).collect();
    queries.extend([3e38; 12]);
    queries.extend([-1e30; 12]);
    for index in indexes_of(&share_of_codes(seed), &points, dim, 5) {
        let (hits, _) = found_on(&mut device, &index, &queries, Query { k: 4, ..Query::default() });
        assert!(hits.ids.iter().all(|&id| id < 300), "{}", index.code().name());
        assert!(hits.distances.iter().all(|distance| distance.is_finite()));
        let expected = index.search(&queries, 4, None, None).expect("hits");
        for (place, (got, right)) in hits.distances.iter().zip(&expected.distances).enumerate() {
            let size = right.max(scale_of(&index, &queries, place / 4));
            assert!((got - right).abs() <= 1e-5 * size, "{}: {got} instead of {right}, at {place}", index.code().name());
        }
    }
}

/// The same bits whatever the time slices, and however often.
#[test]
fn bits_are_the_same_every_time() {
    let (dim, points, queries) = (40, mixture(2000, 40, 5, 5), mixture(130, 40, 5, 6));
    let index = Index::build(&points, dim, kmeans(&points, dim, 16, 3), &of_bits(2.5)).expect("an index");
    let mut device = gpu(Limits::SMALL);
    let query = Query { k: 20, probes: Some(7), filter: None };
    let first = found_on(&mut device, &index, &queries, query).0;
    assert_eq!(found_on(&mut device, &index, &queries, query).0, first);
    // Nor do they depend on which queries come together.
    let some = found_on(&mut device, &index, &queries[30 * dim..70 * dim], query).0;
    assert_eq!((&some.ids[..], &some.distances[..]), (&first.ids[30 * 20..70 * 20], &first.distances[30 * 20..70 * 20]));
}
