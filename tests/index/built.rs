//! Graphs that a device builds, held to the CPU's, edge by edge.
//!
//! `VK_ICD_FILENAMES=/usr/lib/chromium/vk_swiftshader_icd.json XDG_RUNTIME_DIR=/tmp cargo test --test suite index::built`

use super::data::{Random, kmeans, mixture};
use super::graphs::GRAPH;
use super::support::{SharedDevice, is_full, shared_device, shared_gpu};
use super::{of_bits, options};
use leastwise::anneal::code::Code;
use leastwise::anneal::file::INDEX;
use leastwise::anneal::graph::device::{Next, OnDevice, Portions};
use leastwise::anneal::index::Index;
use leastwise::anneal::index::graphed::Building;
use leastwise::base::container;
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Command, Device, Limits, Precision, Recording};
use leastwise::session::{Answer, Progress, Session};

fn gpu(limits: Limits) -> SharedDevice {
    shared_device(Some(limits))
}

fn twins(limits: Limits) -> Device {
    Device::Cpu(CpuDevice::new(Precision::F32, limits))
}

fn index_of(points: &[f32], dim: usize, clusters: usize) -> Index {
    Index::build(points, dim, kmeans(points, dim, clusters, 3), &options(Code::Int8)).expect("an index")
}

fn building(index: &Index, degree: u32, effort: u32) -> Building {
    let mut building = Building::new(index, Some(degree), Some(effort)).expect("a graph");
    assert!(building.prepare(index, f64::INFINITY).expect("a builder"));
    building
}

fn build(index: &mut Index, degree: u32, effort: u32) {
    let mut building = building(index, degree, effort);
    assert!(building.advance(index, f64::INFINITY).expect("a graph"));
}

fn reads(recording: &Recording) -> usize {
    recording.commands.iter().filter(|command| matches!(command, Command::Read { .. })).count()
}

/// Builds on a device; nothing is left there. Recordings that read, and batches in which vectors were inserted.
fn build_on(device: &mut Device, index: &mut Index, degree: u32, effort: u32) -> (usize, usize) {
    build_in(Portions::default(), device, index, degree, effort)
}

fn build_in(portions: Portions, device: &mut Device, index: &mut Index, degree: u32, effort: u32) -> (usize, usize) {
    let before = device.counters().bytes_live;
    let mut building = building(index, degree, effort);
    let builder = building.builder().expect("a builder");
    let mut on = OnDevice::in_portions(device, builder, portions).expect("room on the device");
    let (mut readback, mut readbacks, mut batches) = (Vec::new(), 0, 0);
    loop {
        let left = builder.left();
        match on.advance(builder, &readback) {
            Next::Run(recording) => {
                readbacks += reads(&recording);
                readback = device.run(recording).expect("a recording");
            }
            Next::Done => break,
        }
        batches += usize::from(builder.left() < left);
    }
    on.dispose(device);
    assert_eq!((builder.left(), device.counters().bytes_live), (0, before), "all are inserted, and no buffers are left");
    assert!(building.advance(index, f64::INFINITY).expect("a graph"));
    (readbacks, batches)
}

/// Neighbours in which the graphs of two indices differ.
fn differing(a: &Index, b: &Index) -> usize {
    let [a, b] = [a, b].map(|index| index.graph().expect("a graph"));
    assert_eq!((a.nodes(), a.starts()), (b.nodes(), b.starts()));
    a.rows().iter().zip(b.rows()).filter(|(a, b)| a != b).count()
}

fn agree(what: &str, device: &mut Device, points: &[f32], dim: usize, clusters: usize, degree: u32, effort: u32) {
    let (mut index, mut other) = (index_of(points, dim, clusters), index_of(points, dim, clusters));
    build(&mut index, degree, effort);
    let (readbacks, batches) = build_on(device, &mut other, degree, effort);
    assert_eq!(differing(&index, &other), 0, "{what}: bytes of rows differ");
    assert!(index.graph() == other.graph(), "{what}");
    // One for a batch, and what reads the lists.
    assert!(readbacks <= batches + 2 + points.len() / dim * 200 / (1 << 20), "{what}: {readbacks} readbacks of {batches} batches");
}

#[test]
fn devices_build_the_graph_of_the_cpu() {
    let cases = [
        (1, 3, 1, 4, 8),
        (2, 1, 1, 4, 8),
        (70, 1, 3, 5, 16),
        (400, 3, 6, 4, 1),
        (500, 17, 9, 8, 24),
        (300, 100, 5, 16, 40),
        (250, 130, 4, 64, 100),
        (350, 24, 24, 32, 96),
    ];
    for (number, (count, dim, clusters, degree, effort)) in cases.into_iter().enumerate() {
        let seed = super::data::fresh() + number as u64;
        let points = mixture(count, dim, 5, seed);
        let what = format!("seed {seed}, {count} × {dim}, degree {degree}, effort {effort}");
        agree(&what, &mut twins(Limits::SMALL), &points, dim, clusters, degree, effort);
        // Adapters in software play a lane after the other.
        if is_full() || number % 3 == 1 || number == 7 {
            let limits = if number % 2 == 0 { Limits::SMALL } else { Limits::WEBGPU };
            agree(&format!("{what}, on the adapter"), &mut gpu(limits), &points, dim, clusters, degree, effort);
        }
    }
}

/// Recordings of three walks, dispatches of two workgroups, and uploads of a few vectors.
#[test]
fn recordings_of_any_size_make_the_same_graph() {
    let (dim, degree, effort, seed) = (24, 8, 32, super::data::fresh());
    let points = mixture(600, dim, 5, seed);
    let mut expected = index_of(&points[..400 * dim], dim, 7);
    build(&mut expected, degree, effort);
    let before = expected.save();
    expected.add(&points[400 * dim..]).expect("ids");
    build(&mut expected, degree, effort);
    let walk = (dim * effort as usize * (11 + degree as usize)) as u64;
    for portions in [
        Portions { work: 3 * walk, words: 64, ..Portions::default() },
        Portions { groups: 2, words: 1, ..Portions::default() },
        Portions { work: 1, ..Portions::default() },
    ] {
        for mut device in [gpu(Limits::SMALL), twins(Limits::WEBGPU).into()] {
            let mut index = Index::open(&before).expect("an index");
            index.add(&points[400 * dim..]).expect("ids");
            let (readbacks, batches) = build_in(portions, &mut device, &mut index, degree, effort);
            assert!(index.graph() == expected.graph(), "seed {seed}, {portions:?}");
            assert!(readbacks > batches, "{readbacks} readbacks of {batches} batches");
        }
    }
}

/// Products up to 4096 · 127², which f32 rounds, and rows that are loaded in several turns.
#[test]
fn long_vectors_agree() {
    for (count, dim) in [(200, 1100), (100, 2000), (60, 4096)] {
        let seed = super::data::fresh();
        let mut random = Random(seed);
        let points: Vec<f32> = (0..count * dim).map(|_| [1.0, -1.0, 0.97, 0.5][random.below(4)]).collect();
        let what = format!("seed {seed}, {count} × {dim}");
        for mut device in [gpu(Limits::SMALL), twins(Limits::WEBGPU).into()] {
            agree(&what, &mut device, &points, dim, 3, 8, 24);
        }
    }
}

/// A file may name a neighbour over and over; the graph that goes on from it is the same everywhere.
#[test]
fn files_that_repeat_neighbours_go_on_alike() {
    let (dim, clusters) = (13, 6);
    let points = mixture(640, dim, 5, super::data::fresh());
    let mut index = index_of(&points[..600 * dim], dim, clusters);
    build(&mut index, 8, 24);
    let file = index.save();
    let mut sections = container::read(&INDEX, &file).expect("sections");
    let rows = sections.iter_mut().find(|section| section.kind == GRAPH).expect("the graph").bytes.to_mut();
    let first = 16 + 4 * index.clusters();
    // Neighbour 0, eight times.
    let end = first + (rows.len() - first) * 3 / 4;
    rows[first..end].fill(0);
    let file = container::write(&INDEX, &sections);
    let grown = |device: Option<&mut Device>| {
        let mut index = Index::open(&file).expect("an index");
        index.add(&points[600 * dim..]).expect("ids");
        match device {
            Some(device) => drop(build_on(device, &mut index, 8, 24)),
            None => build(&mut index, 8, 24),
        }
        index
    };
    let expected = grown(None);
    for mut device in [gpu(Limits::WEBGPU), twins(Limits::SMALL).into()] {
        assert!(grown(Some(&mut device)).graph() == expected.graph());
    }
}

/// Vectors of length 1, as of cosines, and the same vectors over and over.
#[test]
fn equal_and_normalised_vectors_agree() {
    let dim = 12;
    let mut unit = mixture(400, dim, 6, super::data::fresh());
    for row in unit.chunks_exact_mut(dim) {
        let length = row.iter().map(|value| value * value).sum::<f32>().sqrt();
        row.iter_mut().for_each(|value| *value /= length);
    }
    let same: Vec<f32> = (0..500).flat_map(|k| unit[k % 23 * dim..][..dim].to_vec()).collect();
    let one: Vec<f32> = (0..300).flat_map(|_| unit[..dim].to_vec()).collect();
    for (what, points) in [("normalised", &unit), ("23 vectors", &same), ("one vector", &one)] {
        for mut device in [gpu(Limits::SMALL), twins(Limits::WEBGPU).into()] {
            agree(what, &mut device, points, dim, 7, 6, 20);
        }
    }
}

#[test]
fn graphs_grow_on_devices_after_removals() {
    let (dim, seed) = (19, super::data::fresh());
    let points = mixture(700, dim, 5, seed);
    let mut random = Random(seed);
    let gone: Vec<u32> = (0..80).map(|_| random.below(500) as u32).collect();
    let grown = |device: Option<&mut Device>| {
        let mut index = index_of(&points[..500 * dim], dim, 9);
        build(&mut index, 8, 24);
        index.remove(&gone);
        index.add(&points[500 * dim..]).expect("ids");
        match device {
            Some(device) => drop(build_on(device, &mut index, 8, 24)),
            None => build(&mut index, 8, 24),
        }
        index
    };
    let expected = grown(None);
    let removed = expected.graph().expect("a graph").removed();
    assert!(removed > 0 && expected.graph().expect("a graph").nodes() as usize == expected.count());
    for mut device in [gpu(Limits::WEBGPU), twins(Limits::SMALL).into()] {
        let index = grown(Some(&mut device));
        assert!(index.graph() == expected.graph(), "seed {seed}");
    }
}

/// A graph that is whole has nothing to insert: what the device makes of it is what was there.
#[test]
fn nothing_to_insert_changes_nothing() {
    let points = mixture(200, 5, 3, 8);
    let mut index = index_of(&points, 5, 4);
    build(&mut index, 8, 24);
    let graph = index.graph().cloned();
    build_on(&mut twins(Limits::SMALL), &mut index, 8, 24);
    assert!(index.graph() == graph.as_ref());
}

#[test]
fn what_has_no_room_is_refused_in_words() {
    let points = mixture(2000, 16, 5, 9);
    let index = Index::build(&points, 16, kmeans(&points, 16, 8, 3), &of_bits(5.0)).expect("an index");
    let refused = |limits: Limits, degree: u32, effort: u32| {
        let mut building = building(&index, degree, effort);
        let mut device = twins(limits);
        let error = OnDevice::new(&mut device, building.builder().expect("a builder")).map(|_| ()).expect_err("no room");
        assert_eq!((error.code(), device.counters().bytes_live), ("limits", 0));
        error.to_string()
    };
    let tiny = |bytes: u64| Limits { binding_bytes: bytes, buffer_bytes: bytes, ..Limits::SMALL };
    for (limits, degree, effort, why) in [
        (tiny(1 << 12), 16, 64, "vectors of the graph take 8000 numbers, and a buffer of this device has room for 1024"),
        (tiny(1 << 16), 16, 64, "lists of the graph take 46000 numbers, and a buffer of this device has room for 16384"),
        (Limits::WEBGPU, 16, 257, "the graph's beam is 257 vectors, and kernels have room for 256"),
    ] {
        let words = refused(limits, degree, effort);
        assert!(words.contains(why), "{words}");
    }
}

#[test]
fn longer_vectors_than_kernels_have_room_for_are_refused() {
    let points = mixture(20, 4097, 2, 11);
    let index = index_of(&points, 4097, 2);
    let mut building = building(&index, 4, 8);
    let error = OnDevice::new(&mut twins(Limits::WEBGPU), building.builder().expect("a builder")).map(|_| ()).expect_err("no room");
    assert!(error.to_string().contains("the graph's vectors have 4097 components, and kernels have room for 4096"), "{error}");
}

/// Goes on until a task is over; the bytes, if it was a file's.
fn ended(session: &mut Session, task: u32) -> Vec<u8> {
    loop {
        match session.resume(task, f64::INFINITY).expect("a task that ends well") {
            Progress::Waiting(signal) => session.device_mut().block_on(&signal).expect("a device"),
            Progress::Answer(Answer::Bytes(bytes)) => return bytes,
            Progress::Values(_) => return Vec::new(),
            _ => {}
        }
    }
}

fn saved(session: &mut Session, index: u32) -> Vec<u8> {
    let task = session.save_index(index, false).expect("a task");
    ended(session, task)
}

fn opened(session: &mut Session, file: &[u8], place: &str) -> u32 {
    let index = session.open_index(file).expect("an index");
    session.set_index_searching(index, place).expect("a place");
    index
}

#[test]
fn sessions_build_where_they_are_told_and_say_where_it_was() {
    let (dim, points) = (9, mixture(400, 9, 4, 5));
    let file = index_of(&points, dim, 6).save();
    let expected = |gone: &[u32]| {
        let mut index = Index::open(&file).expect("an index");
        index.remove(gone);
        build(&mut index, 6, 20);
        index.save()
    };
    let mut session = shared_gpu(Some(Limits::WEBGPU));
    let empty = session.counters().bytes_live;
    let few = Some("fewer than 4096 vectors to insert");
    for (place, by, reason) in [("device", "webgpu", None), ("cpu", "cpu", None), ("auto", "cpu", few)] {
        let index = opened(&mut session, &file, place);
        let task = session.build_index_graph(index, Some(6), Some(20)).expect("a task");
        ended(&mut session, task);
        let info: serde_json::Value = serde_json::from_str(&session.index_info(index).expect("its info")).expect("JSON");
        let graph = &info["graph"];
        assert_eq!((graph["builtBy"].as_str(), graph["reason"].as_str()), (Some(by), reason), "{place}");
        assert!(saved(&mut session, index) == expected(&[]), "{place}");
        session.free_index(index);
    }
    // One is dropped on its way, one begins anew since vectors went, and one loses its index.
    let index = opened(&mut session, &file, "device");
    let tasks = [0, 1, 2].map(|_| session.build_index_graph(index, Some(6), Some(20)).expect("a task"));
    for task in tasks {
        while !matches!(session.resume(task, f64::INFINITY).expect("a slice"), Progress::Waiting(_)) {}
    }
    assert!(session.counters().bytes_live > empty);
    session.cancel(tasks[0]);
    session.remove_from_index(index, &[3, 5, 77]).expect("they were there");
    ended(&mut session, tasks[1]);
    assert!(saved(&mut session, index) == expected(&[3, 5, 77]));
    session.free_index(index);
    assert_eq!(session.resume(tasks[2], f64::INFINITY).err().expect("its index is gone").code(), "disposed");
    assert_eq!(session.counters().bytes_live, empty, "nothing of them is left");
}
