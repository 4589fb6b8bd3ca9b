//! Recordings that no device plays, and the words in which each refuses them.

use leastwise::device::{
    Access, BufferId, Command, Device, DeviceError, Dispatch, Elements, KernelId, KernelSource, Kind, PARAM_WORDS, Recording, Slice,
    binding,
    cpu::{Bindings, Body, Twin, Workgroups},
};

pub fn uses(slots: &[(usize, Access)]) -> [Access; binding::COUNT] {
    let mut access = [Access::Unused; binding::COUNT];
    slots.iter().for_each(|(slot, kind)| access[*slot] = *kind);
    access
}

fn nothing<R>(_: &Workgroups, _: Bindings<R>) {}

/// A kernel that is written here: text for GPUs, and what a CPU runs.
pub struct Written {
    pub source: KernelSource,
    pub twin: fn(&Workgroups, Bindings<f32>),
}

pub fn source(name: &str, wgsl: &str, access: [Access; binding::COUNT], twin: fn(&Workgroups, Bindings<f32>)) -> Written {
    Written { source: KernelSource::new(name, wgsl, access), twin }
}

/// The numbers that a device gives such kernels.
pub fn kernels(device: &mut Device, written: &[Written]) -> Result<Vec<KernelId>, DeviceError> {
    if let Device::Cpu(cpu) = device {
        let kernel_of =
            |Written { source, twin }: &Written| cpu.kernel_of(source, Body::Twin(Twin { heavy: false, f32: *twin, f64: nothing }));
        return Ok(written.iter().map(kernel_of).collect());
    }
    let sources: Vec<_> = written.iter().map(|written| written.source.clone()).collect();
    device.kernels(&sources)
}

/// `out[i] = 2 a[i] + word 0`.
pub fn twice() -> Written {
    let wgsl = "
        @group(0) @binding(4) var<storage, read> a: array<real>;
        @group(0) @binding(5) var<storage, read_write> out: array<real>;
        struct Args { goal: u32 }
        @compute @workgroup_size(group_size)
        fn main(@builtin(global_invocation_id) id: vec3<u32>) {
            let i = item(id);
            if (i >= params.count) { return; }
            out[i] = 2.0 * a[i] + real(params.args.goal);
        }";
    fn twin(work: &Workgroups, mut slots: Bindings<f32>) {
        let (a, out) = (slots.read(binding::VECTOR_IN), slots.write(binding::VECTOR_OUT));
        work.items().for_each(|i| out[i] = 2.0 * a[i] + work.params.words[0] as f32);
    }
    source("twice", wgsl, uses(&[(binding::VECTOR_IN, Access::Read), (binding::VECTOR_OUT, Access::ReadWrite)]), twin)
}

/// `out[i] = a[index[i]]`.
pub fn gather() -> Written {
    let wgsl = "
        @group(0) @binding(3) var<storage, read> index: array<u32>;
        @group(0) @binding(4) var<storage, read> a: array<real>;
        @group(0) @binding(5) var<storage, read_write> out: array<real>;
        struct Args { none: u32 }
        @compute @workgroup_size(group_size)
        fn main(@builtin(global_invocation_id) id: vec3<u32>) {
            let i = item(id);
            if (i >= params.count) { return; }
            out[i] = a[index[i]];
        }";
    fn twin(work: &Workgroups, mut slots: Bindings<f32>) {
        let (index, a, out) = (slots.words(binding::INDEX), slots.read(binding::VECTOR_IN), slots.write(binding::VECTOR_OUT));
        work.items().for_each(|i| out[i] = a[index[i] as usize]);
    }
    let access = uses(&[(binding::INDEX, Access::Read), (binding::VECTOR_IN, Access::Read), (binding::VECTOR_OUT, Access::ReadWrite)]);
    source("gather", wgsl, access, twin)
}

pub fn slice(buffer: BufferId, offset: u32, len: u32) -> Slice {
    Slice { buffer, offset, len }
}

pub fn dispatch(kernel: KernelId, count: u32, bound: &[(usize, Slice)], word: u32) -> Dispatch {
    let mut bindings = [None; binding::COUNT];
    bound.iter().for_each(|(slot, slice)| bindings[*slot] = Some(*slice));
    let mut words = [0; PARAM_WORDS];
    words[0] = word;
    Dispatch { kernel, bindings, count, single_group: false, words }
}

pub fn recording(commands: impl IntoIterator<Item = Command>) -> Recording {
    Recording { commands: commands.into_iter().collect() }
}

pub fn message(result: Result<impl Sized, DeviceError>) -> String {
    result.err().expect("this should have been refused").to_string()
}

/// The messages of a device whose slices begin at multiples of 64 elements, all of them looked at, whatever plays or enqueues. Nothing
/// of it hurts the device.
pub fn refused(device: &mut Device) -> Vec<String> {
    assert_eq!(gather().source.elements()[binding::INDEX], Some(Elements::Indices));
    let ids = kernels(device, &[twice(), gather()]).unwrap();
    let (twice, gather) = (ids[0], ids[1]);
    let [a, b] = ["first", "second"].map(|label| device.allocate(Kind::Real, 256, label).unwrap());
    let inner = device.allocate(Kind::Inner, 256, "inner").unwrap();
    let index = device.allocate(Kind::Index, 256, "index").unwrap();
    let with = |x: Slice| Command::Dispatch(dispatch(twice, 1, &[(binding::VECTOR_IN, x), (binding::VECTOR_OUT, slice(b, 0, 64))], 0));
    let gathering = |index: Slice| {
        let bound = [(binding::INDEX, index), (binding::VECTOR_IN, slice(a, 0, 64)), (binding::VECTOR_OUT, slice(b, 0, 64))];
        Command::Dispatch(dispatch(gather, 1, &bound, 0))
    };
    let read = |x: Slice| Command::Read { slice: x };
    let repeat = |body, until| Command::Repeat { body, max: 3, until };
    let singles = |first, len| Command::UploadSingles { buffer: a, offset: 0, data: vec![1.0; 4].into(), first, len };
    let cases = [
        (with(slice(a, 200, 64)), "elements 200 to 264 of `first`, which has 256"),
        (with(slice(a, u32::MAX - 63, 64)), "elements 4294967232 to 4294967296 of `first`, which has 256"),
        (with(slice(a, 32, 64)), "kernel `twice`, binding 4, `first`: offset 32 is no multiple of 64"),
        (with(slice(index, 0, 64)), "kernel `twice`, binding 4, `index`: it holds indices, where reals are needed"),
        (gathering(slice(inner, 0, 64)), "kernel `gather`, binding 3, `inner`: it holds reals, where indices are needed"),
        (with(slice(b, 128, 64)), "kernel `twice`, binding 5, `second`: binding 4 uses the same buffer, and one of the two writes it"),
        (
            Command::Dispatch(dispatch(twice, 1, &[(binding::VECTOR_IN, slice(a, 0, 1))], 0)),
            "kernel `twice`, binding 5: nothing is bound to it",
        ),
        (Command::Dispatch(dispatch(KernelId(99), 1, &[], 0)), "a kernel of another device"),
        (read(slice(a, 250, 7)), "elements 250 to 257 of `first`, which has 256"),
        (read(slice(index, 255, 2)), "elements 255 to 257 of `index`, which has 256"),
        (Command::UploadIndices { buffer: a, offset: 0, data: vec![1] }, "an upload: `first` holds reals, indices were given"),
        (Command::UploadReals { buffer: index, offset: 0, data: vec![1.0] }, "an upload: `index` holds indices, reals were given"),
        (Command::UploadReals { buffer: a, offset: 256, data: vec![1.0] }, "elements 256 to 257 of `first`, which has 256"),
        (singles(2, 3), "an upload of 3 elements from 2 on, of 4 that there are"),
        (singles(usize::MAX, 1), "an upload of 1 elements from 18446744073709551615 on, of 4 that there are"),
        (Command::Copy { from: slice(a, 0, 4), to: slice(a, 8, 4) }, "a copy needs two buffers and equal lengths"),
        (Command::Copy { from: slice(a, 0, 4), to: slice(b, 8, 5) }, "a copy needs two buffers and equal lengths"),
        (Command::Copy { from: slice(a, 0, 4), to: slice(index, 8, 4) }, "a copy: `first` holds reals, `index` indices"),
        (Command::Copy { from: slice(inner, 0, 4), to: slice(a, 253, 4) }, "elements 253 to 257 of `first`, which has 256"),
        (Command::Clear { slice: slice(a, 1, 256) }, "elements 1 to 257 of `first`, which has 256"),
        (repeat(vec![], (a, 256)), "elements 256 to 257 of `first`, which has 256"),
        (repeat(vec![], (index, 0)), "the flag of a Repeat: `index` holds indices, where reals are needed"),
        (repeat(vec![repeat(vec![], (a, 0))], (a, 0)), "a Repeat inside a Repeat"),
        (repeat(vec![read(slice(a, 0, 1))], (a, 0)), "a Read that is not the last command"),
        (repeat(vec![Command::UploadIndices { buffer: index, offset: 0, data: vec![1] }], (a, 0)), "an upload inside a Repeat"),
        (repeat(vec![with(slice(a, 32, 64))], (a, 0)), "kernel `twice`, binding 4, `first`: offset 32 is no multiple of 64"),
    ];
    let mut told = Vec::new();
    for (command, expected) in cases {
        let refused = message(device.run(recording([command.clone()])));
        assert_eq!(refused, format!("invalid recording: {expected}"), "{}", device.backend());
        if device.is_queue() {
            assert_eq!(message(device.enqueue(&recording([command]))), refused);
        }
        told.push(refused);
    }
    // Kinds of reals may be mixed where nothing writes them in less than they have.
    let mixed = [Command::Copy { from: slice(inner, 0, 4), to: slice(a, 8, 4) }, with(slice(inner, 0, 64))];
    assert!(device.run(recording(mixed)).unwrap().is_empty());
    assert_eq!(
        device.run(recording([Command::UploadReals { buffer: a, offset: 0, data: vec![4.0] }, read(slice(a, 0, 1))])).unwrap(),
        [4.0]
    );
    device.free(inner);
    let error = device.run(recording([Command::Clear { slice: slice(inner, 0, 4) }])).unwrap_err();
    assert_eq!(error, DeviceError::UnknownBuffer(inner.0));
    told
}
