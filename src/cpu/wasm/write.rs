//! Writing a module's function: what it begins with, and its loops. What a vector of lanes goes through is [`steps`](super::steps).

use super::frame::word;
use super::module::{APPLY, Module};
use super::phases::{Call, Phase, Phases, slot_bytes};
use crate::block::Step;
use leastwise_program::{Instruction, Load, Program, Value};
use wasm_encoder::{BlockType, InstructionSink, MemArg, MemArgTarget};

/// The 32-bit locals; those of vectors come after them.
#[derive(Clone, Copy)]
pub(super) struct Locals {
    /// Bytes from the first item to those that are being computed, in columns of reals and in columns of indices.
    pub reals: u32,
    pub indices: u32,
    /// The same for where the strip begins, and for the last vector or strip.
    pub strip: u32,
    pub end: u32,
    /// Where in the scratch the items' lanes are, and where a strip's end.
    pub lane: u32,
    pub lanes_end: u32,
    /// For every column of indices: where it begins, its limit, and its index in every lane times the stride of some gather.
    pub columns: u32,
    pub limits: u32,
    pub scaled: u32,
    /// For every gather: where its table begins, and its address in every lane.
    pub tables: u32,
    pub addresses: u32,
    pub views: u32,
    pub targets: u32,
    pub vectors: u32,
}

/// A place in memory of what has so many bytes.
pub(super) fn place(offset: u32, bytes: u32) -> MemArg {
    MemArg { offset: offset.into(), align: bytes.ilog2(), target: MemArgTarget::Memory(0), ordering: None }
}

/// A number of uses that no value has.
pub(super) const HELD: u32 = 1 << 24;

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

pub(super) struct Writer<'a> {
    pub module: &'a Module,
    pub program: &'a Program,
    pub phases: &'a Phases,
    pub locals: Locals,
    pub code: Vec<u8>,
    pub vectors: u32,
    pub free: Vec<u32>,
    /// By value: the locals of what is the same for all items.
    pub uniforms: Vec<Option<u32>>,
    /// Of the phase being written, by value: its local, that of its mask where it is 0 or 1, how often it is still used.
    pub known: Vec<Option<u32>>,
    pub masks: Vec<Option<u32>>,
    pub left: Vec<u32>,
    /// Which gathers have their addresses, and which columns and strides their indices.
    pub addressed: Vec<bool>,
    pub scaled: Vec<(u32, u32, u32)>,
}

/// A function's code, and how many locals of either kind it has.
pub(super) struct Body {
    pub code: Vec<u8>,
    pub words: u32,
    pub vectors: u32,
}

impl<'a> Writer<'a> {
    pub fn new(module: &'a Module, program: &'a Program, phases: &'a Phases) -> Self {
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

    pub fn ops(&mut self) -> InstructionSink<'_> {
        InstructionSink::new(&mut self.code)
    }

    /// Of a vector.
    pub fn lanes(&self) -> u32 {
        16 / self.module.real
    }

    pub fn place(&self, offset: u32) -> MemArg {
        place(offset, self.module.real)
    }

    pub fn body(mut self) -> Body {
        self.function();
        self.finished()
    }

    /// The code that is written.
    pub fn finished(self) -> Body {
        Body { code: self.code, words: self.locals.vectors - ITEMS - 1, vectors: self.vectors }
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

    /// What the frame says, into locals.
    pub fn read_frame(&mut self) {
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
    }

    /// What the frame says, and what is the same for all items.
    fn begin(&mut self) {
        self.read_frame();
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
    pub fn word(&mut self, word: u32) {
        self.ops().local_get(FRAME).i32_load(place(word * 4, 4));
    }

    pub fn constant(&mut self, number: f64) {
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
        self.ops().call(APPLY);
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

    pub fn vector(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| self.fresh())
    }

    /// A local that no other value has.
    pub fn fresh(&mut self) -> u32 {
        self.vectors += 1;
        self.locals.vectors + self.vectors - 1
    }

    /// What is on the stack is the lanes of a value, for all of the function.
    pub fn hold(&mut self, value: Value) {
        let local = self.fresh();
        self.ops().local_set(local);
        self.known[value as usize] = Some(local);
        self.left[value as usize] += HELD;
    }
}
