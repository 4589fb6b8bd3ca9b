//! The engine's side: a tape read, differentiated, written as programs and played on a device.

use super::traced::{Input, Origin, Point, Traced};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::*;
use leastwise::expr::tape::{self, TapeError};
use leastwise::expr::{Expr, Graph, Leaf, Node, Unary};
use leastwise::program::*;

/// A tape's graph, its scalars, and the leaves that it is differentiated by.
pub struct Read {
    pub graph: Graph,
    pub outputs: Vec<Expr>,
    pub variables: Vec<Expr>,
}

pub fn read(traced: &Traced) -> Result<Read, TapeError> {
    let mut graph = Graph::new();
    let sources = traced.sources();
    let outputs = tape::read(&mut graph, &traced.words(), &traced.outputs, &sources)?;
    let mut variables = Vec::new();
    for (slot, input) in traced.inputs.iter().enumerate().filter(|(_, input)| input.origin == Origin::Variable) {
        variables.extend((0..input.width).map(|component| graph.leaf(Leaf::Slot { slot: slot as u32, component })));
    }
    Ok(Read { graph, outputs, variables })
}

/// What a term's programs are bound to; an instance is a point.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    pub count: u32,
    pub arena: Vec<f64>,
    pub data: Vec<f64>,
    pub index: Vec<u32>,
    pub vector: Vec<f64>,
    pub jacobian: Vec<f64>,
    /// Elements of the vector that is written.
    pub out: u32,
}

pub const GUARDS: Guards = Guards { linearized: 0, solved: 1 };

/// Every slot has a table of its own whose instances are the points, backwards.
pub fn signature(traced: &Traced, weight_shared: bool) -> Signature {
    let slots: Vec<&Input> = traced.inputs.iter().filter(|input| input.is_slot()).collect();
    let shape = |(number, input): (u32, &&Input)| {
        let arena = Address { base: number, column: number, stride: input.width };
        SlotShape { arena, vector: (input.origin == Origin::Variable).then_some(arena), manifold: None }
    };
    let (mut shared, mut varying) = if weight_shared { (1, 0) } else { (0, 1) };
    let mut columns = Vec::new();
    for input in traced.inputs.iter().filter(|input| !input.is_slot()) {
        let is_shared = input.origin == Origin::Shared;
        let next = if is_shared { &mut shared } else { &mut varying };
        columns.push(ColumnShape { width: input.width, shared: is_shared, offset: *next });
        *next += input.width;
    }
    Signature { slots: (0..).zip(&slots).map(shape).collect(), columns, weight_shared, shared, header: slots.len() as u32, loss: None }
}

/// The points as a term's buffers; what all instances share is that of the first point, then the literals.
pub fn memory(traced: &Traced, points: &[Point], weights: &[f64], weight_shared: bool, literals: &[f64]) -> Memory {
    let count = points.len();
    let (mut arena, mut bases) = (Vec::new(), Vec::new());
    let (mut shared, mut varying): (Vec<f64>, Vec<f64>) =
        if weight_shared { (vec![weights[0]], Vec::new()) } else { (Vec::new(), weights.to_vec()) };
    for (number, input) in traced.inputs.iter().enumerate() {
        let place = traced.offset(number);
        let scalars = |point: &Point| point[place..place + input.width as usize].to_vec();
        match input.origin {
            Origin::Variable | Origin::Constant => {
                bases.push(arena.len() as u32);
                points.iter().rev().for_each(|point| arena.extend(scalars(point)));
            }
            Origin::Shared => shared.extend(scalars(&points[0])),
            Origin::Column => (0..input.width as usize).for_each(|k| varying.extend(points.iter().map(|point| point[place + k]))),
        }
    }
    shared.extend(literals);
    let tables = bases.len();
    let mut index = bases;
    (0..tables).for_each(|_| index.extend((0..count as u32).rev()));
    Memory {
        count: count as u32,
        vector: vec![0.0; arena.len()],
        arena,
        data: [shared, varying].concat(),
        index,
        jacobian: Vec::new(),
        out: 0,
    }
}

/// The graph's nodes as they are, each an instruction: what a lowering without any choice does.
pub fn plain_program(read: &Read, roots: &[Expr], signature: &Signature) -> Program {
    let graph = &read.graph;
    let needed = graph.reachable(roots);
    let mut numbers = vec![0; needed.len()];
    let slots = signature.slots.iter().map(|slot| slot.arena).collect();
    let mut program = Program { addresses: slots, header: signature.header, shared: signature.shared, ..Program::default() };
    for index in (0..needed.len()).filter(|&index| needed[index]) {
        let at = |expr: Expr| numbers[expr.0 as usize];
        let instruction = match graph.node(Expr(index as u32)) {
            Node::Unary(Unary::Detach, a) => {
                numbers[index] = at(a);
                continue;
            }
            Node::Const(bits) => Instruction::Const(f64::from_bits(bits)),
            Node::Leaf(Leaf::Slot { slot, component }) => Instruction::Load(Load::Arena { address: slot, component }),
            Node::Leaf(Leaf::Data { column, component }) => {
                let shape = signature.columns[column as usize];
                let place = shape.offset + component;
                Instruction::Load(if shape.shared { Load::Shared(place) } else { Load::Data(place) })
            }
            Node::Leaf(other) => unreachable!("{other:?} is no input"),
            Node::Unary(operation, a) => Instruction::Unary(operation, at(a)),
            Node::Binary(operation, a, b) => Instruction::Binary(operation, at(a), at(b)),
            Node::Select { condition, then, otherwise } => {
                Instruction::Select { condition: at(condition), then: at(then), otherwise: at(otherwise) }
            }
        };
        numbers[index] = program.instructions.len() as Value;
        program.instructions.push(instruction);
    }
    program.stores = (0..).zip(roots).map(|(column, root)| (Store::Column(column), numbers[root.0 as usize])).collect();
    program
}

/// What a program leaves in the vector and in the Jacobian.
#[derive(Clone, Debug)]
pub struct Outputs {
    pub vector: Vec<f64>,
    pub jacobian: Vec<f64>,
}

pub fn cpu(precision: Precision) -> Device {
    Device::Cpu(CpuDevice::new(precision, CpuDevice::default_limits()))
}

/// A term as the engine makes it: literals lifted, the graph rebuilt from its canonical form.
pub struct Term {
    pub programs: ResidualPrograms,
    pub memory: Memory,
}

pub fn term(traced: &Traced, points: &[Point], weights: &[f64], weight_shared: bool) -> Result<Term, TapeError> {
    let mut graph = Graph::new();
    let (rows, literals) = tape::read_lifted(&mut graph, &traced.words(), &traced.outputs, &traced.sources())?;
    let canonical = graph.canonical(&rows, |leaf| u32::from(matches!(leaf, Leaf::Slot { .. })));
    let mut signature = signature(traced, weight_shared);
    let column = signature.columns.len() as u32;
    let (graph, rows) = canonical.rebuild(rows.len(), |leaf| match canonical.leaves[leaf as usize] {
        Leaf::Literal(place) => Leaf::Data { column, component: place },
        input => input,
    });
    signature.columns.push(ColumnShape { width: literals.len() as u32, shared: true, offset: signature.shared });
    signature.shared += literals.len() as u32;
    let programs = ResidualPrograms::new("fuzz", graph, &rows, &signature, GUARDS);
    let mut memory = memory(traced, points, weights, weight_shared, &literals);
    memory.jacobian = vec![0.0; (programs.stored * memory.count) as usize];
    Ok(Term { programs, memory })
}

/// What one instance loads.
pub fn load(program: &Program, memory: &Memory, instance: usize, load: Load) -> f64 {
    let column = |number: u32| number as usize * memory.count as usize + instance;
    let gathered = |address: u32, component: u32| {
        let Address { base, column: number, stride } = program.addresses[address as usize];
        (memory.index[base as usize] + memory.index[program.header as usize + column(number)] * stride + component) as usize
    };
    match load {
        Load::Arena { address, component } => memory.arena[gathered(address, component)],
        Load::Vector { address, component } => memory.vector[gathered(address, component)],
        Load::Shared(k) => memory.data[k as usize],
        Load::Data(k) => memory.data[program.shared as usize + column(k)],
        Load::Jacobian(k) => memory.jacobian[column(k)],
        Load::Given(_) => unreachable!("nothing stands around these programs"),
    }
}

/// A whole program's text as a kernel for reals of a kind.
pub fn source_in(kind: Kind, program: &Program) -> KernelSource {
    let format = if kind == Kind::Double { wgsl::Format::Double } else { wgsl::Format::Single };
    let text = wgsl::whole(program, format).expect("constants in range");
    KernelSource { doubles: kind == Kind::Double, ..KernelSource::made_of(&program.name, leastwise::device::Structure::Text(text)) }
}

/// Plays a program once.
pub fn play(device: &mut Device, program: &Program, memory: &Memory) -> Outputs {
    play_in(device, Kind::Real, program, memory)
}

/// The same in reals of a kind.
pub fn play_in(device: &mut Device, kind: Kind, program: &Program, memory: &Memory) -> Outputs {
    // A CPU has no use for text.
    let source = if device.backend() == "cpu" { KernelSource::of(program) } else { source_in(kind, program) };
    let used = source.access();
    let kernel = device.kernels(&[source]).expect("a kernel")[0];
    let mut bindings = [None; binding::COUNT];
    let mut recording = Recording::new();
    let (out, state) = (vec![0.0; memory.out as usize], vec![0.0; 4]);
    let reals = [
        (binding::ARENA, &memory.arena),
        (binding::DATA, &memory.data),
        (binding::VECTOR_IN, &memory.vector),
        (binding::VECTOR_OUT, &out),
        (binding::JACOBIAN, &memory.jacobian),
        (binding::STATE, &state),
    ];
    for (slot, values) in reals {
        // No buffer is empty.
        let data = if values.is_empty() { vec![0.0] } else { values.clone() };
        let len = data.len() as u32;
        let buffer = device.allocate(kind, len, "reals").expect("memory");
        recording.push(Command::UploadReals { buffer, offset: 0, data });
        bindings[slot] = Some(Slice { buffer, offset: 0, len });
    }
    let data = if memory.index.is_empty() { vec![0] } else { memory.index.clone() };
    let len = data.len() as u32;
    let buffer = device.allocate(Kind::Index, len, "indices").expect("memory");
    recording.push(Command::UploadIndices { buffer, offset: 0, data });
    bindings[binding::INDEX] = Some(Slice { buffer, offset: 0, len });
    let bound = std::array::from_fn(|slot| bindings[slot].filter(|_| used[slot] != Access::Unused));
    let words = [0; PARAM_WORDS];
    recording.push(Command::Dispatch(Dispatch { kernel, bindings: bound, count: memory.count, single_group: false, words }));
    device.run(recording).expect("a run");
    let mut read = |slot: usize| {
        let mut recording = Recording::new();
        recording.push(Command::Read { slice: bindings[slot].expect("bound") });
        device.run(recording).expect("a readback")
    };
    let outputs = Outputs { vector: read(binding::VECTOR_OUT), jacobian: read(binding::JACOBIAN) };
    bindings.iter().flatten().for_each(|slice| device.free(slice.buffer));
    outputs
}

/// The value of every root at every point, in f64.
pub fn values(read: &Read, roots: &[Expr], traced: &Traced, points: &[Point]) -> Vec<Vec<f64>> {
    let program = plain_program(read, roots, &signature(traced, true));
    let mut memory = memory(traced, points, &[1.0], true, &[]);
    memory.out = roots.len() as u32 * memory.count;
    let vector = play(&mut cpu(Precision::F64), &program, &memory).vector;
    (0..points.len()).map(|p| (0..roots.len()).map(|k| vector[k * points.len() + p]).collect()).collect()
}
