use super::{data::Random, indexes, kmeans, mixture, of_bits, options, relative_error};
use leastwise::Error;
use leastwise::anneal::code::{
    Code,
    trellis::{Step, Trellis, Workspace},
};
use leastwise::anneal::index::{Coarse, Index, Options, clusters_for, sample};

#[test]
fn the_trellis_comes_near_the_rate_distortion_bound() {
    let mut random = Random(3);
    for (window, bits, most) in [(10, 1, 0.295), (10, 2, 0.079), (10, 4, 0.0056), (8, 2, 0.084), (8, 4, 0.0064), (10, 6, 0.00045)] {
        let trellis = Trellis::new(window);
        let steps = vec![Step { bits, weight: 1.0 }; 512];
        let (mut space, mut states) = (Workspace::default(), vec![0; steps.len()]);
        let (mut error, rounds) = (0.0, 20);
        for _ in 0..rounds {
            let values: Vec<f32> = steps.iter().map(|_| random.normal()).collect();
            trellis.encode(steps.iter().copied(), &values, false, &mut space, &mut states);
            // Each state holds the newer bits of the one before.
            for pair in states.windows(2) {
                assert_eq!(pair[1] >> bits, pair[0] & ((1 << (window - bits)) - 1));
            }
            let decoded = states.iter().map(|&state| trellis.levels(bits)[state as usize]);
            error += values.iter().zip(decoded).map(|(value, level)| f64::from(value - level).powi(2)).sum::<f64>();
        }
        let mean = error / f64::from(rounds) / steps.len() as f64;
        let bound = 0.25_f64.powi(bits as i32);
        assert!(mean < most && mean > bound, "window {window}, {bits} bits: {mean}, bound {bound}");
    }
}

#[test]
fn more_bits_are_less_error() {
    let (dim, points) = (48, mixture(1500, 48, 6, 1));
    let coarse = kmeans(&points, dim, 8, 5);
    let error = |bits: f64| relative_error(&Index::build(&points, dim, coarse.clone(), &of_bits(bits)).expect("an index"), &points);
    let errors = [0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0].map(error);
    assert!(errors.is_sorted_by(|a, b| a > b), "{errors:?}");
    for (error, most) in errors.into_iter().zip([0.5, 0.3, 0.18, 0.1, 0.025, 0.007, 6e-4, 6e-5, 1e-6]) {
        assert!(error < most, "{errors:?}");
    }
}

#[test]
fn codes_keep_what_they_promise() {
    let (dim, points) = (48, mixture(1500, 48, 6, 2));
    let [none, int8, int4, bits, f32, f16]: [f64; 6] =
        indexes(&points, dim, 8).iter().map(|index| relative_error(index, &points)).collect::<Vec<_>>().try_into().expect("6 codes");
    assert!(f32 < 1e-14 && f16 < 1e-7, "{f32} {f16}");
    assert!(int8 < 1e-4 && int4 < 0.02 && bits < 0.007 && none < 0.9, "{none} {int8} {int4} {bits}");
}

#[test]
fn ratios_are_kept_and_found() {
    let (count, dim) = (3000, 64);
    let points = mixture(count, dim, 8, 3);
    let queries = mixture(60, dim, 8, 99);
    // At equal bytes well above what rounding each coordinate finds; the figures of real embeddings are those of the benchmark.
    for (ratio, least) in [(0.3, 0.985), (0.2, 0.96), (0.15, 0.92), (0.1, 0.82)] {
        let clusters = clusters_for(count, dim, ratio);
        let options = Options { ratio: Some(ratio), ..Options::default() };
        let index = Index::build(&points, dim, kmeans(&points, dim, clusters, 5), &options).expect("an index");
        let found = index.evaluate(&queries, &points, 10, None).expect("an evaluation");
        assert_eq!(found.bytes, index.save().len());
        assert!((found.ratio - found.bytes as f64 / (count * dim * 4) as f64).abs() < 1e-12);
        assert!(found.ratio <= ratio && found.ratio > 0.95 * ratio, "{ratio}: {}", found.ratio);
        assert!(found.recall >= least, "{ratio}: {}", found.recall);
    }
}

#[test]
fn a_ratio_that_is_too_small_names_one_that_is_not() {
    for (count, dim) in [(20, 64), (500, 8), (3000, 64)] {
        let points = mixture(count, dim, 8, 3);
        let build = |ratio: f64| {
            let clusters = clusters_for(count, dim, ratio);
            Index::build(&points, dim, kmeans(&points, dim, clusters, 1), &Options { ratio: Some(ratio), ..Options::default() })
        };
        let Err(Error::InvalidOption(message)) = build(0.001) else { panic!("{count} vectors fit") };
        let named = message.split("ask for ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a ratio").to_string();
        match named.parse::<f64>() {
            Ok(ratio) => {
                assert!(build(ratio).expect("it fits").ratio() <= ratio);
                assert!(build(ratio * 0.9).is_err(), "{message}");
            }
            Err(_) => assert!(build(1.0).is_err() && message.contains("ask for bits instead"), "{message}"),
        }
    }
}

#[test]
fn labels_that_are_not_given_are_those_of_the_nearest() {
    let (count, dim) = (700, 12);
    let points = mixture(count, dim, 8, 3);
    for code in [Code::Int8, Code::Bits] {
        let coarse = kmeans(&points, dim, 16, 5);
        let found = Index::build(&points, dim, Coarse { labels: Vec::new(), ..coarse.clone() }, &options(code)).expect("an index");
        let given = Index::build(&points, dim, coarse, &options(code)).expect("an index");
        assert_eq!(found.save(), given.save());
    }
}

#[test]
fn a_model_alone_takes_what_comes() {
    let (count, dim) = (600, 24);
    let points = mixture(count, dim, 5, 3);
    let coarse = kmeans(&points[..200 * dim], dim, 8, 5);
    for code in Code::ALL {
        let mut index =
            Index::build(&points[..200 * dim], dim, coarse.clone(), &Options { train_for: Some(600), ..options(code) }).expect("a model");
        assert_eq!((index.count(), index.next_id(), index.clusters()), (0, 0, 8));
        assert_eq!(index.add(&points).expect("ids"), (0..600).collect::<Vec<_>>());
        let recall = index.evaluate(&points, &points, 1, None).expect("an evaluation").recall;
        assert!(recall > if code == Code::None { 0.0 } else { 0.7 }, "{}: {recall}", code.name());
    }
}

#[test]
fn samples_go_through_all_rows() {
    for (count, sample) in [(1, 1), (10, 3), (10, 10), (10, 40), (1000, 999), (100_000, 77)] {
        let rows: Vec<usize> = sample::rows(count, sample, 5).collect();
        assert_eq!(rows.len(), sample.min(count));
        assert!(rows.is_sorted_by(|a, b| a < b) && rows.iter().all(|&row| row < count), "{rows:?}");
        let start = |run: usize| run * count / rows.len();
        let runs = rows.iter().enumerate().all(|(run, &row)| (start(run)..start(run + 1)).contains(&row));
        assert!(runs, "one of each run: {rows:?}");
        assert!(sample * 2 > count || !rows.iter().copied().eq(sample::rows(count, sample, 6)), "another seed, other rows");
    }
    assert_eq!((sample::enough(500, 4), sample::enough(1 << 20, 512), sample::enough(1 << 20, 2)), (500, 1 << 17, 1 << 15));
}

#[test]
fn odd_sizes_work() {
    let mut random = Random(8);
    for (count, dim, clusters) in
        [(1, 1, 1), (1, 5, 4), (2, 3, 1), (7, 1, 3), (40, 2, 64), (500, 1, 4), (300, 3, 5), (9, 700, 2), (30, 1030, 3)]
    {
        let points: Vec<f32> = (0..count * dim).map(|_| random.normal()).collect();
        let mut coarse = kmeans(&points, dim, clusters, 2);
        coarse.centroids.truncate(clusters * dim);
        for code in Code::ALL {
            let mut index = Index::build(&points, dim, coarse.clone(), &options(code)).expect("an index");
            let hits = index.search(&points[..dim], 5, None, None).expect("hits");
            assert_eq!(hits.ids.len(), 5);
            assert_eq!(hits.ids.iter().filter(|&&id| id != u32::MAX).count(), count.min(5));
            index.add(&points[..dim]).expect("an id");
            let back = Index::open(&index.save()).expect("the index");
            assert_eq!(back.count(), count + 1);
            assert_eq!(index.bytes(), index.save().len());
        }
    }
}

#[test]
fn nothing_at_all_is_an_index() {
    for code in Code::ALL {
        let mut index = Index::build(&[], 6, Coarse::default(), &options(code)).expect("an index");
        assert_eq!((index.count(), index.clusters()), (0, 1));
        let hits = index.search(&[0.0; 6], 2, None, None).expect("no hits");
        assert_eq!((hits.ids, hits.distances), (vec![u32::MAX; 2], vec![f32::INFINITY; 2]));
        let back = Index::open(&index.save()).expect("the index");
        assert_eq!(back.count(), 0);
        let added = index.add(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        if matches!(code, Code::None | Code::Bits | Code::F32 | Code::F16) {
            index.remove(&added.expect("an id"));
            assert_eq!((index.count(), index.next_id()), (0, 1));
        } else {
            // Models of nothing can say nothing of it.
            assert_eq!(added.expect_err("an error").code(), "limits");
        }
    }
}

#[test]
fn duplicates_and_constants_are_exact() {
    let dim = 5;
    let row = [3.0, -1.5, 0.0, 7.0, 0.25];
    let points: Vec<f32> = row.iter().copied().cycle().take(dim * 50).collect();
    for code in Code::ALL {
        let coarse = Coarse { centroids: row.to_vec(), labels: vec![0; 50] };
        let index = Index::build(&points, dim, coarse, &options(code)).expect("an index");
        assert_eq!(index.reconstruct(&[0, 49]).expect("rows"), [row, row].concat());
        let hits = index.search(&row, 3, None, None).expect("hits");
        assert_eq!((hits.ids, hits.distances), (vec![0, 1, 2], vec![0.0; 3]));
    }
}

#[test]
fn any_scale_is_coded_alike() {
    let (dim, points) = (16, mixture(400, 16, 4, 6));
    let coarse = kmeans(&points, dim, 4, 4);
    for code in Code::ALL {
        let of_scale = |power: i32| {
            let scale = 2.0_f32.powi(power);
            let scaled = |values: &[f32]| -> Vec<f32> { values.iter().map(|v| v * scale).collect() };
            let coarse = Coarse { centroids: scaled(&coarse.centroids), labels: coarse.labels.clone() };
            let index = Index::build(&scaled(&points), dim, coarse, &options(code)).expect("an index");
            let back = index.reconstruct(&(0..400).collect::<Vec<_>>()).expect("rows");
            (
                back.iter().map(|v| v / scale).collect::<Vec<f32>>(),
                index.search(&scaled(&points[..dim * 9]), 4, None, None).expect("hits").ids,
            )
        };
        let plain = of_scale(0);
        for power in [-100, -30, 20, 60, 120] {
            assert_eq!(of_scale(power), plain, "{} at 2^{power}", code.name());
        }
    }
}

#[test]
fn what_is_not_finite_is_named() {
    let mut points = mixture(20, 4, 2, 7);
    let coarse = kmeans(&points, 4, 2, 2);
    points[4 * 13 + 2] = f32::NAN;
    let error = Index::build(&points, 4, coarse.clone(), &Options::default()).map(|_| ()).expect_err("a NaN");
    assert_eq!((error.code(), error.instance()), ("non-finite", Some(13)));
    assert!(error.to_string().contains("row 13"), "{error}");
    points[4 * 13 + 2] = 0.0;
    let mut index = Index::build(&points, 4, coarse, &Options::default()).expect("an index");
    assert_eq!(index.add(&[0.0, 0.0, 0.0, 0.0, f32::INFINITY, 0.0, 0.0, 0.0]).expect_err("infinite").instance(), Some(1));
    assert_eq!(index.search(&[f32::NAN; 4], 1, None, None).expect_err("NaN").code(), "non-finite");
}

#[test]
fn what_f16_cannot_hold_is_refused() {
    let points = mixture(200, 8, 2, 9);
    let mut index = Index::build(&points, 8, kmeans(&points, 8, 2, 2), &Options::default()).expect("an index");
    assert_eq!(index.add(&[1e9; 8]).expect_err("too far").code(), "limits");
    assert_eq!(index.add(&[3e38; 8]).expect_err("too far").code(), "limits");
    assert_eq!(index.count(), 200);
}

#[test]
fn wrong_options_are_refused() {
    let points = mixture(50, 4, 2, 10);
    let build = |options: Options, coarse: Coarse| Index::build(&points, 4, coarse, &options).map(|_| ()).expect_err("an error").code();
    let coarse = kmeans(&points, 4, 2, 1);
    let refused = |options: Options| assert_eq!(build(options, coarse.clone()), "invalid-option");
    refused(of_bits(0.0));
    refused(of_bits(f64::NAN));
    refused(of_bits(13.0));
    refused(Options { ratio: Some(-1.0), ..Options::default() });
    refused(Options { ratio: Some(0.5), bits: Some(2.0), ..Options::default() });
    refused(Options { code: Code::Int8, bits: Some(2.0), ..Options::default() });
    assert_eq!(build(Options::default(), Coarse { labels: vec![2; 50], ..coarse.clone() }), "invalid-option");
    assert_eq!(build(Options::default(), Coarse { labels: vec![0; 49], ..coarse.clone() }), "data-length");
    assert_eq!(build(Options::default(), Coarse { centroids: vec![0.0; 7], ..coarse.clone() }), "data-length");
    assert_eq!(Index::build(&points, 0, coarse, &Options::default()).map(|_| ()).expect_err("no dimensions").code(), "invalid-option");
}
