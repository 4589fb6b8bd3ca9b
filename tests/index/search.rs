use super::{data::Random, indexes, kmeans, mixture, of_bits, options, small};
use leastwise::anneal::cluster::{self, Clustering};
use leastwise::anneal::code::Code;
use leastwise::anneal::index::{Coarse, Index, Options, exact};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Device, Precision};

/// All squared distances from a query to what the index knows, sorted.
fn by_hand(index: &Index, query: &[f32]) -> Vec<(f32, u32)> {
    let dim = index.dim();
    let known = index.reconstruct(&index.ids()).expect("rows");
    let mut all: Vec<(f32, u32)> = known
        .chunks_exact(dim)
        .zip(index.ids())
        .map(|(row, id)| (row.iter().zip(query).map(|(a, b)| (a - b) * (a - b)).sum(), id))
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    all
}

#[test]
fn distances_are_those_of_reconstructed_vectors() {
    let (points, dim) = small();
    for index in indexes(&points, dim, 7).into_iter().take(3) {
        let hits = index.search(&points[..dim * 3], 300, None, None).expect("hits");
        for query in 0..3 {
            let expected = by_hand(&index, &points[query * dim..][..dim]);
            let scale = expected.last().expect("hits").0;
            for (place, (distance, _)) in expected.iter().enumerate() {
                let got = hits.distances[query * 300 + place];
                assert!((got - distance).abs() <= 1e-5 * scale, "{}: {got} {distance}", index.code().name());
            }
            let mut ids = hits.ids[query * 300..][..300].to_vec();
            ids.sort();
            assert!(ids.into_iter().eq(0..300), "every vector is found once");
        }
    }
}

#[test]
fn estimates_are_unbiased() {
    // Distances from codes are right on the average, unlike those to reconstructed vectors, which are too short by the error.
    let (dim, points, queries) = (64, mixture(2000, 64, 4, 21), mixture(40, 64, 4, 22));
    let index = Index::build(&points, dim, kmeans(&points, dim, 8, 5), &of_bits(1.0)).expect("an index");
    let hits = index.search(&queries, 2000, None, None).expect("hits");
    let truth = exact(&points, &queries, dim, 2000, None).expect("hits");
    let mean = |values: &[f32]| values.iter().map(|&v| f64::from(v)).sum::<f64>() / values.len() as f64;
    let (got, expected) = (mean(&hits.distances), mean(&truth.distances));
    assert!((got - expected).abs() < 0.01 * expected, "{got} {expected}");
}

#[test]
fn exact_is_exact() {
    let (dim, points, queries) = (7, mixture(333, 7, 3, 1), mixture(70, 7, 3, 2));
    let filter: Vec<u8> = (0..333).map(|id| u8::from(id % 3 != 0)).collect();
    let hits = exact(&points, &queries, dim, 5, Some(&filter)).expect("hits");
    for (query, row) in queries.chunks_exact(dim).enumerate() {
        let mut all: Vec<(f64, u32)> = points
            .chunks_exact(dim)
            .zip(0..)
            .filter(|(_, id)| id % 3 != 0)
            .map(|(point, id)| (point.iter().zip(row).map(|(a, b)| f64::from(a - b).powi(2)).sum(), id))
            .collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ids: Vec<u32> = all[..5].iter().map(|hit| hit.1).collect();
        assert_eq!(hits.ids[query * 5..][..5], ids);
        assert!((f64::from(hits.distances[query * 5]) - all[0].0).abs() < 1e-5 * all[0].0);
    }
}

#[test]
fn one_query_finds_what_it_finds_in_a_batch() {
    let (dim, points, queries) = (24, mixture(1200, 24, 5, 3), mixture(300, 24, 5, 4));
    for index in indexes(&points, dim, 20) {
        for probes in [None, Some(3)] {
            let together = index.search(&queries, 7, probes, None).expect("hits");
            for query in [0, 17, 255, 256, 299] {
                let alone = index.search(&queries[query * dim..][..dim], 7, probes, None).expect("hits");
                assert_eq!(alone.ids, together.ids[query * 7..][..7]);
                assert_eq!(alone.distances, together.distances[query * 7..][..7]);
            }
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    let (dim, points, queries) = (40, mixture(3000, 40, 5, 5), mixture(50, 40, 5, 6));
    let coarse = kmeans(&points, dim, 16, 3);
    let of = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| {
            let index = Index::build(&points, dim, coarse.clone(), &of_bits(2.5)).expect("an index");
            (index.save(), index.search(&queries, 10, None, None).expect("hits"))
        })
    };
    assert_eq!(of(1), of(3));
}

#[test]
fn probes_choose_the_nearest_lists() {
    let (dim, points) = (10, mixture(900, 10, 9, 7));
    let coarse = kmeans(&points, dim, 30, 5);
    let index = Index::build(&points, dim, coarse.clone(), &Options::default()).expect("an index");
    let query = &points[dim * 5..][..dim];
    let hits = index.search(query, 900, Some(1), None).expect("hits");
    let found: Vec<u32> = hits.ids.iter().copied().filter(|&id| id != u32::MAX).collect();
    let label = coarse.labels[found[0] as usize];
    assert_eq!(found.len(), coarse.labels.iter().filter(|&&other| other == label).count());
    assert!(found.iter().all(|&id| coarse.labels[id as usize] == label));
    assert!(hits.distances[found.len()..].iter().all(|&distance| distance == f32::INFINITY));
    let all = index.search(query, 900, Some(u32::MAX), None).expect("hits");
    assert_eq!(all, index.search(query, 900, None, None).expect("hits"));
}

#[test]
fn filters_are_kept() {
    let (points, dim) = small();
    let mut random = Random(4);
    let filter: Vec<u8> = (0..300).map(|_| (random.below(3) == 0).into()).collect();
    for index in indexes(&points, dim, 5) {
        let all = index.search(&points, 300, None, None).expect("hits");
        let some = index.search(&points, 20, None, Some(&filter)).expect("hits");
        for query in 0..300 {
            let expected: Vec<u32> =
                all.ids[query * 300..][..300].iter().copied().filter(|&id| filter[id as usize] != 0).take(20).collect();
            assert_eq!(some.ids[query * 20..][..20], expected);
        }
        assert_eq!(index.search(&points[..dim], 1, None, Some(&[1; 299])).expect_err("a short filter").code(), "data-length");
        assert!(index.search(&points[..dim], 1, None, Some(&[0; 300])).expect("none").ids.iter().all(|&id| id == u32::MAX));
    }
}

#[test]
fn vectors_come_and_go() {
    let (dim, points, more) = (20, mixture(500, 20, 4, 8), mixture(60, 20, 4, 9));
    for mut index in indexes(&points, dim, 6) {
        let coded = index.code().name() != "none";
        assert_eq!(index.remove(&[3, 499, 3, 12_345, 77]), 3);
        assert_eq!((index.count(), index.next_id()), (497, 500));
        assert_eq!(index.add(&more).expect("ids"), (500..560).collect::<Vec<_>>());
        assert_eq!(index.remove(&[510]), 1);
        assert_eq!(index.remove(&[510]), 0);
        index.reconstruct(&[510]).expect_err("it was removed");
        let hits = index.search(&more, 600, None, None).expect("hits");
        for query in 0..60_u32 {
            let ids = &hits.ids[query as usize * 600..][..600];
            assert_eq!(ids.iter().filter(|&&id| id != u32::MAX).count(), 556);
            assert!(![3, 77, 499, 510].iter().any(|id| ids.contains(id)));
            if query != 10 && index.code().name() == "int8" {
                assert_eq!(ids[0], 500 + query, "a vector's nearest is itself");
            }
        }
        let back = Index::open(&index.save()).expect("the index");
        assert_eq!((back.ids(), back.next_id()), (index.ids(), 560));
        assert_eq!(back.search(&more, 9, None, None), index.search(&more, 9, None, None));
        if coded {
            // What is added is coded as what was built with.
            let mut built = Index::build(&points, dim, kmeans(&points, dim, 6, 4), &Options { code: index.code(), ..Options::default() })
                .expect("an index");
            let ids = built.add(&points[..dim * 40]).expect("ids");
            assert_eq!(built.reconstruct(&ids).expect("rows"), built.reconstruct(&(0..40).collect::<Vec<_>>()).expect("rows"));
        }
    }
}

#[test]
fn evaluation_leaves_removed_vectors_out() {
    let (points, dim) = small();
    let mut index = Index::build(&points, dim, kmeans(&points, dim, 4, 3), &of_bits(10.0)).expect("an index");
    index.remove(&(0..100).collect::<Vec<_>>());
    let found = index.evaluate(&points, &points, 10, None).expect("an evaluation");
    assert!(found.recall > 0.99, "{}", found.recall);
    assert_eq!(found.bytes, index.save().len());
    assert!((found.ratio - found.bytes as f64 / (200.0 * dim as f64 * 4.0)).abs() < 1e-12);
    assert_eq!(index.evaluate(&points, &points[dim..], 10, None).expect_err("a row is missing").code(), "data-length");
    // One list of 4 finds its own only.
    assert!(index.evaluate(&points, &points, 150, Some(1)).expect("an evaluation").recall < 0.9);
}

#[test]
fn impossible_searches_are_refused() {
    let (points, dim) = small();
    let index = Index::build(&points, dim, kmeans(&points, dim, 4, 1), &Options::default()).expect("an index");
    let code = |k: usize, probes: Option<u32>, queries: &[f32]| index.search(queries, k, probes, None).expect_err("an error").code();
    assert_eq!(code(0, None, &points), "invalid-option");
    assert_eq!(code(1, Some(0), &points), "invalid-option");
    assert_eq!(code(1, None, &points[1..]), "data-length");
    assert_eq!(code(usize::MAX, None, &points), "limits");
    assert_eq!(code(1 << 28, None, &points), "limits");
    let far = index.search(&[3e38; 12], 2, None, None).expect("far away");
    assert!(far.distances.iter().all(|&distance| distance > 1e20 && distance.is_finite()));
    assert!(index.search(&[], 3, None, None).expect("no queries").ids.is_empty());
}

#[test]
fn more_dimensions_than_a_vector_may_have_are_refused() {
    for dim in [0, (1 << 20) + 1, 4_000_000_000] {
        let error = Index::build(&[], dim, Coarse::default(), &Options::default()).err().expect("an error");
        assert_eq!((error.code(), error.to_string()), ("invalid-option", format!("dim must be from 1 to 1048576, not {dim}")));
    }
    let of_clusters = cluster::Options::new((1 << 20) + 1, 1);
    let mut device = Device::Cpu(CpuDevice::new(Precision::F32, CpuDevice::default_limits()));
    assert_eq!(Clustering::new(&mut device, Vec::new(), &of_clusters).err().expect("an error").code(), "invalid-option");
    for code in [Code::None, Code::Int8, Code::Bits] {
        let widest = Index::build(&[], 1 << 20, Coarse::default(), &options(code)).expect("an index");
        widest.search(&vec![0.0; 1 << 20], 1, None, None).expect("hits");
    }
}

#[test]
fn what_lies_far_outside_is_refused_by_every_code() {
    let (dim, points) = (24, mixture(700, 24, 4, 61));
    let more = mixture(200, dim, 4, 62);
    for mut index in indexes(&points, dim, 6) {
        let name = index.code().name();
        let before = index.save();
        let times = |factor: f32| -> Vec<f32> { more.iter().map(|value| value * factor).collect() };
        // As far as codes reach: those that follow the length of a residual far beyond, the others not.
        let far = match name {
            "none" | "bits" | "f16" => 1e4,
            "f32" => 1e16,
            _ => 12.0,
        };
        let error = index.add(&[&more[..dim * 3], &times(far)[..dim]].concat()).expect_err("it is far away");
        assert_eq!(error.code(), "limits", "{name}");
        assert!(error.to_string().starts_with("vector 3 lies too far outside"), "{name}: {error}");
        index.add(&times(3e38)).expect_err("it is as far as can be");
        assert_eq!(index.save(), before, "{name}: nothing of it came in");
        assert_eq!(index.add(&more).expect("others like those that it was built of").len(), 200, "{name}");
        assert_eq!(index.add(&points[..dim * 100]).expect("those that it was built of").len(), 100, "{name}");
    }
    // Of one value alone: that, and no other.
    let equal = vec![0.3; 50 * dim];
    for mut index in indexes(&equal, dim, 1).into_iter().filter(|index| matches!(index.code(), Code::Int8 | Code::Int4)) {
        assert_eq!(index.add(&equal).expect("the same").len(), 50);
        assert_eq!(index.add(&more[..dim]).expect_err("another").code(), "limits");
    }
}
