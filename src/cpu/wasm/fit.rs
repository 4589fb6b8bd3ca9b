//! Sums of a block of fits as WebAssembly: F, gradient and normal matrix over the points of a run, in one function.
//!
//! It goes over the block a vector of lanes at a time, and for each vector over the points. Steps that depend on parameters alone stand
//! before the loop over points; sums stay in locals. Every sum has the addends, and the order, that the interpreter's path has
//! (`block::fit`), so the bits are the same.
//!
//! The frame's words are the number of points, a word that is not used, the addresses of columns that are read ([`Module::views`],
//! then the lanes' numbers of points where fits differ in them), and those of [`sums`] that are read and written: first 1 in lanes
//! where all is defined and finite, else 0.

use super::module::Module;
use super::phases::{Phases, calls, unary_function};
use super::steps::real;
use super::write::{Body, HELD, Writer, place};
use crate::block::{self, Allocation, LANES, Schedule, Step, View};
use leastwise_program::{FitLayout, FitProgram, FitWeights, Instruction, Program, Store, Unary, Value};
use leastwise_recording::Precision;
use wasm_encoder::BlockType;

/// Steps of a point at most.
const MOST_STEPS: usize = 1_000;

/// Form of a block's sums.
pub struct SumsForm {
    /// Columns of J.
    pub columns: u32,
    /// Parameters of the model.
    pub parameters: u32,
    /// For the variables, the datum and the weight: true if all fits read the same number.
    pub shared: Vec<bool>,
    /// True if fits differ in how many points they have.
    pub ragged: bool,
}

impl SumsForm {
    /// The form of a layout, for so many columns of J.
    pub fn new(layout: &FitLayout, columns: u32) -> Self {
        let weights = layout.weights != FitWeights::Each;
        let shared = layout.variables.iter().copied().chain([false, weights]).collect();
        Self { columns, parameters: layout.parameters, shared, ragged: layout.ragged }
    }
}

/// True if a point's program may be part of the loop over points: its one function is eᵃ, which is written out.
pub fn is_summed(program: &Program, columns: u32) -> bool {
    let only_exp = program.instructions.iter().all(|instruction| match *instruction {
        Instruction::Unary(Unary::Exp, _) => true,
        Instruction::Unary(Unary::Sin | Unary::Cos, _) => false,
        Instruction::Unary(operation, _) => unary_function(operation).is_none(),
        Instruction::Binary(..) => !calls(&Program { instructions: vec![*instruction], ..Program::default() }),
        _ => true,
    });
    only_exp && columns <= FitProgram::MOST_IN_REGISTERS && program.instructions.len() <= MOST_STEPS
}

/// Columns of sums: 1 or 0, F, gradient, normal matrix, then the low parts of F and of the gradient.
pub fn sums(columns: u32) -> u32 {
    1 + (1 + columns) + columns * (columns + 1) / 2 + (1 + columns)
}

impl Module {
    /// The module of a block's sums, for a program that [`is_summed`].
    ///
    /// # Errors
    /// A reason.
    pub fn of_sums(program: &Program, form: &SumsForm, precision: Precision) -> Result<Self, String> {
        let steps = Schedule::new(program).steps;
        let Allocation { mut views, .. } = Allocation::new(program);
        if form.ragged {
            views.push(View::Given(u32::MAX));
        }
        let targets = (0..sums(form.columns)).map(Store::Tile).collect();
        let phases = Phases { list: Vec::new(), slots: vec![None; program.instructions.len() + 1], count: 0 };
        let module = Self::bare(views, targets, LANES as u32, precision.bytes() as u32);
        let body = Sums { form, program, constants: Vec::new() }.body(Writer::new(&module, program, &phases), &steps);
        module.finish(body)
    }
}

/// What is written, and numbers that are held in locals.
pub(super) struct Sums<'a> {
    form: &'a SumsForm,
    program: &'a Program,
    constants: Vec<(u64, u32)>,
}

/// Locals of a sum, with its low part where it has one.
#[derive(Clone, Copy)]
struct Sum {
    high: u32,
    low: Option<u32>,
}

impl Sums<'_> {
    fn body(mut self, mut writer: Writer, steps: &[Step<Value>]) -> Body {
        self.function(&mut writer, steps);
        let code = std::mem::take(&mut writer.code);
        for (bits, local) in &self.constants {
            writer.constant(f64::from_bits(*bits));
            writer.ops().local_set(*local);
        }
        writer.read_frame();
        writer.code.extend(code);
        writer.ops().i32_const(0).end();
        writer.finished()
    }

    /// The local that holds a number.
    pub(super) fn held(&mut self, writer: &mut Writer, number: f64) -> u32 {
        let bits = number.to_bits();
        let known = self.constants.iter().find(|(known, _)| *known == bits).map(|(_, local)| *local);
        known.unwrap_or_else(|| {
            let local = writer.fresh();
            self.constants.push((bits, local));
            local
        })
    }

    /// A number onto the stack.
    fn number(&mut self, writer: &mut Writer, number: f64) {
        let local = self.held(writer, number);
        writer.ops().local_get(local);
    }

    fn function(&mut self, writer: &mut Writer, steps: &[Step<Value>]) {
        let (program, n, real) = (self.program, self.form.columns, writer.module.real);
        let stored: Vec<Value> = (0..FitProgram::BEFORE + n).map(|column| value_of(program, column)).collect();
        let steps: Vec<&Step<Value>> = steps.iter().filter(|step| !matches!(step, Step::Store { .. })).collect();
        for operand in steps.iter().flat_map(|step| step.operands()) {
            writer.left[operand as usize] += 1;
        }
        stored.iter().for_each(|value| writer.left[*value as usize] += HELD);
        // By value: true if points differ in it.
        let mut varies = vec![false; program.instructions.len() + 1];
        let mut given = Vec::new();
        for (value, instruction) in program.instructions.iter().enumerate() {
            if writer.left[value] == 0 {
                continue;
            }
            if let Instruction::Const(number) = *instruction {
                writer.uniforms[value] = Some(self.held(writer, number));
            } else if let Some(View::Given(number)) = block::view(*instruction) {
                varies[value] = number >= self.form.parameters;
                given.push((value as Value, number));
            }
        }
        for step in &steps {
            let operand_varies = step.operands().any(|operand| varies[operand as usize]);
            step.outputs().for_each(|output| varies[output as usize] = operand_varies);
            if !operand_varies {
                step.outputs().for_each(|output| writer.left[output as usize] += HELD);
            }
        }
        let (group, each, shared, end) = (writer.locals.reals, writer.locals.indices, writer.locals.strip, writer.locals.end);
        let column = |writer: &Writer, number: u32| {
            let views = &writer.module.views;
            writer.locals.views + views.iter().position(|view| *view == View::Given(number)).expect("a view of the program") as u32
        };
        writer.ops().loop_(BlockType::Empty);
        for &(value, number) in given.iter().filter(|(value, _)| !varies[*value as usize]) {
            let (address, place) = (column(writer, number), place(0, real));
            writer.ops().local_get(address).local_get(group).i32_add().v128_load(place);
            writer.hold(value);
        }
        steps.iter().filter(|step| step.outputs().all(|output| !varies[output as usize])).for_each(|step| self.step(writer, step));
        // Sums go on from where they are.
        let valid = writer.fresh();
        self.load(writer, 0, valid);
        writer.ops().local_get(valid);
        self.number(writer, 0.0);
        real!(writer, f64x2_ne, f32x4_ne);
        writer.ops().local_set(valid);
        let mut sums = Vec::new();
        let entries = n * (n + 1) / 2;
        for number in 0..1 + n + entries {
            let high = writer.fresh();
            self.load(writer, 1 + number, high);
            let low = (number <= n).then(|| writer.fresh());
            if let Some(low) = low {
                self.load(writer, 2 + n + entries + number, low);
            }
            sums.push(Sum { high, low });
        }
        let left = self.form.ragged.then(|| {
            let (left, point, address) = (writer.fresh(), writer.fresh(), column(writer, u32::MAX));
            writer.ops().local_get(address).local_get(group).i32_add().v128_load(place(0, real)).local_set(left);
            self.number(writer, 0.0);
            writer.ops().local_set(point);
            (left, point)
        });
        writer.ops().local_get(group).local_set(each).i32_const(0).local_set(shared);
        writer.word(0);
        writer.ops().i32_const(real as i32).i32_mul().local_tee(end).if_(BlockType::Empty).loop_(BlockType::Empty);
        for &(value, number) in given.iter().filter(|(value, _)| varies[*value as usize]) {
            let (address, place) = (column(writer, number), place(0, real));
            let is_shared = self.form.shared[(number - self.form.parameters) as usize];
            writer.ops().local_get(address).local_get(if is_shared { shared } else { each }).i32_add();
            match (is_shared, real) {
                (false, _) => writer.ops().v128_load(place),
                (true, 8) => writer.ops().v128_load64_splat(place),
                (true, _) => writer.ops().v128_load32_splat(place),
            };
            writer.hold(value);
        }
        steps.iter().filter(|step| step.outputs().any(|output| varies[output as usize])).for_each(|step| self.step(writer, step));
        self.add(writer, &stored, valid, &sums, left);
        writer.ops().local_get(each).i32_const((LANES as u32 * real) as i32).i32_add().local_set(each);
        writer.ops().local_get(shared).i32_const(real as i32).i32_add().local_tee(shared);
        writer.ops().local_get(end).i32_lt_u().br_if(0).end().end();
        self.store(writer, valid, &sums);
        writer.ops().local_get(group).i32_const(16).i32_add().local_tee(group);
        writer.ops().i32_const((LANES as u32 * real) as i32).i32_lt_u().br_if(0).end();
    }

    /// The address of a sum's lanes, and its lanes into a local.
    fn load(&mut self, writer: &mut Writer, number: u32, local: u32) {
        let (target, group, place) = (writer.locals.targets + number, writer.locals.reals, place(0, writer.module.real));
        writer.ops().local_get(target).local_get(group).i32_add().v128_load(place).local_set(local);
    }

    /// A point goes into the sums.
    fn add(&mut self, writer: &mut Writer, stored: &[Value], valid: u32, sums: &[Sum], left: Option<(u32, u32)>) {
        let (n, rows) = (self.form.columns as usize, FitProgram::BEFORE as usize);
        let is_one = |value: Value| left.is_none() && self.program.instructions[value as usize] == Instruction::Const(1.0);
        let (unit, k_is_one) = (stored[rows..].iter().map(|value| is_one(*value)).collect::<Vec<_>>(), is_one(stored[2]));
        // Lanes that have the point.
        let mask = left.map(|(left, point)| {
            let mask = writer.fresh();
            writer.ops().local_get(point).local_get(left);
            real!(writer, f64x2_lt, f32x4_lt);
            writer.ops().local_set(mask).local_get(point);
            self.number(writer, 1.0);
            real!(writer, f64x2_add, f32x4_add);
            writer.ops().local_set(point);
            mask
        });
        writer.push_mask(stored[3]);
        if let Some(mask) = mask {
            writer.ops().local_get(mask).v128_not().v128_or();
        }
        writer.ops().local_get(valid).v128_and().local_set(valid);
        let values: Vec<u32> = stored
            .iter()
            .enumerate()
            .map(|(column, value)| {
                let local = writer.fresh();
                if column == 3 {
                    return local;
                }
                writer.push(*value);
                if let Some(mask) = mask {
                    writer.ops().local_get(mask).v128_and();
                }
                writer.ops().local_set(local);
                local
            })
            .collect();
        let [scratch, next, weighted] = [(); 3].map(|()| writer.fresh());
        writer.ops().local_get(values[0]);
        compensated(writer, sums[0], scratch, next);
        for i in 0..n {
            let row = values[rows + i];
            writer.ops().local_get(values[1]);
            if !unit[i] {
                writer.ops().local_get(row);
                real!(writer, f64x2_mul, f32x4_mul);
            }
            compensated(writer, sums[1 + i], scratch, next);
            if !k_is_one {
                writer.ops().local_get(values[2]).local_get(row);
                real!(writer, f64x2_mul, f32x4_mul);
                writer.ops().local_set(weighted);
            }
            for j in 0..=i {
                let Sum { high, .. } = sums[1 + n + i * (i + 1) / 2 + j];
                writer.ops().local_get(high).local_get(if k_is_one { row } else { weighted });
                if !unit[j] {
                    writer.ops().local_get(values[rows + j]);
                    real!(writer, f64x2_mul, f32x4_mul);
                }
                real!(writer, f64x2_add, f32x4_add);
                writer.ops().local_set(high);
            }
        }
    }

    /// Sums go to memory, with where they are finite.
    fn store(&mut self, writer: &mut Writer, valid: u32, sums: &[Sum]) {
        let n = self.form.columns;
        let diagonal = (0..n).map(|i| 1 + n + i * (i + 1) / 2 + i);
        for number in (0..1 + n).chain(diagonal) {
            writer.ops().local_get(sums[number as usize].high);
            real!(writer, f64x2_abs, f32x4_abs);
            self.number(writer, f64::INFINITY);
            real!(writer, f64x2_lt, f32x4_lt);
            writer.ops().local_get(valid).v128_and().local_set(valid);
        }
        let (group, place) = (writer.locals.reals, place(0, writer.module.real));
        let mut store = |number: u32, push: &mut dyn FnMut(&mut Writer)| {
            let target = writer.locals.targets + number;
            writer.ops().local_get(target).local_get(group).i32_add();
            push(writer);
            writer.ops().v128_store(place);
        };
        store(0, &mut |writer| {
            writer.ops().local_get(valid);
            self.number(writer, 1.0);
            writer.ops().v128_and();
        });
        for (number, sum) in (0..).zip(sums) {
            store(1 + number, &mut |writer| {
                writer.ops().local_get(sum.high);
            });
            if let Some(low) = sum.low {
                store(1 + sums.len() as u32 + number, &mut |writer| {
                    writer.ops().local_get(low);
                });
            }
        }
    }

    fn step(&mut self, writer: &mut Writer, step: &Step<Value>) {
        let Step::Unary { operation: Unary::Exp, operand, out } = *step else { return writer.step(step) };
        writer.push(operand);
        writer.used(operand);
        let local = writer.fresh();
        writer.ops().local_set(local);
        let exponential = self.exp(writer, local);
        writer.ops().local_get(exponential);
        writer.define(out);
    }
}

/// The value of a column.
fn value_of(program: &Program, column: u32) -> Value {
    program.stores.iter().find(|(store, _)| *store == Store::Tile(column)).expect("a column of a fit's program").1
}

/// What is on the stack goes into a compensated sum.
fn compensated(writer: &mut Writer, sum: Sum, addend: u32, next: u32) {
    let (high, low) = (sum.high, sum.low.expect("a low part"));
    writer.ops().local_get(low);
    real!(writer, f64x2_sub, f32x4_sub);
    writer.ops().local_tee(addend).local_get(high);
    real!(writer, f64x2_add, f32x4_add);
    writer.ops().local_tee(next).local_get(high);
    real!(writer, f64x2_sub, f32x4_sub);
    writer.ops().local_get(addend);
    real!(writer, f64x2_sub, f32x4_sub);
    writer.ops().local_set(low).local_get(next).local_set(high);
}
