//! What a session searches on: its device for batches, the CPU for the rest; and what stays on the device.

use super::data::{kmeans, mixture};
use super::memory::{peak, scarcely, taken};
use super::support::{Shared, is_full, shared_gpu};
use super::{of_bits, options};
use leastwise::anneal::code::Code;
use leastwise::anneal::index::device::{FEWEST_QUERIES, MOST_K};
use leastwise::anneal::index::{Coarse, Evaluation, Hits, Index};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Device, Kind, Limits, Precision, Profile};
use leastwise::session::{Answer, CompressOptions, Progress, Session};

const DIM: usize = 24;

fn cpu() -> Session {
    Session::new(Device::Cpu(CpuDevice::new(Precision::F64, CpuDevice::default_limits())))
}

fn webgpu() -> Shared {
    shared_gpu(Some(Limits::WEBGPU))
}

fn index() -> Index {
    let points = mixture(900, DIM, 4, 3);
    Index::build(&points, DIM, kmeans(&points, DIM, 9, 3), &of_bits(4.0)).expect("an index")
}

fn queries(count: usize, seed: u64) -> Vec<f32> {
    mixture(count, DIM, 4, seed)
}

/// An index that is searched on the device, software or not.
fn opened(session: &mut Session, file: &[u8]) -> u32 {
    let index = session.open_index(file).expect("an index");
    session.set_index_searching(index, "device").expect("a place");
    index
}

/// Goes on until the task is over.
fn ended(session: &mut Session, task: u32) -> Answer {
    loop {
        match session.resume(task, f64::INFINITY).expect("a task that ends well") {
            Progress::Waiting(signal) => session.device_mut().block_on(&signal).expect("a device"),
            Progress::Answer(answer) => return answer,
            Progress::Yielded | Progress::Partly { .. } => {}
            _ => panic!("something else"),
        }
    }
}

fn hits(session: &mut Session, task: u32) -> Hits {
    match ended(session, task) {
        Answer::Hits(hits) => hits,
        _ => panic!("no hits"),
    }
}

fn search(session: &mut Session, index: u32, queries: &[f32], k: u32) -> Hits {
    let task = session.search_index(index, queries.to_vec(), k, None, None, None).expect("a search");
    hits(session, task)
}

fn are_near(found: &Hits, expected: &Hits) {
    for (found, expected) in found.distances.iter().zip(&expected.distances) {
        assert!(found == expected || (found - expected).abs() <= 1e-4 * expected.max(1.0), "{found} {expected}");
    }
}

#[test]
fn batches_are_the_devices_and_the_rest_is_the_cpus() {
    let known = index();
    let file = known.save();
    let [mut here, mut there] = [cpu().into(), webgpu()];
    let [of_cpu, of_gpu] = [&mut here, &mut there].map(|session| session.open_index(&file).expect("an index"));
    let software = Some("the adapter is software, which takes longer");
    for (place, count, k, reason) in [
        ("device", FEWEST_QUERIES, 5, None),
        ("device", 200, MOST_K, None),
        ("device", 1, 1, None),
        ("device", 30, MOST_K + 1, Some("more than 512 neighbours")),
        ("auto", FEWEST_QUERIES - 1, 5, Some("fewer than 16 queries")),
        ("auto", FEWEST_QUERIES, 5, software.filter(|_| there.device().profile() == Profile::Software)),
    ] {
        there.set_index_searching(of_gpu, place).expect("a place");
        let queries = queries(count, 7);
        let [host, device] = [(&mut here, of_cpu), (&mut there, of_gpu)].map(|(session, index)| search(session, index, &queries, k as u32));
        assert_eq!((host.by.backend, host.by.reason.as_deref()), ("cpu", None));
        let backend = if reason.is_some() { "cpu" } else { "webgpu" };
        assert_eq!((device.by.backend, device.by.reason.as_deref()), (backend, reason), "{count} queries, k = {k}");
        assert_eq!((device.ids.len(), device.k), (count * k, k));
        assert_eq!(host.ids, known.search(&queries, k, None, None).expect("hits").ids);
        are_near(&device, &host);
    }
    there.set_index_searching(of_gpu, "cpu").expect("a place");
    assert_eq!(search(&mut there, of_gpu, &queries(30, 7), 3).by.backend, "cpu");
    there.set_index_searching(of_gpu, "device").expect("a place");
    // More neighbours than there are vectors are as many as there are.
    there.remove_from_index(of_gpu, &(300..900).collect::<Vec<_>>()).expect("they were there");
    let found = search(&mut there, of_gpu, &queries(20, 8), 600);
    assert_eq!((found.by.backend, found.ids.iter().filter(|&&id| id < 300).count()), ("webgpu", 20 * 300));
    there.remove_from_index(of_gpu, &(0..300).collect::<Vec<_>>()).expect("they were there");
    let found = search(&mut there, of_gpu, &queries(20, 8), 3);
    assert_eq!((found.by.backend, found.by.reason.as_deref()), ("cpu", Some("no vectors")));
    assert!(found.ids.iter().all(|&id| id == u32::MAX));
    there.free_index(of_gpu);
}

#[test]
fn an_index_stays_on_the_device_until_it_changes_or_goes() {
    let mut session = webgpu();
    let index = opened(&mut session, &index().save());
    let empty = session.counters().bytes_live;
    let queries = queries(60, 9);
    let first = search(&mut session, index, &queries, 6);
    let before = session.counters();
    assert!(before.bytes_live > empty);
    assert_eq!(search(&mut session, index, &queries, 6), first);
    let again = session.counters().since(&before);
    assert_eq!((again.buffers_created, again.buffers_destroyed, again.kernels_created, again.readbacks), (0, 0, 0, 1));
    assert_eq!(again.bytes_uploaded, 60 * DIM as u64 * 4, "queries alone");
    // What was nearest goes, and nobody finds it any more.
    let gone: Vec<u32> = first.ids.iter().step_by(6).copied().collect();
    session.remove_from_index(index, &gone).expect("they were there");
    let found = search(&mut session, index, &queries, 6);
    assert_eq!(found.by.backend, "webgpu");
    assert!(found.ids.iter().all(|id| !gone.contains(id)));
    let task = session.add_to_index(index, queries.to_vec()).expect("a task");
    let Answer::Ids(ids) = ended(&mut session, task) else { panic!("no ids") };
    let found = search(&mut session, index, &queries, 1);
    assert!(found.ids.iter().filter(|id| ids.contains(id)).count() > 50, "what is like a query was added");
    assert!(session.counters().buffers_destroyed > 0);
    session.free_index(index);
    assert_eq!(session.counters().bytes_live, empty, "nothing of it is left");
}

#[test]
fn searches_go_on_beside_each_other_and_beside_changes() {
    let mut session = webgpu();
    let known = index();
    let index = opened(&mut session, &known.save());
    let empty = session.counters().bytes_live;
    let all = [queries(40, 11), queries(70, 12)];
    let expected = all.each_ref().map(|queries| known.search(queries, 4, None, None).expect("hits"));
    let filter: Vec<u8> = (0..900).map(|id| (id % 2) as u8).collect();
    let odd = known.search(&all[0], 4, None, Some(&filter)).expect("hits");
    let tasks = all.each_ref().map(|queries| session.search_index(index, queries.to_vec(), 4, None, None, None).expect("a search"));
    let filtered = session.search_index(index, all[0].to_vec(), 4, None, None, Some(filter)).expect("a search");
    // All are on their way before one of them ends.
    for task in tasks.into_iter().chain([filtered]) {
        assert!(matches!(session.resume(task, f64::INFINITY), Ok(Progress::Waiting(_))));
    }
    session.remove_from_index(index, &[expected[0].ids[0]]).expect("it was there");
    let late = session.search_index(index, all[0].to_vec(), 4, None, None, None).expect("a search");
    assert!(!hits(&mut session, late).ids.contains(&expected[0].ids[0]));
    for (task, expected) in tasks.into_iter().zip(&expected) {
        let found = hits(&mut session, task);
        assert_eq!(found.by.backend, "webgpu");
        are_near(&found, expected);
    }
    let found = hits(&mut session, filtered);
    are_near(&found, &odd);
    assert!(found.ids.iter().all(|id| id % 2 == 1));
    // One is dropped on its way, and one loses its index.
    let [dropped, lost] = [4, 5].map(|k| session.search_index(index, all[1].to_vec(), k, None, None, None).expect("a search"));
    for task in [dropped, lost] {
        session.resume(task, f64::INFINITY).expect("a slice");
    }
    session.cancel(dropped);
    session.free_index(index);
    assert_eq!(session.resume(lost, f64::INFINITY).err().expect("its index is gone").code(), "disposed");
    assert_eq!(session.counters().bytes_live, empty, "nothing of them is left");
}

#[test]
fn what_is_added_comes_whole_and_in_the_order_of_the_calls() {
    let mut session = cpu();
    let known = index();
    let index = session.open_index(&known.save()).expect("an index");
    let parts = [mixture(700, DIM, 4, 21), mixture(40, DIM, 4, 22), mixture(300, DIM, 4, 23)];
    let saved = |session: &mut Session| {
        let task = session.save_index(index, false).expect("a task");
        match ended(session, task) {
            Answer::Bytes(bytes) => bytes,
            _ => panic!("no bytes"),
        }
    };
    let filter = session.search_index(index, parts[0].to_vec(), 2, None, None, Some(vec![1; 900])).expect("a search");
    let tasks = parts.each_ref().map(|part| session.add_to_index(index, part.to_vec()).expect("a task"));
    let dropped = session.add_to_index(index, parts[0].to_vec()).expect("a task");
    // Whoever is resumed first: none ends before those that were asked for first, and nothing is seen of what is on its way.
    for task in [tasks[2], tasks[1], dropped, tasks[1]] {
        assert!(matches!(session.resume(task, 0.0), Ok(Progress::Yielded | Progress::Partly { .. })));
    }
    assert_eq!(saved(&mut session), known.save());
    session.remove_from_index(index, &[7]).expect("it was there");
    let mut next = 900;
    for (task, part) in tasks.into_iter().zip(&parts) {
        let Answer::Ids(ids) = ended(&mut session, task) else { panic!("no ids") };
        assert!(ids.iter().copied().eq(next..next + (part.len() / DIM) as u32));
        next += ids.len() as u32;
    }
    session.cancel(dropped);
    let task = session.add_to_index(index, parts[1][..DIM].to_vec()).expect("a task");
    let Answer::Ids(last) = ended(&mut session, task) else { panic!("no ids") };
    assert_eq!(last, [next], "what was given up took no ids");
    let mut one_by_one = known;
    one_by_one.remove(&[7]);
    for part in &parts {
        one_by_one.add(part).expect("ids");
    }
    one_by_one.add(&parts[1][..DIM]).expect("an id");
    assert_eq!(saved(&mut session), one_by_one.save());
    // What came since then is not meant by the filter.
    assert!(hits(&mut session, filter).ids.iter().all(|&id| id < 900 && id != 7));
}

#[test]
fn sizes_are_asked_for_without_going_through_the_vectors() {
    let count = 300_000;
    let coarse = Coarse { centroids: vec![0.0, 1.0], labels: (0..count).map(|row| row % 2).collect() };
    let points: Vec<f32> = (0..count).map(|row| (row % 2) as f32).collect();
    let mut known = Index::build(&points, 1, coarse, &options(Code::None)).expect("an index");
    let mut session = cpu();
    for _ in 0..2 {
        let file = known.save();
        let index = session.open_index(&file).expect("an index");
        let took = taken(|| {
            assert_eq!(session.index_sizes(index).expect("sizes"), [1, known.count() as u32, count]);
            assert_eq!(session.index_bytes(index).expect("bytes"), file.len());
        });
        assert!(took < 1 << 13, "{took} bytes");
        // From now on there are ids.
        known.remove(&[0, 7]);
    }
}

#[test]
fn evaluations_measure_what_searches() {
    let points = mixture(900, DIM, 4, 3);
    let queries = queries(100, 13);
    let of = |mut session: Shared| -> Evaluation {
        let index = opened(&mut session, &index().save());
        let task = session.evaluate_index(index, queries.to_vec(), points.to_vec(), 10, None, None).expect("an evaluation");
        let answer = ended(&mut session, task);
        session.free_index(index);
        match answer {
            Answer::Evaluation(evaluation) => evaluation,
            _ => panic!("no evaluation"),
        }
    };
    let [host, device] = [of(cpu().into()), of(webgpu())];
    assert_eq!((host.by.backend, device.by.backend), ("cpu", "webgpu"));
    assert!(host.recall > 0.8 && (host.recall - device.recall).abs() < 0.005, "{} {}", host.recall, device.recall);
    assert!(device.ms_per_query > 0.0 && device.ms_single > 0.0 && device.exact_ms_per_query > 0.0);
}

#[test]
fn without_room_it_is_the_cpu_and_says_so() {
    let (dim, points) = (6000, mixture(400, 6000, 2, 1));
    let index = Index::build(&points, dim, kmeans(&points, dim, 4, 1), &options(Code::Int8)).expect("an index");
    let small = Limits { binding_bytes: 64 << 10, buffer_bytes: 64 << 10, ..Limits::SMALL };
    let mut session = shared_gpu(Some(small));
    let before = session.counters().bytes_live;
    let index_there = opened(&mut session, &index.save());
    let found = search(&mut session, index_there, &points[..dim * 20], 3);
    assert_eq!(found.ids, index.search(&points[..dim * 20], 3, None, None).expect("hits").ids);
    let reason = found.by.reason.expect("a reason");
    assert!(found.by.backend == "cpu" && reason.contains("a buffer of this device has room for 16384"), "{reason}");
    assert_eq!(session.counters().bytes_live, before);
}

#[test]
fn what_is_wrong_is_said_on_every_backend() {
    for mut session in [cpu().into(), webgpu()] {
        let index = opened(&mut session, &index().save());
        let mut queries = queries(20, 3);
        queries[DIM * 7 + 2] = f32::NAN;
        let refused = |session: &mut Session, queries: &[f32], k, probes, filter| {
            session.search_index(index, queries.to_vec(), k, probes, None, filter).expect_err("it is wrong").to_string()
        };
        assert!(refused(&mut session, &queries, 3, None, None).contains("queries: component 2 of row 7 is NaN"));
        queries[DIM * 7 + 2] = 0.0;
        assert!(refused(&mut session, &queries, 0, None, None).contains("k must be at least 1"));
        assert!(refused(&mut session, &queries, 3, Some(0), None).contains("probes"));
        assert!(refused(&mut session, &queries, 3, None, Some(vec![1; 899])).contains("filter"));
        assert!(refused(&mut session, &queries, 1 << 27, None, None).contains("too many hits"));
        assert!(refused(&mut session, &queries[1..], 3, None, None).contains("multiple of dim"));
    }
}

/// Compresses so many points of 64 dimensions.
fn compressed(session: &mut Session, points: Vec<f32>, code: &str) -> Result<u32, leastwise::Error> {
    let options = CompressOptions {
        dim: 64,
        clusters: Some(4),
        method: None,
        seed: 0,
        code: code.into(),
        bits: None,
        ratio: None,
        sample: None,
        train_for: None,
    };
    let task = session.compress(points, &options)?;
    loop {
        match session.resume(task, f64::INFINITY)? {
            Progress::Answer(Answer::Index(index)) => return Ok(index),
            Progress::Answer(_) => panic!("no index"),
            _ => {}
        }
    }
}

/// Adds points and gives their ids.
fn add(session: &mut Session, index: u32, points: &[f32]) -> Vec<u32> {
    let task = session.add_to_index(index, points.to_vec()).expect("a task");
    match ended(session, task) {
        Answer::Ids(ids) => ids,
        _ => panic!("no ids"),
    }
}

/// However few came first, the model becomes that of all of them together.
#[test]
fn an_index_of_nothing_takes_vectors_one_by_one() {
    let points = mixture(300, 64, 4, 33);
    for code in ["none", "int8", "int4", "bits"] {
        let mut session = cpu();
        let blank = compressed(&mut session, Vec::new(), code).expect("an index");
        // All that came is brought into shape with every vector: `npm test` has only the first and the last come alone.
        let mut number = 0;
        while number < 256 {
            let end = if is_full() || !(16..240).contains(&number) { number + 1 } else { number + 8 };
            let ids = add(&mut session, blank, &points[number * 64..end * 64]);
            assert!(ids.into_iter().eq(number as u32..end as u32), "{code}");
            number = end;
        }
        let made = compressed(&mut session, points[..256 * 64].to_vec(), code).expect("an index");
        // From there on both have the same model.
        for index in [blank, made] {
            assert_eq!(add(&mut session, index, &points[256 * 64..]).len(), 44, "{code}");
        }
        let found = [blank, made].map(|index| search(&mut session, index, &points, 5));
        assert_eq!(found[0], found[1], "{code}");
        // What was removed is not there again with the next.
        let young = compressed(&mut session, Vec::new(), code).expect("an index");
        add(&mut session, young, &points[..10 * 64]);
        assert_eq!(session.remove_from_index(young, &[3]).expect("an index"), 1);
        assert_eq!(add(&mut session, young, &points[64..128]), [10], "{code}");
    }
}

#[test]
fn an_index_of_nothing_is_made_of_the_first_vectors() {
    let (points, more) = (mixture(500, 64, 4, 31), mixture(30, 64, 4, 32));
    for code in ["none", "int8", "int4", "bits"] {
        let mut session = cpu();
        let made = compressed(&mut session, points.clone(), code).expect("an index");
        let blank = compressed(&mut session, Vec::new(), code).expect("an index");
        assert!(add(&mut session, blank, &[]).is_empty());
        search(&mut session, blank, &more, 3);
        // A file of it waits for vectors, too.
        let task = session.save_index(blank, false).expect("a task");
        let Answer::Bytes(file) = ended(&mut session, task) else { panic!("no file") };
        let reopened = session.open_index(&file).expect("an index");
        for index in [blank, reopened] {
            // One that is dropped leaves all as it was; those that are asked for at once come one after the other.
            let dropped = session.add_to_index(index, points.clone()).expect("a task");
            let first = session.add_to_index(index, points.clone()).expect("a task");
            let second = session.add_to_index(index, more.clone()).expect("a task");
            assert!(matches!(session.resume(second, 0.0), Ok(Progress::Yielded)), "it waits");
            session.resume(dropped, 0.0).expect("a part");
            session.cancel(dropped);
            let (Answer::Ids(ids), Answer::Ids(later)) = (ended(&mut session, first), ended(&mut session, second)) else {
                panic!("no ids")
            };
            assert!(ids.into_iter().eq(0..500) && later.into_iter().eq(500..530), "{code}");
        }
        add(&mut session, made, &more);
        let expected = search(&mut session, made, &more, 5);
        assert_eq!([blank, reopened].map(|index| search(&mut session, index, &more, 5)), [expected.clone(), expected], "{code}");
    }
}

#[test]
fn clusters_are_made_of_a_sample() {
    let points = mixture(3000, 24, 6, 31);
    let asked = |sample: Option<u32>, clusters: Option<u32>| CompressOptions {
        dim: 24,
        clusters,
        method: None,
        seed: 3,
        code: "int8".into(),
        bits: None,
        ratio: None,
        sample,
        train_for: None,
    };
    let mut session = cpu();
    let mut file = |sample: Option<u32>| {
        let task = session.compress(points.clone(), &asked(sample, Some(8))).expect("a task");
        let Answer::Index(index) = ended(&mut session, task) else { panic!("no index") };
        let task = session.save_index(index, false).expect("a task");
        let Answer::Bytes(file) = ended(&mut session, task) else { panic!("no file") };
        file
    };
    let (all, some) = (file(None), file(Some(400)));
    assert_eq!(file(Some(3000)), all);
    assert_eq!(file(Some(400)), some, "the same rows");
    let index = Index::open(&some).expect("the index");
    assert_eq!((index.count(), &index.about()["trainedOn"]), (3000, &400.into()));
    assert!(index.evaluate(&points[..24 * 50], &points, 10, None).expect("an evaluation").recall > 0.95);
    let mut broken = points.clone();
    broken[24 * 2000 + 3] = f32::NAN;
    assert_eq!(session.compress(broken, &asked(Some(1500), None)).expect_err("a NaN").instance(), Some(2000));
    for (sample, clusters, message) in [
        (None, 3001, "clusters: there can't be 3001 clusters of 3000 vectors"),
        (Some(9), 10, "sample: there can't be 10 clusters of a sample of 9 vectors"),
    ] {
        let error = session.compress(points.clone(), &asked(sample, Some(clusters))).expect_err("too many");
        assert_eq!((error.code(), error.to_string()), ("invalid-option", message.to_string()));
    }
}

#[test]
fn points_are_in_memory_three_times_at_most() {
    let mut session = cpu();
    let points = mixture(1 << 14, 64, 4, 31);
    let bytes = size_of_val(&points[..]);
    // Those that were given, those of the clustering, and those of its device; and a little beside.
    let most = peak(|| {
        compressed(&mut session, points.clone(), "int8").expect("an index");
    });
    assert!(most < bytes * 7 / 2, "{most} bytes of {bytes}");
    assert!(most > 2 * bytes, "it is counted");
}

#[test]
fn too_little_memory_is_an_error_and_no_end() {
    let mut session = cpu();
    let points = mixture(1 << 14, 64, 4, 31);
    let bytes = size_of_val(&points[..]);
    let given = points.clone();
    let refused = scarcely(bytes - 1, || compressed(&mut session, given, "int8"));
    let error = refused.expect_err("too little memory");
    assert_eq!(error.code(), "out-of-memory");
    assert!(!error.to_string().contains("can be had"), "nobody knows how much there is: {error}");
    let mut device = CpuDevice::new(Precision::F32, CpuDevice::default_limits());
    let error = scarcely(1 << 10, || device.allocate(Kind::Real, 1 << 10, "points").expect_err("too little memory"));
    assert_eq!(error.to_string(), "out of device memory: points needs 4096 bytes");
    let index = compressed(&mut session, points.clone(), "int8").expect("an index");
    assert_eq!(session.index_sizes(index).expect("sizes"), [64, 1 << 14, 1 << 14]);
    let file = session.index_bytes(index).expect("bytes");
    let task = session.add_to_index(index, points).expect("a task");
    let refused = scarcely(bytes / 4, || {
        loop {
            match session.resume(task, f64::INFINITY) {
                Err(error) => break error,
                Ok(Progress::Answer(_)) => panic!("it was added"),
                Ok(_) => {}
            }
        }
    });
    assert_eq!(refused.code(), "out-of-memory");
    assert_eq!(session.index_bytes(index).expect("bytes"), file, "nothing came in");
}
