//! Writing a module.
//!
//! Its one function `run(frame, items)` gives 0, or 1 where an index leads out of its table; nothing is read there. It
//! computes `items` items, [`Module::least`] of them at least. The last vector (or strip) of lanes ends with the last item
//! and so may begin among items that are computed already: they are computed again, to the same bits.

use super::frame::word;
use super::phases::{Call, Phase, Phases, slot_bytes};
use crate::device::Precision;
use crate::kernel::block::{self, Allocation, LANES, Schedule, Source, Step, View};
use crate::kernel::{Binary, Instruction, Load, Program, Store, Unary, Value};
use wasm_encoder::{
    BlockType, CodeSection, ExportKind, ExportSection, Function, FunctionSection, ImportSection, InstructionSink, MemArg, MemArgTarget,
    MemoryType, RefType, TableType, TypeSection, ValType,
};

/// Steps at most: compilers take longer than linearly for one function.
pub const MOST_STEPS: usize = 16_000;

/// A gather's way into its table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Gather {
    /// Whether it reads the vector, not the arena.
    pub vector: bool,
    pub address: u32,
    pub column: u32,
    pub stride: u32,
    /// The last component that is read.
    pub last: u32,
}

pub struct Module {
    pub bytes: Vec<u8>,
    /// Items that a call computes at least.
    pub least: u32,
    /// Bytes that a call may write for itself.
    pub scratch: u32,
    /// The columns that are read, and those that are written, as a frame has them.
    pub views: Vec<View>,
    pub targets: Vec<Store>,
    pub(super) gathers: Vec<Gather>,
    /// Columns of indices.
    pub(super) columns: Vec<u32>,
    /// Bytes of a real.
    pub(super) real: u32,
}

impl Module {
    /// The module of a program whose addresses are all used, or why there is none.
    pub fn new(program: &Program, precision: Precision) -> Result<Self, String> {
        if block::in_place(program) {
            return Err("it writes columns that it reads".into());
        }
        let steps = Schedule::new(program).steps;
        if steps.len() > MOST_STEPS {
            return Err(format!("it has {} steps, and modules have {MOST_STEPS} at most", steps.len()));
        }
        let Allocation { views, targets, .. } = Allocation::new(program);
        let mut gathers: Vec<Gather> = Vec::new();
        for step in &steps {
            let Step::Gather { source, address, component, .. } = *step else { continue };
            let vector = source == Source::Vector;
            match gathers.iter_mut().find(|gather| (gather.vector, gather.address) == (vector, address)) {
                Some(known) => known.last = known.last.max(component),
                None => {
                    let crate::kernel::Address { column, stride, .. } = program.addresses[address as usize];
                    gathers.push(Gather { vector, address, column, stride, last: component });
                }
            }
        }
        let mut columns: Vec<u32> = gathers.iter().map(|gather| gather.column).collect();
        columns.sort_unstable();
        columns.dedup();
        let phases = Phases::new(program, &steps);
        let real = precision.bytes() as u32;
        let least = if phases.list.len() > 1 { LANES as u32 } else { 16 / real };
        let scratch = phases.count * slot_bytes(real);
        let mut module = Self { bytes: Vec::new(), least, scratch, views, targets, gathers, columns, real };
        module.bytes = Writer::new(&module, program, &phases).module();
        Ok(module)
    }
}

/// The 32-bit locals; those of vectors come after them.
#[derive(Clone, Copy)]
struct Locals {
    /// Bytes from the first item to those that are being computed, in columns of reals and in columns of indices.
    reals: u32,
    indices: u32,
    /// The same for where the strip begins, and for the last vector or strip.
    strip: u32,
    end: u32,
    /// Where in the scratch the items' lanes are, and where a strip's end.
    lane: u32,
    lanes_end: u32,
    /// For every column of indices: where it begins, its limit, and its index in every lane times the stride of some gather.
    columns: u32,
    limits: u32,
    scaled: u32,
    /// For every gather: where its table begins, and its address in every lane.
    tables: u32,
    addresses: u32,
    views: u32,
    targets: u32,
    vectors: u32,
}

/// A place in memory of what has so many bytes.
fn place(offset: u32, bytes: u32) -> MemArg {
    MemArg { offset: offset.into(), align: bytes.ilog2(), target: MemArgTarget::Memory(0), ordering: None }
}

const FRAME: u32 = 0;
const ITEMS: u32 = 1;

impl Locals {
    fn new(module: &Module) -> Self {
        let lanes = 16 / module.real;
        let (columns, gathers) = (module.columns.len() as u32, module.gathers.len() as u32);
        let mut next = ITEMS + 1;
        let mut take = |count: u32| {
            next += count;
            next - count
        };
        Self {
            reals: take(1),
            indices: take(1),
            strip: take(1),
            end: take(1),
            lane: take(1),
            lanes_end: take(1),
            columns: take(columns),
            limits: take(columns),
            scaled: take(gathers * lanes),
            tables: take(gathers),
            addresses: take(gathers * lanes),
            views: take(module.views.len() as u32),
            targets: take(module.targets.len() as u32),
            vectors: take(0),
        }
    }
}

struct Writer<'a> {
    module: &'a Module,
    program: &'a Program,
    phases: &'a Phases,
    locals: Locals,
    code: Vec<u8>,
    vectors: u32,
    free: Vec<u32>,
    /// By value: the locals of what is the same for all items.
    uniforms: Vec<Option<u32>>,
    /// Of the phase being written, by value: its local, that of its mask where it is 0 or 1, how often it is still used.
    known: Vec<Option<u32>>,
    masks: Vec<Option<u32>>,
    left: Vec<u32>,
    /// Which gathers have their addresses, and which columns and strides their indices.
    addressed: Vec<bool>,
    scaled: Vec<(u32, u32, u32)>,
}

/// A vector instruction of either width.
macro_rules! real {
    ($self:ident, $double:ident, $single:ident) => {
        match $self.module.real {
            8 => {
                $self.ops().$double();
            }
            _ => {
                $self.ops().$single();
            }
        }
    };
}

impl<'a> Writer<'a> {
    fn new(module: &'a Module, program: &'a Program, phases: &'a Phases) -> Self {
        Self {
            module,
            program,
            phases,
            locals: Locals::new(module),
            code: Vec::new(),
            vectors: 0,
            free: Vec::new(),
            uniforms: vec![None; phases.slots.len()],
            known: vec![None; phases.slots.len()],
            masks: vec![None; phases.slots.len()],
            left: vec![0; phases.slots.len()],
            addressed: Vec::new(),
            scaled: Vec::new(),
        }
    }

    fn ops(&mut self) -> InstructionSink<'_> {
        InstructionSink::new(&mut self.code)
    }

    /// Of a vector.
    fn lanes(&self) -> u32 {
        16 / self.module.real
    }

    fn place(&self, offset: u32) -> MemArg {
        place(offset, self.module.real)
    }

    fn module(mut self) -> Vec<u8> {
        self.function();
        let mut types = TypeSection::new();
        types.ty().function([ValType::I32; 2], [ValType::I32]);
        types.ty().function([ValType::I32; 5], []);
        let mut imports = ImportSection::new();
        let memory = MemoryType { minimum: 1, maximum: None, memory64: false, shared: false, page_size_log2: None };
        imports.import("engine", "memory", memory);
        let table = TableType { element_type: RefType::FUNCREF, table64: false, minimum: 0, maximum: None, shared: false };
        imports.import("engine", "functions", table);
        let mut functions = FunctionSection::new();
        functions.function(0);
        let mut exports = ExportSection::new();
        exports.export("run", ExportKind::Func, 0);
        let mut function = Function::new([(self.locals.vectors - ITEMS - 1, ValType::I32), (self.vectors, ValType::V128)]);
        function.raw(self.code);
        let mut code = CodeSection::new();
        code.function(&function);
        let mut module = wasm_encoder::Module::new();
        module.section(&types).section(&imports).section(&functions).section(&exports).section(&code);
        module.finish()
    }

    fn function(&mut self) {
        self.ops().block(BlockType::Empty);
        self.begin();
        match &self.phases.list[..] {
            [only] => self.whole(only),
            _ => self.strips(),
        }
        self.ops().i32_const(0).return_().end().i32_const(1).end();
    }

    /// What the frame says, and what is the same for all items.
    fn begin(&mut self) {
        let Locals { columns, limits, tables, views, targets, .. } = self.locals;
        let module = self.module;
        let mut next = word::FIRST;
        let mut read = |writer: &mut Self, local: u32| {
            writer.ops().local_get(FRAME).i32_load(place(next * 4, 4)).local_set(local);
            next += 1;
        };
        for column in 0..module.columns.len() as u32 {
            read(self, columns + column);
            read(self, limits + column);
        }
        let rest = [(tables, module.gathers.len()), (views, module.views.len()), (targets, module.targets.len())];
        for (first, count) in rest {
            (first..first + count as u32).for_each(|local| read(self, local));
        }
        let used = self.phases.list.iter().flat_map(|phase| {
            let operands = phase.steps.iter().flat_map(|step| step.operands());
            operands.chain(phase.copies.iter().map(|(value, _)| *value))
        });
        let mut used: Vec<Value> = used.collect();
        used.sort_unstable();
        used.dedup();
        for value in used {
            match self.program.instructions[value as usize] {
                Instruction::Const(number) => self.constant(number),
                Instruction::Load(Load::Shared(k)) => {
                    let place = self.place(k * self.module.real);
                    self.word(word::DATA);
                    match self.module.real {
                        8 => self.ops().v128_load64_splat(place),
                        _ => self.ops().v128_load32_splat(place),
                    };
                }
                _ => continue,
            }
            let local = self.vector();
            self.ops().local_set(local);
            self.uniforms[value as usize] = Some(local);
        }
        let last = self.lanes().max(self.module.least) * self.module.real;
        let real = self.module.real as i32;
        let end = self.locals.end;
        self.ops().local_get(ITEMS).i32_const(real).i32_mul().i32_const(last as i32).i32_sub().local_set(end);
    }

    /// A word of the frame.
    fn word(&mut self, word: u32) {
        self.ops().local_get(FRAME).i32_load(place(word * 4, 4));
    }

    fn constant(&mut self, number: f64) {
        let bits = match self.module.real {
            8 => u128::from(number.to_bits()) * (1 << 64 | 1),
            _ => u128::from((number as f32).to_bits()) * (1 << 96 | 1 << 64 | 1 << 32 | 1),
        };
        self.ops().v128_const(bits as i128);
    }

    /// A program without calls: one loop over all items.
    fn whole(&mut self, phase: &Phase) {
        let Locals { reals, end, .. } = self.locals;
        self.ops().loop_(BlockType::Empty);
        self.phase(phase);
        self.advance(reals, end, 16);
        self.ops().end();
    }

    /// Strips of lanes, and for each a loop a phase.
    fn strips(&mut self) {
        let Locals { reals, strip, end, lane, lanes_end, .. } = self.locals;
        let slot = slot_bytes(self.module.real);
        self.word(word::SCRATCH);
        self.ops().i32_const(slot as i32).i32_add().local_set(lanes_end);
        self.ops().loop_(BlockType::Empty);
        let phases = self.phases;
        for phase in &phases.list {
            self.ops().local_get(strip).local_set(reals);
            self.word(word::SCRATCH);
            self.ops().local_set(lane).loop_(BlockType::Empty);
            self.phase(phase);
            self.ops().local_get(reals).i32_const(16).i32_add().local_set(reals);
            self.ops().local_get(lane).i32_const(16).i32_add().local_tee(lane).local_get(lanes_end).i32_lt_u().br_if(0).end();
            phase.calls.iter().for_each(|call| self.call(call));
        }
        self.advance(strip, end, slot);
        self.ops().end();
    }

    /// Goes on `by` bytes, but to the last place at most, until that is done.
    fn advance(&mut self, place: u32, end: u32, by: u32) {
        let next = self.locals.indices;
        self.ops().local_get(place).local_get(end).i32_lt_u().if_(BlockType::Empty);
        self.ops().local_get(place).i32_const(by as i32).i32_add().local_tee(next);
        self.ops().local_get(end).local_get(next).local_get(end).i32_lt_u().select().local_set(place).br(1).end();
    }

    fn call(&mut self, call: &Call) {
        let slot = slot_bytes(self.module.real);
        self.ops().i32_const(call.function as i32);
        for place in call.outputs.into_iter().chain(call.operands) {
            self.word(word::SCRATCH);
            self.ops().i32_const((place * slot) as i32).i32_add();
        }
        self.word(word::FUNCTIONS);
        self.ops().call_indirect(0, 1);
    }

    /// A vector of lanes goes through a phase.
    fn phase(&mut self, phase: &Phase) {
        let Locals { reals, indices, .. } = self.locals;
        self.addressed = vec![false; self.module.gathers.len()];
        self.scaled.clear();
        let operands = phase.steps.iter().flat_map(|step| step.operands());
        operands.chain(phase.copies.iter().map(|(value, _)| *value)).for_each(|operand| self.left[operand as usize] += 1);
        if phase.steps.iter().any(|step| matches!(step, Step::Gather { .. })) {
            self.ops().local_get(reals);
            if self.module.real == 8 {
                self.ops().i32_const(1).i32_shr_u();
            }
            self.ops().local_set(indices);
        }
        for &(value, slot) in &phase.copies {
            self.keep(slot, |writer| writer.push(value));
            self.used(value);
        }
        phase.steps.iter().for_each(|step| self.step(step));
    }

    fn vector(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.vectors += 1;
            self.locals.vectors + self.vectors - 1
        })
    }

    /// Stores lanes in a slot.
    fn keep(&mut self, slot: u32, value: impl FnOnce(&mut Self)) {
        let (lane, place) = (self.locals.lane, self.place(slot * slot_bytes(self.module.real)));
        self.ops().local_get(lane);
        value(self);
        self.ops().v128_store(place);
    }

    /// What is on the stack is the lanes of a value.
    fn define(&mut self, value: Value) {
        let local = self.vector();
        self.ops().local_set(local);
        self.known[value as usize] = Some(local);
        if let Some(slot) = self.phases.slots[value as usize] {
            self.keep(slot, |writer| {
                writer.ops().local_get(local);
            });
        }
        self.drop_unused(value);
    }

    /// The same, as a mask.
    fn define_mask(&mut self, value: Value) {
        let local = self.vector();
        self.ops().local_set(local);
        self.masks[value as usize] = Some(local);
        if let Some(slot) = self.phases.slots[value as usize] {
            self.keep(slot, |writer| writer.push(value));
        }
        self.drop_unused(value);
    }

    /// One use of a value less.
    fn used(&mut self, value: Value) {
        self.left[value as usize] -= 1;
        self.drop_unused(value);
    }

    fn drop_unused(&mut self, value: Value) {
        if self.left[value as usize] == 0 {
            self.free.extend(self.known[value as usize].take());
            self.free.extend(self.masks[value as usize].take());
        }
    }

    /// The lanes of a value onto the stack.
    fn push(&mut self, value: Value) {
        if let Some(local) = self.known[value as usize].or(self.uniforms[value as usize]) {
            self.ops().local_get(local);
            return;
        }
        if let Some(mask) = self.masks[value as usize] {
            self.ops().local_get(mask);
            self.constant(1.0);
            self.ops().v128_and();
        } else if let Some(view) = block::view(self.program.instructions[value as usize]) {
            let number = self.module.views.iter().position(|known| *known == view).expect("a view of the program") as u32;
            let (column, reals, place) = (self.locals.views + number, self.locals.reals, self.place(0));
            self.ops().local_get(column).local_get(reals).i32_add().v128_load(place);
        } else {
            let slot = self.phases.slots[value as usize].expect("a value is computed before its use");
            let (lane, place) = (self.locals.lane, self.place(slot * slot_bytes(self.module.real)));
            self.ops().local_get(lane).v128_load(place);
        }
        if self.left[value as usize] > 1 {
            let local = self.vector();
            self.ops().local_tee(local);
            self.known[value as usize] = Some(local);
        }
    }

    /// Where a value is not 0.
    fn push_mask(&mut self, value: Value) {
        match self.masks[value as usize] {
            Some(mask) => {
                self.ops().local_get(mask);
            }
            None => {
                self.push(value);
                self.constant(0.0);
                real!(self, f64x2_ne, f32x4_ne);
            }
        }
    }

    fn step(&mut self, step: &Step<Value>) {
        let operands: Vec<Value> = step.operands().collect();
        match *step {
            Step::Gather { source, address, component, .. } => self.gather(source == Source::Vector, address, component),
            Step::Unary { operation, operand, .. } => self.unary(operation, operand),
            Step::Binary { operation, operands: [a, b], .. } => self.binary(operation, a, b),
            Step::MulAdd { operands: [a, b, c], .. } => {
                self.push(a);
                self.push(b);
                real!(self, f64x2_mul, f32x4_mul);
                self.push(c);
                real!(self, f64x2_add, f32x4_add);
            }
            Step::Select { operands: [condition, then, otherwise], .. } => {
                self.push(then);
                self.push(otherwise);
                self.push_mask(condition);
                self.ops().v128_bitselect();
            }
            Step::Store { target, value } => {
                let (column, reals, place) = (self.locals.targets + target, self.locals.reals, self.place(0));
                self.ops().local_get(column).local_get(reals).i32_add();
                self.push(value);
                self.ops().v128_store(place);
            }
            Step::CopyJacobian { .. } | Step::SinCos { .. } => unreachable!("neither is written as a step"),
        }
        operands.into_iter().for_each(|operand| self.used(operand));
        let is_mask = match *step {
            Step::Unary { operation, .. } => matches!(operation, Unary::Not | Unary::Finite),
            Step::Binary { operation, .. } => matches!(operation, Binary::Lt | Binary::Le | Binary::And | Binary::Or),
            _ => false,
        };
        for output in step.outputs() {
            if is_mask { self.define_mask(output) } else { self.define(output) }
        }
    }

    fn unary(&mut self, operation: Unary, operand: Value) {
        if operation == Unary::Not {
            self.push_mask(operand);
            self.ops().v128_not();
            return;
        }
        self.push(operand);
        match operation {
            Unary::Neg => real!(self, f64x2_neg, f32x4_neg),
            Unary::Abs => real!(self, f64x2_abs, f32x4_abs),
            Unary::Floor => real!(self, f64x2_floor, f32x4_floor),
            Unary::Ceil => real!(self, f64x2_ceil, f32x4_ceil),
            Unary::Round => real!(self, f64x2_nearest, f32x4_nearest),
            Unary::Sqrt => real!(self, f64x2_sqrt, f32x4_sqrt),
            Unary::Detach => {}
            Unary::Finite => {
                real!(self, f64x2_abs, f32x4_abs);
                self.constant(f64::INFINITY);
                real!(self, f64x2_lt, f32x4_lt);
            }
            other => unreachable!("{other:?} is called"),
        }
    }

    fn binary(&mut self, operation: Binary, a: Value, b: Value) {
        if let Binary::And | Binary::Or = operation {
            self.push_mask(a);
            self.push_mask(b);
            match operation {
                Binary::And => self.ops().v128_and(),
                _ => self.ops().v128_or(),
            };
            return;
        }
        self.push(a);
        self.push(b);
        match operation {
            Binary::Add => real!(self, f64x2_add, f32x4_add),
            Binary::Sub => real!(self, f64x2_sub, f32x4_sub),
            Binary::Mul => real!(self, f64x2_mul, f32x4_mul),
            Binary::Div => real!(self, f64x2_div, f32x4_div),
            Binary::Lt => real!(self, f64x2_lt, f32x4_lt),
            Binary::Le => real!(self, f64x2_le, f32x4_le),
            other => unreachable!("{other:?} is called"),
        }
    }

    /// A number from every lane's instance.
    fn gather(&mut self, vector: bool, address: u32, component: u32) {
        let known = |gather: &Gather| (gather.vector, gather.address) == (vector, address);
        let number = self.module.gathers.iter().position(known).expect("a gather of the program") as u32;
        if !std::mem::replace(&mut self.addressed[number as usize], true) {
            self.address(number);
        }
        let (lanes, place) = (self.lanes(), self.place(component * self.module.real));
        let first = self.locals.addresses + number * lanes;
        (0..lanes).rev().for_each(|lane| {
            self.ops().local_get(first + lane);
        });
        match self.module.real {
            8 => self.ops().v128_load64_zero(place).v128_load64_lane(place, 1),
            _ => self.ops().v128_load32_zero(place).v128_load32_lane(place, 1).v128_load32_lane(place, 2).v128_load32_lane(place, 3),
        };
    }

    /// Where a gather's table has the instances of the lanes.
    fn address(&mut self, number: u32) {
        let Gather { column, stride, .. } = self.module.gathers[number as usize];
        let (lanes, Locals { tables, addresses, .. }) = (self.lanes(), self.locals);
        let known = self.scaled.iter().find(|scaled| (scaled.0, scaled.1) == (column, stride)).map(|scaled| scaled.2);
        let scaled = known.unwrap_or_else(|| self.scale(number));
        for lane in 0..lanes {
            self.ops().local_get(scaled + lane).local_get(tables + number).i32_add().local_set(addresses + number * lanes + lane);
        }
    }

    /// The indices of a column, compared with their limit, and times the stride; in the locals that belong to a gather.
    fn scale(&mut self, number: u32) -> u32 {
        let Gather { column, stride, .. } = self.module.gathers[number as usize];
        let (lanes, Locals { columns, limits, indices, .. }) = (self.lanes(), self.locals);
        let number_of_column = self.module.columns.iter().position(|known| *known == column).expect("a column of the program") as u32;
        let first = self.locals.scaled + number * lanes;
        let bytes = (stride * self.module.real) as i32;
        for lane in 0..lanes {
            let word = place(lane * 4, 4);
            self.ops().local_get(columns + number_of_column).local_get(indices).i32_add().i32_load(word).local_tee(first + lane);
            // Out of the loops: the block around all of them.
            let depth = if self.phases.list.len() > 1 { 2 } else { 1 };
            self.ops().local_get(limits + number_of_column).i32_gt_u().br_if(depth);
            self.ops().local_get(first + lane).i32_const(bytes).i32_mul().local_set(first + lane);
        }
        self.scaled.push((column, stride, first));
        first
    }
}
