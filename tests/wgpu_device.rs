//! The wgpu device, on whatever adapter there is (CI: SwiftShader, the software Vulkan device that Chromium ships).
//!
//! `VK_ICD_FILENAMES=/usr/lib/chromium/vk_swiftshader_icd.json XDG_RUNTIME_DIR=/tmp cargo test --test wgpu_device`
//!
//! Without an adapter these tests fail: a backend that was not tested is not a backend that works.

use leastwise::device::{
    Access, BufferId, Command, Counters, Device, DeviceError, Dispatch, KernelId, KernelSource, KernelText, Kind, Limits, Playing,
    Precision, Recording, Structure, binding,
    cpu::{Bindings, CpuDevice, Workgroups},
    wgpu::{Internals, WgpuDevice},
};

use crate::support::refusals::{self, Written, dispatch, gather, kernels, message, recording, slice, source, twice, uses};

const RAGGED: [u32; 8] = [1, 3, 63, 64, 65, 257, 1000, 16_385];

fn gpu(limits: Option<Limits>) -> Device {
    Device::Wgpu(Box::new(WgpuDevice::open_blocking(limits).expect("these tests need a WebGPU adapter: see the top of this file")))
}

/// A GPU with its own limits, one with small ones, and a CPU with the same small ones.
fn every_device() -> Vec<Device> {
    vec![gpu(None), gpu(Some(Limits::SMALL)), Device::Cpu(CpuDevice::new(Precision::F32, Limits::SMALL))]
}

fn wgpu(device: &Device) -> &WgpuDevice {
    match device {
        Device::Wgpu(device) => device,
        _ => panic!("not WebGPU"),
    }
}

fn internals(device: &Device) -> Internals {
    wgpu(device).internals()
}

/// The kernel with another text or other access.
fn with(written: Written, wgsl: Option<&str>, access: [Access; binding::COUNT]) -> Written {
    let wgsl = wgsl.map_or(written.source.texts().unwrap()[0].wgsl.to_string(), Into::into);
    Written { source: KernelSource { structure: Structure::Text(KernelText::new(&wgsl, access)), ..written.source }, ..written }
}

/// `v[i] = v[i] / 2 + 1`, unless the flag at `state[0]` is set.
fn relax() -> Written {
    let wgsl = "
        @group(0) @binding(5) var<storage, read_write> v: array<real>;
        @group(0) @binding(7) var<storage, read> state: array<real>;
        struct Args { none: u32 }
        @compute @workgroup_size(group_size)
        fn main(@builtin(global_invocation_id) id: vec3<u32>) {
            let i = item(id);
            if (i >= params.count || state[0] != 0.0) { return; }
            v[i] = 0.5 * v[i] + 1.0;
        }";
    fn twin(work: &Workgroups, mut slots: Bindings<f32>) {
        let (v, state) = (slots.write(binding::VECTOR_OUT), slots.read(binding::STATE));
        if state[0] == 0.0 {
            work.items().for_each(|i| v[i] = 0.5 * v[i] + 1.0);
        }
    }
    source("relax", wgsl, uses(&[(binding::VECTOR_OUT, Access::ReadWrite), (binding::STATE, Access::Read)]), twin)
}

/// Counts in `state[1]`, and sets the flag when the first argument is reached.
fn count() -> Written {
    let wgsl = "
        @group(0) @binding(7) var<storage, read_write> state: array<real>;
        struct Args { goal: u32 }
        @compute @workgroup_size(group_size)
        fn main(@builtin(local_invocation_index) lane: u32) {
            if (lane != 0u || state[0] != 0.0) { return; }
            state[1] += 1.0;
            if (state[1] >= real(params.args.goal)) { state[0] = 1.0; }
        }";
    fn twin(work: &Workgroups, mut slots: Bindings<f32>) {
        let state = slots.write(binding::STATE);
        if state[0] == 0.0 {
            state[1] += 1.0;
            state[0] = f32::from(state[1] >= work.params.words[0] as f32);
        }
    }
    source("count", wgsl, uses(&[(binding::STATE, Access::ReadWrite)]), twin)
}

fn upload(buffer: BufferId, data: &[f64]) -> Command {
    Command::UploadReals { buffer, offset: 0, data: data.to_vec() }
}

fn ramp(n: u32) -> Vec<f64> {
    (0..n).map(|i| f64::from(i % 511) * 0.25 - 17.0).collect()
}

#[test]
fn what_goes_in_comes_back_at_every_size() {
    for mut device in every_device() {
        let ids = kernels(&mut device, &[twice(), gather()]).unwrap();
        for n in RAGGED {
            let [a, b, c] = ["a", "b", "c"].map(|label| device.allocate(Kind::Real, n, label).unwrap());
            let index = device.allocate(Kind::Index, n, "index").unwrap();
            let doubled = dispatch(ids[0], n, &[(binding::VECTOR_IN, slice(a, 0, n)), (binding::VECTOR_OUT, slice(b, 0, n))], 5);
            let bound = [(binding::INDEX, slice(index, 0, n)), (binding::VECTOR_IN, slice(b, 0, n)), (binding::VECTOR_OUT, slice(c, 0, n))];
            let read = |buffer| Command::Read { slice: slice(buffer, 0, n) };
            let commands = [
                upload(a, &ramp(n)),
                Command::UploadIndices { buffer: index, offset: 0, data: (0..n).rev().collect() },
                Command::Dispatch(doubled),
                Command::Dispatch(dispatch(ids[1], n, &bound, 0)),
                read(c),
            ];
            let expected: Vec<f64> = ramp(n).iter().rev().map(|x| 2.0 * x + 5.0).collect();
            assert_eq!(device.run(recording(commands)).unwrap(), expected, "{n}");
            // Copy all, clear the second half, and write one element over that.
            let commands = [
                Command::Copy { from: slice(a, 0, n), to: slice(c, 0, n) },
                Command::Clear { slice: slice(c, n / 2, n - n / 2) },
                Command::UploadReals { buffer: c, offset: n - 1, data: vec![9.0] },
                read(c),
            ];
            let mut expected = ramp(n);
            expected[n as usize / 2..].fill(0.0);
            expected[n as usize - 1] = 9.0;
            assert_eq!(device.run(recording(commands)).unwrap(), expected, "{n}");
            [a, b, c, index].into_iter().for_each(|buffer| device.free(buffer));
        }
        let counters = device.counters();
        assert_eq!((counters.bytes_live, counters.buffers_created, counters.buffers_destroyed), (0, 32, 32));
        assert_eq!(counters.readbacks, 16);
    }
}

#[test]
fn counters_are_those_of_the_cpu() {
    let play = |mut device: Device| {
        let id = kernels(&mut device, &[twice(), twice()]).unwrap()[0];
        let [a, b] = ["a", "b"].map(|label| device.allocate(Kind::Real, 100, label).unwrap());
        let step = dispatch(id, 100, &[(binding::VECTOR_IN, slice(a, 0, 100)), (binding::VECTOR_OUT, slice(b, 0, 100))], 0);
        let commands =
            [upload(a, &ramp(100)), Command::Dispatch(step.clone()), Command::Dispatch(step), Command::Read { slice: slice(b, 64, 7) }];
        assert_eq!(device.run(recording(commands)).unwrap().len(), 7);
        device.free(a);
        device.free(a);
        device.counters()
    };
    let expected = Counters {
        submissions: 1,
        dispatches: 2,
        rounds: 0,
        round_dispatches: 0,
        readbacks: 1,
        bytes_read_back: 28,
        matrix_readbacks: 0,
        matrix_bytes_read_back: 0,
        bytes_uploaded: 400,
        buffers_created: 2,
        buffers_destroyed: 1,
        kernels_created: 1,
        bytes_live: 400,
        bytes_peak: 800,
    };
    every_device().into_iter().for_each(|device| assert_eq!(play(device), expected));
}

#[test]
fn a_grid_has_two_dimensions_when_it_must() {
    let mut device = gpu(Some(Limits::SMALL));
    assert_eq!(device.limits(), Limits::SMALL);
    let id = kernels(&mut device, &[twice()]).unwrap()[0];
    // More than 256 workgroups of 64: a second row that is not full, and then a third.
    for n in [16_384, 16_385, 40_000] {
        let [a, b] = ["a", "b"].map(|label| device.allocate(Kind::Real, n, label).unwrap());
        let step = dispatch(id, n, &[(binding::VECTOR_IN, slice(a, 0, n)), (binding::VECTOR_OUT, slice(b, 0, n))], 1);
        let commands = [upload(a, &ramp(n)), Command::Dispatch(step), Command::Read { slice: slice(b, 0, n) }];
        let expected: Vec<f64> = ramp(n).iter().map(|x| 2.0 * x + 1.0).collect();
        assert_eq!(device.run(recording(commands)).unwrap(), expected);
    }
    let a = device.allocate(Kind::Real, 64, "a").unwrap();
    let all = device.limits().max_items() as u32;
    let refused = message(device.run(recording([Command::Dispatch(dispatch(id, all + 1, &[(binding::VECTOR_IN, slice(a, 0, 64))], 0))])));
    assert!(refused.contains("`twice` over 4194305 items, 4194304 fit"), "{refused}");
}

#[test]
fn uploads_keep_their_place_between_dispatches() {
    for mut device in every_device() {
        let id = kernels(&mut device, &[twice()]).unwrap()[0];
        let [a, b, c] = ["a", "b", "c"].map(|label| device.allocate(Kind::Real, 2, label).unwrap());
        let to =
            |out| Command::Dispatch(dispatch(id, 2, &[(binding::VECTOR_IN, slice(a, 0, 2)), (binding::VECTOR_OUT, slice(out, 0, 2))], 0));
        let sum =
            [upload(a, &[1.0, 2.0]), to(b), upload(a, &[10.0, 20.0]), to(c), Command::Copy { from: slice(b, 0, 1), to: slice(c, 1, 1) }];
        let commands = sum.into_iter().chain([Command::Read { slice: slice(c, 0, 2) }]);
        assert_eq!(device.run(recording(commands)).unwrap(), [20.0, 2.0]);
    }
}

/// Buffers for a `Repeat` whose flag is set by its `stop`-th body.
fn repetition(device: &mut Device, n: u32, stop: u32, max: u32) -> (Recording, [BufferId; 2]) {
    let ids = kernels(device, &[relax(), count()]).unwrap();
    let v = device.allocate(Kind::Real, n, "v").unwrap();
    let state = device.allocate(Kind::Real, 2, "state").unwrap();
    let relaxed = dispatch(ids[0], n, &[(binding::VECTOR_OUT, slice(v, 0, n)), (binding::STATE, slice(state, 0, 2))], 0);
    let counted = Dispatch { single_group: true, ..dispatch(ids[1], 1, &[(binding::STATE, slice(state, 0, 2))], stop) };
    let body = vec![Command::Dispatch(relaxed), Command::Dispatch(counted)];
    let after = dispatch(ids[0], n, &[(binding::VECTOR_OUT, slice(v, 0, n)), (binding::STATE, slice(state, 0, 2))], 0);
    let commands = [
        upload(state, &[0.0, 0.0]),
        Command::Clear { slice: slice(v, 0, n) },
        Command::Repeat { body, max, until: (state, 0) },
        // Whatever follows sees the flag set, and has its own uniform block.
        Command::Dispatch(after),
        Command::Copy { from: slice(state, 1, 1), to: slice(v, 0, 1) },
        Command::Read { slice: slice(v, 0, n) },
    ];
    (recording(commands), [v, state])
}

#[test]
fn a_repeat_stops_at_its_flag_whatever_the_chunks() {
    for stop in [1, 2, 3, 7, 40, 333] {
        let mut results = Vec::new();
        for mut device in every_device() {
            let (repeat, _) = repetition(&mut device, 100, stop, 1000);
            // The second time, the pace of the first is known and the chunks differ.
            let first = device.run(repeat.clone()).unwrap();
            assert_eq!(first[0], f64::from(stop), "the body that sets the flag is the last one that works");
            assert_eq!(device.run(repeat).unwrap(), first);
            if let Device::Wgpu(device) = &device {
                assert!(device.counters().dispatches <= 2 * (2 * (2 * u64::from(stop) + 1024) + 1), "{:?}", device.counters());
            }
            results.push(first);
        }
        assert!(results.iter().all(|result| *result == results[0]), "{stop}");
    }
}

#[test]
fn a_repeat_ends_at_max_without_asking_for_the_flag() {
    for mut device in every_device() {
        for max in [0, 1, 2] {
            let (repeat, _) = repetition(&mut device, 10, 1000, max);
            assert_eq!(device.run(repeat).unwrap()[0], f64::from(max));
        }
        if let Device::Wgpu(device) = &device {
            assert_eq!(device.internals().flag_reads, 0);
            assert_eq!(device.counters().submissions, 3, "one for each playing");
        }
    }
    let mut device = gpu(None);
    let (repeat, _) = repetition(&mut device, 10, 1000, 25);
    assert_eq!(device.run(repeat).unwrap()[0], 25.0);
    assert_eq!(device.counters().dispatches, 51);
}

#[test]
fn an_enqueued_recording_does_everything_and_reads_nothing() {
    let mut device = gpu(None);
    let (repeat, [v, _]) = repetition(&mut device, 10, 4, 20);
    device.enqueue(&repeat).unwrap();
    let counters = device.counters();
    assert_eq!((counters.submissions, counters.dispatches, counters.readbacks), (1, 41, 0));
    assert_eq!(device.run(recording([Command::Read { slice: slice(v, 0, 1) }])).unwrap(), [4.0]);
}

#[test]
fn playing_again_makes_nothing_anew() {
    let mut device = gpu(None);
    let (repeat, buffers) = repetition(&mut device, 100, 5, 50);
    device.run(repeat.clone()).unwrap();
    device.run(repeat.clone()).unwrap();
    let before = internals(&device);
    assert_eq!(before.bind_groups_created, 2, "one for each kernel: equal blocks of one buffer share it");
    assert_eq!(before.params_uploads, 1);
    for _ in 0..5 {
        device.run(repeat.clone()).unwrap();
    }
    let after = internals(&device);
    // How many flags are on their way at once is a question of pace, two at most: each is read through a buffer of the pool.
    assert!(after.pooled_buffers_created - before.pooled_buffers_created <= 2, "{after:?}, {before:?}");
    let lasting = |internals| Internals { flag_reads: 0, pooled_buffers: 0, pooled_bytes: 0, pooled_buffers_created: 0, ..internals };
    assert_eq!(lasting(after), lasting(before));
    // Other words: the same bind groups, and one upload of all uniform blocks.
    let mut other = repeat.clone();
    let Command::Dispatch(last) = &mut other.commands[3] else { panic!("a dispatch") };
    last.words[7] = 1;
    device.run(other).unwrap();
    let other = internals(&device);
    assert!(other.pooled_buffers_created - before.pooled_buffers_created <= 2, "{other:?}, {before:?}");
    assert_eq!(Internals { params_uploads: 1, ..lasting(other) }, lasting(before));
    buffers.into_iter().for_each(|buffer| device.free(buffer));
    assert_eq!(internals(&device).bind_groups_live, 0, "bind groups die with the buffers that they name");
}

#[test]
fn a_playing_that_is_dropped_gives_back_what_it_borrowed() {
    let mut device = gpu(None);
    let (repeat, [v, _]) = repetition(&mut device, 100, 30, 1000);
    let expected = device.run(repeat.clone()).unwrap();
    for pieces in [1, 1, 2, 2, 3, 3] {
        let mut play = device.start(repeat.clone());
        for _ in 0..pieces {
            match device.resume(&mut play, f64::INFINITY).unwrap() {
                Playing::Waiting(signal) => device.block_on(&signal).unwrap(),
                _ => break,
            }
        }
    }
    // Two at a time, taking turns, while mappings of the dropped ones are still on their way.
    let commands = [upload(v, &[3.0]), Command::Read { slice: slice(v, 0, 1) }];
    let mut long = device.start(repeat.clone());
    let mut results = Vec::new();
    loop {
        let values = match device.resume(&mut long, f64::INFINITY).unwrap() {
            Playing::Waiting(signal) => {
                if results.is_empty() {
                    results = device.run(recording([Command::Read { slice: slice(v, 1, 1) }])).unwrap();
                }
                device.block_on(&signal).unwrap();
                continue;
            }
            Playing::Finished(values) => values,
            Playing::Yielded => panic!("a GPU does not yield"),
        };
        assert_eq!(values, expected);
        break;
    }
    assert_eq!(device.run(recording(commands)).unwrap(), [3.0]);
    assert_eq!(device.run(repeat).unwrap(), expected);
    let pooled = internals(&device);
    assert!(pooled.pooled_buffers_created <= 16, "{pooled:?}");
    assert!(matches!(device.resume(&mut long, 0.0), Ok(Playing::Finished(values)) if values.is_empty()));
}

/// What one device refuses, each refuses with the same words.
#[test]
fn what_is_not_valid_is_refused_by_name_everywhere() {
    // Those of one alignment.
    let refusals: Vec<_> = every_device().iter_mut().skip(1).map(refusals::refused).collect();
    assert!(refusals.iter().all(|other| *other == refusals[0]), "{refusals:#?}");
    let mut device = gpu(Some(Limits::SMALL));
    let index = device.allocate(Kind::Index, 256, "index").unwrap();
    // Indices come back as they are, however large.
    let indices = Command::UploadIndices { buffer: index, offset: 0, data: vec![7, u32::MAX] };
    let read = Command::Read { slice: slice(index, 0, 2) };
    assert_eq!(device.run(recording([indices, read])).unwrap(), [7.0, f64::from(u32::MAX)]);
}

/// A kernel in f32 may not write double-floats. The CPU has none, and refuses it all the same.
#[test]
fn a_kernel_in_f32_writes_no_double_floats() {
    let mut device = Device::Cpu(CpuDevice::new(Precision::F64, Limits::SMALL));
    let in_doubles = Written { source: twice().source.in_doubles(), ..twice() };
    let ids = kernels(&mut device, &[twice(), in_doubles]).unwrap();
    let [a, real, inner] = [Kind::Real, Kind::Real, Kind::Inner].map(|kind| device.allocate(kind, 64, "numbers").unwrap());
    let double = device.allocate(Kind::Double, 64, "twice as long").unwrap();
    let mut run = |kernel, to| {
        let bound = [(binding::VECTOR_IN, slice(a, 0, 64)), (binding::VECTOR_OUT, slice(to, 0, 64))];
        device.run(recording([Command::Dispatch(dispatch(kernel, 64, &bound, 0))])).map_err(|error| error.to_string())
    };
    for (kernel, to) in [(ids[0], real), (ids[0], inner), (ids[1], real), (ids[1], inner), (ids[1], double)] {
        assert_eq!(run(kernel, to), Ok(vec![]));
    }
    let words = "the kernel is in f32, and would leave old low parts behind double-floats";
    assert_eq!(run(ids[0], double), Err(format!("invalid recording: kernel `twice`, binding 5, `twice as long`: {words}")));
}

#[test]
fn a_buffer_that_was_freed_is_unknown() {
    let mut device = gpu(None);
    let (repeat, [v, state]) = repetition(&mut device, 100, 500, 1000);
    let mut play = device.start(repeat);
    assert!(matches!(device.resume(&mut play, f64::INFINITY), Ok(Playing::Waiting(_))));
    device.free(v);
    let refused = loop {
        match device.resume(&mut play, f64::INFINITY) {
            Ok(Playing::Waiting(signal)) => device.block_on(&signal).unwrap(),
            Ok(_) => panic!("it played with a buffer that is gone"),
            Err(error) => break error,
        }
    };
    assert_eq!(refused, DeviceError::UnknownBuffer(v.0));
    assert_eq!(device.resume(&mut play, f64::INFINITY).err(), Some(DeviceError::UnknownBuffer(v.0)), "it stays over");
    assert_ne!(device.allocate(Kind::Real, 4, "new").unwrap(), v);
    let counters = device.counters();
    assert_eq!((counters.buffers_created, counters.buffers_destroyed, counters.bytes_live), (3, 1, 8 + 16));
    device.free(state);
    assert!(message(device.run(recording([upload(state, &[1.0])]))).contains("disposed"));
}

#[test]
fn empty_slices_and_nothing_to_do_are_fine() {
    for mut device in every_device() {
        let ids = kernels(&mut device, &[twice(), count()]).unwrap();
        let [a, b] = ["a", "b"].map(|label| device.allocate(Kind::Real, 64, label).unwrap());
        let none = device.allocate(Kind::Real, 0, "none").unwrap();
        let empty = [(binding::VECTOR_IN, slice(none, 0, 0)), (binding::VECTOR_OUT, slice(none, 0, 0))];
        let unbound = Command::Dispatch(dispatch(ids[0], 0, &[], 0));
        // One workgroup over no items still runs: a sum of nothing is 0, and somebody has to write it.
        let once = Dispatch { single_group: true, ..dispatch(ids[1], 0, &[(binding::STATE, slice(b, 0, 2))], 9) };
        let commands = [
            upload(none, &[]),
            Command::Clear { slice: slice(a, 64, 0) },
            Command::Copy { from: slice(none, 0, 0), to: slice(a, 0, 0) },
            Command::Dispatch(dispatch(ids[0], 0, &empty, 0)),
            unbound,
            Command::Dispatch(once),
            Command::Read { slice: slice(b, 1, 1) },
        ];
        assert_eq!(device.run(recording(commands)).unwrap(), [1.0]);
        assert!(device.run(recording([Command::Read { slice: slice(a, 3, 0) }])).unwrap().is_empty());
        assert!(device.run(Recording::new()).unwrap().is_empty());
        if let Device::Wgpu(device) = &device {
            assert_eq!(device.counters().dispatches, 1);
        }
    }
}

#[test]
fn equal_kernels_are_one() {
    for mut device in every_device() {
        let renamed = Written { source: KernelSource { name: "another name".into(), ..twice().source }, ..twice() };
        let other_access = with(twice(), None, uses(&[(4, Access::Read), (5, Access::ReadWrite), (7, Access::Read)]));
        let ids = kernels(&mut device, &[twice(), renamed, gather(), other_access]).unwrap();
        assert_eq!(ids[0], ids[1]);
        assert!(ids[2] != ids[0] && ids[3] != ids[0] && ids[3] != ids[2]);
        assert_eq!(kernels(&mut device, &[gather()]).unwrap()[0], ids[2]);
    }
}

/// A dispatch for `Device::compile`.
fn naming(kernel: KernelId) -> Recording {
    recording([Command::Dispatch(dispatch(kernel, 1, &[], 0))])
}

#[test]
fn kernels_are_compiled_when_a_recording_names_them() {
    let mut device = gpu(None);
    let ids = kernels(&mut device, &[twice(), gather()]).unwrap();
    assert_eq!(device.counters().kernels_created, 0);
    for _ in 0..2 {
        assert!(device.compile(&naming(ids[1])).unwrap().is_none(), "natively they are compiled at once");
        assert_eq!(device.counters().kernels_created, 1);
    }
}

#[test]
fn a_refused_kernel_says_why_and_harms_no_other() {
    let mut device = gpu(None);
    let mut broken = with(
        twice(),
        Some("@compute @workgroup_size(1) fn main() { let x: u32 = 1.5; } struct Args { none: u32 }"),
        twice().source.access(),
    );
    broken.source.name = "broken".into();
    let compiled = |device: &mut Device, written: Written| {
        let id = kernels(device, &[written]).unwrap()[0];
        device.compile(&naming(id)).map(|_| id)
    };
    let first = compiled(&mut device, twice()).unwrap();
    let Err(DeviceError::Kernel { kernel, message }) = compiled(&mut device, broken) else { panic!("it was accepted") };
    assert_eq!(kernel, "broken");
    let (said, before) = message.split_once("(the kernel's own text begins after line ").expect("where the prelude ends");
    let before: u32 = before.trim_end_matches(')').parse().unwrap();
    assert!(said.contains("u32") && said.contains(&format!("wgsl:{}:", before + 1)), "{message}");
    // Writes what it said it would only read.
    let wrong = with(twice(), None, uses(&[(4, Access::Read), (5, Access::Read)]));
    assert!(matches!(compiled(&mut device, wrong), Err(DeviceError::Kernel { .. })));
    assert_eq!(compiled(&mut device, twice()), Ok(first));
    assert_eq!(device.counters().kernels_created, 3);
}

#[test]
fn memory_that_is_not_there_is_named() {
    let mut device = gpu(Some(Limits::SMALL));
    let refused = device.allocate(Kind::Real, 300_000, "jacobian of `arap`").unwrap_err();
    assert_eq!(refused, DeviceError::OutOfMemory { what: "jacobian of `arap`".into(), needed: 1_200_000, limit: Some(1 << 20) });
    assert_eq!(refused.to_string(), "out of device memory: jacobian of `arap` needs 1200000 bytes, 1048576 can be had");
    assert_eq!(device.counters(), Counters::default());
    let mut device = gpu(None);
    let limit = device.limits().buffer_bytes;
    if limit < 4 * u64::from(u32::MAX) {
        assert!(matches!(device.allocate(Kind::Real, u32::MAX, "everything"), Err(DeviceError::OutOfMemory { .. })));
    }
}

#[test]
fn a_disposed_device_answers_that_it_is_lost() {
    let Device::Wgpu(mut device) = gpu(None) else { panic!("a GPU") };
    assert!(!device.adapter().is_empty());
    device.allocate(Kind::Real, 100, "a").unwrap();
    device.allocate(Kind::Real, 100, "b").unwrap();
    device.dispose();
    device.dispose();
    assert_eq!((device.counters().buffers_destroyed, device.counters().bytes_live), (2, 0));
    assert_eq!((device.internals().pooled_buffers, device.internals().bind_groups_live), (0, 0));
    let lost = DeviceError::Lost("it was disposed".into());
    assert_eq!(device.allocate(Kind::Real, 1, "c"), Err(lost.clone()));
    assert_eq!(device.kernels(&[twice().source]), Err(lost.clone()));
    assert_eq!(device.enqueue(&Recording::new()), Err(lost));
}
