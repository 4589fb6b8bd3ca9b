//! Programs of whole numbers: int32 in two's complement, whose arithmetic wraps, and truths as 0 and 1.
//!
//! They stand beside the programs of reals, because f32 has no whole numbers beyond 2²⁴ and its algebra is another: no simplification
//! of reals is right for numbers that wrap. What every operation gives is defined for all operands, and is the same on every device.

use std::collections::HashMap;

/// Operations on one number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WordUnary {
    /// −a; −2³¹ stays itself.
    Neg,
    /// |a|; −2³¹ stays itself.
    Abs,
    /// −1, 0 or 1.
    Sign,
    /// Every bit the other one.
    Not,
}

/// Operations on two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WordBinary {
    /// a + b
    Add,
    /// a − b
    Sub,
    /// a · b
    Mul,
    /// ⌊a/b⌋; 0 for b = 0.
    FloorDivide,
    /// a − b⌊a/b⌋, of b's sign; 0 for b = 0.
    Mod,
    /// aᵇ; for b < 0 its whole part: 0, but for a = ±1.
    Pow,
    /// The smaller one.
    Min,
    /// The larger one.
    Max,
    /// 1 where a < b.
    Lt,
    /// 1 where a ≤ b.
    Le,
    /// 1 where a = b.
    Eq,
    /// 1 where a ≠ b.
    Ne,
    /// Bits of both.
    And,
    /// Bits of either.
    Or,
    /// Bits of one of them alone.
    Xor,
    /// a · 2ᵇ; 0 unless 0 ≤ b < 32.
    ShiftLeft,
    /// ⌊a/2ᵇ⌋; 0 or −1, as the sign says, unless 0 ≤ b < 32.
    ShiftRight,
}

impl WordUnary {
    /// Value of the operation.
    #[inline(always)]
    pub fn apply(self, a: i32) -> i32 {
        match self {
            Self::Neg => a.wrapping_neg(),
            Self::Abs => a.wrapping_abs(),
            Self::Sign => i32::from(a > 0) - i32::from(a < 0),
            Self::Not => !a,
        }
    }
}

impl WordBinary {
    /// Value of the operation.
    #[inline(always)]
    pub fn apply(self, a: i32, b: i32) -> i32 {
        match self {
            Self::Add => a.wrapping_add(b),
            Self::Sub => a.wrapping_sub(b),
            Self::Mul => a.wrapping_mul(b),
            Self::FloorDivide if b == 0 => 0,
            Self::FloorDivide => a.wrapping_div_euclid(b).wrapping_sub(i32::from(b < 0 && a.wrapping_rem_euclid(b) != 0)),
            Self::Mod if b == 0 => 0,
            Self::Mod => {
                let rest = a.wrapping_rem_euclid(b);
                if b < 0 && rest != 0 { rest.wrapping_add(b) } else { rest }
            }
            Self::Pow => power(a, b),
            Self::Min => a.min(b),
            Self::Max => a.max(b),
            Self::Lt => i32::from(a < b),
            Self::Le => i32::from(a <= b),
            Self::Eq => i32::from(a == b),
            Self::Ne => i32::from(a != b),
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
            Self::ShiftLeft => (a as u32).checked_shl(b as u32).unwrap_or(0) as i32,
            Self::ShiftRight => a >> (b as u32).min(31),
        }
    }
}

/// aᵇ, which wraps.
fn power(a: i32, b: i32) -> i32 {
    match (a, b) {
        (1, _) => 1,
        (-1, _) => 1 - 2 * (b & 1),
        (_, ..0) => 0,
        _ => a.wrapping_pow(b as u32),
    }
}

/// A step of a program, whose operands are numbers of earlier ones.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WordStep {
    /// Element of a view.
    View(u32),
    /// The same number everywhere.
    Constant(i32),
    /// Operation on one number.
    Unary(WordUnary, u32),
    /// Operation on two numbers.
    Binary(WordBinary, u32, u32),
    /// The second where the first is not 0, else the third.
    Select(u32, u32, u32),
}

/// A program, each step of which there is once: operands come first, and the result is one of them.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct WordProgram {
    /// Steps in the order in which they run.
    pub steps: Vec<WordStep>,
    /// Number of the step that is the result.
    pub result: u32,
}

/// A program while it is being made.
#[derive(Clone, Default, Debug)]
pub struct WordGraph {
    steps: Vec<WordStep>,
    known: HashMap<WordStep, u32>,
}

impl WordGraph {
    /// The number of a step, which is added where there is none like it; of constants it is their value.
    pub fn step(&mut self, step: WordStep) -> u32 {
        let constant = |number: u32| match self.steps[number as usize] {
            WordStep::Constant(value) => Some(value),
            _ => None,
        };
        let value = match step {
            WordStep::Unary(operation, a) => constant(a).map(|a| operation.apply(a)),
            WordStep::Binary(operation, a, b) => constant(a).zip(constant(b)).map(|(a, b)| operation.apply(a, b)),
            _ => None,
        };
        let step = value.map_or(step, WordStep::Constant);
        if let Some(&known) = self.known.get(&step) {
            return known;
        }
        self.steps.push(step);
        let number = self.steps.len() as u32 - 1;
        self.known.insert(step, number);
        number
    }

    /// The steps of a program whose views are these.
    pub fn write(&mut self, program: &WordProgram, views: &[u32]) -> u32 {
        let mut written: Vec<u32> = Vec::with_capacity(program.steps.len());
        for step in &program.steps {
            let at = |number: u32| written[number as usize];
            let number = match *step {
                WordStep::View(view) => views[view as usize],
                WordStep::Constant(value) => self.step(WordStep::Constant(value)),
                WordStep::Unary(operation, a) => self.step(WordStep::Unary(operation, at(a))),
                WordStep::Binary(operation, a, b) => self.step(WordStep::Binary(operation, at(a), at(b))),
                WordStep::Select(condition, then, otherwise) => self.step(WordStep::Select(at(condition), at(then), at(otherwise))),
            };
            written.push(number);
        }
        written[program.result as usize]
    }

    /// The program whose result is one of the steps; what comes after that is not its.
    pub fn program(&self, result: u32) -> WordProgram {
        WordProgram { steps: self.steps[..=result as usize].to_vec(), result }
    }

    /// Number of steps.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// True if there are no steps.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}
