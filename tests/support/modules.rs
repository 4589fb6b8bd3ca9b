//! Runs the WebAssembly of a program in an interpreter (wasmi), in a memory whose last bytes are the tables that it gathers
//! from: whoever reads beyond them traps.
#![allow(dead_code)]

use leastwise::device::Precision;
use leastwise::device::cpu::block::{Lanes, View};
use leastwise::device::cpu::real::Real;
use leastwise::device::cpu::wasm::{Frame, Module, Span, apply};
use leastwise::program::{Program, Store};
use std::ops::Range;
use wasmi::{Caller, Config, Engine, Func, Linker, Memory, MemoryType};

/// What a program is bound to.
pub struct Buffers<'a> {
    pub count: u32,
    pub arena: &'a [f64],
    pub data: &'a [f64],
    pub index: &'a [u32],
    pub vector: &'a [f64],
    /// Read and written.
    pub jacobian: &'a [f64],
    /// What is written before the run.
    pub out: &'a [f64],
}

#[derive(Debug, PartialEq)]
pub enum Ran {
    /// The vector and the Jacobian afterwards.
    Finished(Vec<f64>, Vec<f64>),
    /// Left to the block interpreter: why.
    Refused(String),
    /// An index leads out of its table.
    OutOfTable,
}

const PAGE: u32 = 1 << 16;

/// Runs items of a program.
pub fn run(program: &Program, precision: Precision, buffers: &Buffers, items: Range<u32>) -> Ran {
    match precision {
        Precision::F32 => run_in::<f32>(program, precision, buffers, items),
        Precision::F32x2 | Precision::F64 => run_in::<f64>(program, precision, buffers, items),
    }
}

fn run_in<R: Real>(program: &Program, precision: Precision, buffers: &Buffers, items: Range<u32>) -> Ran {
    let mut program = program.clone();
    program.keep_used_addresses();
    let module = match Module::new(&program, precision) {
        Ok(module) => module,
        Err(why) => return Ran::Refused(why),
    };
    wasmparser::validate(&module.bytes).expect("a module that is valid");
    if items.end - items.start < module.least {
        return Ran::Refused("too few items".into());
    }
    let real = size_of::<R>() as u32;
    let mut top = 16;
    let mut take = |bytes: u32| {
        top = (top + bytes).next_multiple_of(16);
        top - bytes.next_multiple_of(16)
    };
    // Slots of both kinds are aligned as reals are.
    let [scratch, frame, index] = [module.scratch, 4096, 4 * buffers.index.len() as u32].map(&mut take);
    let [data, jacobian, out] = [buffers.data, buffers.jacobian, buffers.out].map(|values| take(values.len() as u32 * real));
    let tables = [buffers.arena, buffers.vector].map(|values| values.len() as u32 * real);
    let pages = (take(0) + tables[0] + tables[1]).div_ceil(PAGE);
    let vector = pages * PAGE - tables[1];
    let arena = vector - tables[0];

    let engine = Engine::new(&Config::default());
    let mut store = wasmi::Store::new(&engine, None::<Memory>);
    let memory = Memory::new(&mut store, MemoryType::new(pages, None)).expect("memory");
    *store.data_mut() = Some(memory);
    let bytes = memory.data_mut(&mut store);
    let places = [(data, buffers.data), (jacobian, buffers.jacobian), (out, buffers.out), (arena, buffers.arena), (vector, buffers.vector)];
    for (at, values) in places {
        write::<R>(bytes, at, values);
    }
    bytes[index as usize..][..4 * buffers.index.len()].copy_from_slice(bytemuck::cast_slice(buffers.index));

    let column = |start: u32, first: u32, number: u32| start + (first + number * buffers.count + items.start) * real;
    let views = module.views.iter().map(|view| match *view {
        View::Data(number) => column(data, program.shared, number),
        View::Jacobian(number) => column(jacobian, 0, number),
        View::Given(_) => unreachable!("nothing stands around these programs"),
    });
    let targets = module.targets.iter().map(|target| match *target {
        Store::Column(number) => column(out, 0, number),
        Store::Jacobian(number) => column(jacobian, 0, number),
        Store::Tile(_) => unreachable!("only products by owners have tiles"),
    });
    let indices = program.addresses.iter().map(|address| index + 4 * (program.header + address.column * buffers.count + items.start));
    let words = Frame {
        arena: Span { at: arena, len: buffers.arena.len() as u32 },
        vector: Span { at: vector, len: buffers.vector.len() as u32 },
        data,
        bases: &program.addresses.iter().map(|address| buffers.index[address.base as usize]).collect::<Vec<_>>(),
        indices: &indices.collect::<Vec<_>>(),
        views: &views.collect::<Vec<_>>(),
        targets: &targets.collect::<Vec<_>>(),
        scratch,
    }
    .words(&module);
    let Some(words) = words else { return Ran::OutOfTable };
    bytes[frame as usize..][..4 * words.len()].copy_from_slice(bytemuck::cast_slice(&words));

    let functions = Func::wrap(&mut store, called::<R>);
    let mut linker = Linker::new(&engine);
    linker.define("engine", "memory", memory).expect("a name");
    linker.define("engine", "apply", functions).expect("a name");
    let compiled = wasmi::Module::new(&engine, &module.bytes).expect("a module that compiles");
    let instance = linker.instantiate_and_start(&mut store, &compiled).expect("an instance");
    let function = instance.get_typed_func::<(u32, u32), u32>(&store, "run").expect("the function");
    let before = memory.data(&store).to_vec();
    let failed = function.call(&mut store, (frame, items.end - items.start)).expect("no trap");
    let bytes = memory.data(&store);
    let untouched = |range: Range<u32>| before[range.start as usize..range.end as usize] == bytes[range.start as usize..range.end as usize];
    assert!(untouched(frame..jacobian) && untouched(arena..pages * PAGE), "something was written that is only read");
    match failed {
        0 => Ran::Finished(read::<R>(bytes, out, buffers.out.len()), read::<R>(bytes, jacobian, buffers.jacobian.len())),
        _ => Ran::OutOfTable,
    }
}

/// What a module calls, in the memory of wasmi.
fn called<R: Real>(mut caller: Caller<Option<Memory>>, function: u32, out: u32, second: u32, a: u32, b: u32) {
    let memory = caller.data().expect("a memory");
    let bytes = memory.data_mut(&mut caller);
    let size = size_of::<Lanes<R>>();
    let lanes = |at: u32, bytes: &[u8]| -> Lanes<R> { bytemuck::pod_read_unaligned(&bytes[at as usize..][..size]) };
    let (operands, mut outputs) = ([lanes(a, bytes), lanes(b, bytes)], [lanes(out, bytes), lanes(second, bytes)]);
    let [first, other] = &mut outputs;
    apply(function, first, Some(other), operands.each_ref());
    // What has one output leaves the second as it was, which may be the first's place.
    let both = [(second, outputs[1]), (out, outputs[0])];
    both.iter().for_each(|(at, lanes)| bytes[*at as usize..][..size].copy_from_slice(bytemuck::bytes_of(lanes)));
}

fn write<R: Real>(bytes: &mut [u8], at: u32, values: &[f64]) {
    let values: Vec<R> = values.iter().map(|value| R::from_f64(*value)).collect();
    let values: &[u8] = bytemuck::cast_slice(&values);
    bytes[at as usize..][..values.len()].copy_from_slice(values);
}

fn read<R: Real>(bytes: &[u8], at: u32, len: usize) -> Vec<f64> {
    let size = size_of::<R>();
    let value = |bytes: &[u8]| bytemuck::pod_read_unaligned::<R>(bytes).to_f64();
    bytes[at as usize..][..len * size].chunks(size).map(value).collect()
}
