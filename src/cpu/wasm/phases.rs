//! A program cut into phases at the functions that it calls.
//!
//! sin, exp and their like are loops over a strip of lanes that the block interpreter has already. So a program that calls
//! them goes over a strip of [`LANES`] items in several phases: one computes the operands of calls, the calls follow, the next
//! goes on with their results. What a later phase needs is kept in *slots*, a strip of lanes each. Everything is computed as
//! late as it can be, in the phase of its first use, so that little has to be kept.

use crate::block::{LANES, Step};
use leastwise_program::{Binary, Instruction, Numerics, Program, Unary, Value};

/// Bytes of a slot, where a real has so many.
pub fn slot_bytes(real: u32) -> u32 {
    LANES as u32 * real
}

/// A function that is called, by the number that [`apply`](super::apply) knows it by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    pub function: u32,
    /// Slots of what it computes; sin and cos are one call.
    pub outputs: [u32; 2],
    pub operands: [u32; 2],
}

/// One loop over the items of a strip, and the calls after it.
#[derive(Default)]
pub struct Phase {
    pub steps: Vec<Step<Value>>,
    /// Columns and what all items share, copied into slots for the calls.
    pub copies: Vec<(Value, u32)>,
    pub calls: Vec<Call>,
}

pub struct Phases {
    pub list: Vec<Phase>,
    /// The slot of every value that has one.
    pub slots: Vec<Option<u32>>,
    /// How many there are.
    pub count: u32,
}

/// The functions, by number: [`SIN_COS`], then those of one operand, then those of two.
pub const SIN_COS: u32 = 0;

pub fn unary_function(operation: Unary) -> Option<u32> {
    match operation.numerics() {
        Numerics::Instruction | Numerics::BuiltIn(_) | Numerics::SinCos(_) => None,
        Numerics::Function(_) | Numerics::OfTurn(_) => Some(1 + operation as u32),
    }
}

pub fn binary_function(operation: Binary) -> Option<u32> {
    matches!(operation.numerics(), Numerics::Function(_)).then_some(1 + Unary::ALL.len() as u32 + operation as u32)
}

/// Whether a program calls functions, so that it goes over strips.
pub fn calls(program: &Program) -> bool {
    program.instructions.iter().any(|instruction| match *instruction {
        Instruction::Unary(operation, _) => matches!(operation.numerics(), Numerics::SinCos(_)) || unary_function(operation).is_some(),
        Instruction::Binary(operation, ..) => binary_function(operation).is_some(),
        _ => false,
    })
}

/// The number of the function that a step calls, if it is one.
fn function(step: &Step<Value>) -> Option<u32> {
    match *step {
        Step::SinCos { .. } => Some(SIN_COS),
        Step::Unary { operation, .. } => unary_function(operation),
        Step::Binary { operation, .. } => binary_function(operation),
        _ => None,
    }
}

/// The phase of every step.
fn times(steps: &[Step<Value>], values: usize) -> Vec<u32> {
    // The first phase that each value can be used in, and the calls'.
    let (mut ready, mut at) = (vec![0; values], vec![0; steps.len()]);
    for (step, at) in steps.iter().zip(&mut at) {
        *at = step.operands().map(|operand| ready[operand as usize]).max().unwrap_or(0);
        let known = *at + u32::from(function(step).is_some());
        step.outputs().for_each(|output| ready[output as usize] = known);
    }
    // As late as the first use.
    let mut needed: Vec<Option<u32>> = vec![None; values];
    for (step, at) in steps.iter().zip(&mut at).rev() {
        if matches!(step, Step::Store { .. }) {
            continue;
        }
        if function(step).is_none() {
            *at = step.outputs().find_map(|output| needed[output as usize]).unwrap_or(*at);
        }
        for operand in step.operands() {
            let needed = &mut needed[operand as usize];
            *needed = Some(needed.map_or(*at, |earlier| earlier.min(*at)));
        }
    }
    // What is computed is stored at once.
    let mut known = ready;
    for (step, at) in steps.iter().zip(&mut at) {
        match step {
            Step::Store { value, .. } => *at = known[*value as usize],
            _ if function(step).is_none() => step.outputs().for_each(|output| known[output as usize] = *at),
            _ => {}
        }
    }
    at
}

impl Phases {
    pub fn new(program: &Program, steps: &[Step<Value>]) -> Self {
        // The number after the last value stands for results that nobody wants.
        let nobody = program.instructions.len();
        let at = times(steps, nobody + 1);
        let length = 1 + at.iter().copied().max().unwrap_or(0);
        // What steps compute, and the last phase that a value is needed in.
        let (mut computed, mut last, mut called) = (vec![false; nobody + 1], vec![0; nobody + 1], vec![false; nobody + 1]);
        for (step, &at) in steps.iter().zip(&at) {
            step.outputs().for_each(|output| computed[output as usize] = true);
            for operand in step.operands() {
                last[operand as usize] = last[operand as usize].max(at);
                called[operand as usize] |= function(step).is_some();
            }
        }
        let mut phases = Self { list: Vec::new(), slots: vec![None; nobody + 1], count: 0 };
        let (mut free, mut held) = (Vec::new(), Vec::new());
        let mut by_phase: Vec<Vec<&Step<Value>>> = vec![Vec::new(); length as usize];
        steps.iter().zip(&at).for_each(|(step, &at)| by_phase[at as usize].push(step));
        for (number, here) in (0..length).zip(by_phase) {
            let mut phase = Phase::default();
            for step in here.iter().filter(|step| function(step).is_none()) {
                for output in step.outputs().filter(|output| called[*output as usize] || last[*output as usize] > number) {
                    held.push(output);
                    phases.slots[output as usize] = Some(phases.slot(&mut free));
                }
                phase.steps.push(**step);
            }
            for (function, step) in here.iter().filter_map(|step| Some((function(step)?, step))) {
                let mut operands = [0; 2];
                for (operand, place) in step.operands().zip(&mut operands) {
                    let copied = phase.copies.iter().find(|(copied, _)| *copied == operand).map(|(_, slot)| *slot);
                    *place = copied.or(phases.slots[operand as usize].filter(|_| computed[operand as usize])).unwrap_or_else(|| {
                        let slot = phases.slot(&mut free);
                        phase.copies.push((operand, slot));
                        slot
                    });
                }
                let mut outputs = [0; 2];
                for (output, place) in step.outputs().zip(&mut outputs) {
                    *place = phases.slots[output as usize].unwrap_or_else(|| phases.slot(&mut free));
                    phases.slots[output as usize] = Some(*place);
                    if output as usize != nobody {
                        held.push(output);
                    }
                }
                phase.calls.push(Call { function, outputs, operands });
            }
            free.extend(phase.copies.iter().map(|(_, slot)| *slot));
            held.retain(|&value| {
                let needed = last[value as usize] > number;
                free.extend(phases.slots[value as usize].filter(|_| !needed));
                needed
            });
            phases.list.push(phase);
        }
        phases
    }

    fn slot(&mut self, free: &mut Vec<u32>) -> u32 {
        free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        })
    }
}
