//! The steps of a program on a vector of lanes: two items in f64, four in f32.

use super::module::Gather;
use super::phases::slot_bytes;
use super::write::{Locals, Writer, place};
use crate::block::{self, Source, Step};
use leastwise_program::{Binary, Unary, Value};

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

pub(super) use real;

impl Writer<'_> {
    /// Stores lanes in a slot.
    pub fn keep(&mut self, slot: u32, value: impl FnOnce(&mut Self)) {
        let (lane, place) = (self.locals.lane, self.place(slot * slot_bytes(self.module.real)));
        self.ops().local_get(lane);
        value(self);
        self.ops().v128_store(place);
    }

    /// What is on the stack is the lanes of a value.
    pub fn define(&mut self, value: Value) {
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
    pub fn used(&mut self, value: Value) {
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
    pub fn push(&mut self, value: Value) {
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
    pub fn push_mask(&mut self, value: Value) {
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

    pub fn step(&mut self, step: &Step<Value>) {
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
            Step::Unary { operation, .. } => operation.is_truth(),
            Step::Binary { operation, .. } => operation.is_truth(),
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
            Unary::IsNan => {
                self.push(operand);
                real!(self, f64x2_ne, f32x4_ne);
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
