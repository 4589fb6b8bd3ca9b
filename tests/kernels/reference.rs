//! A scalar interpreter in f64 that carries, with every value, a bound on how far another evaluation in some
//! precision may be from it (running error analysis: Higham, *Accuracy and Stability of Numerical Algorithms*, 3.3).

use super::play::Case;
use leastwise::device::Precision;
use leastwise::kernel::*;

/// A value and its error bound; the bound is infinite where nothing can be said (a comparison within the error,
/// an overflow, a NaN).
#[derive(Clone, Copy, Debug)]
pub struct Bounded {
    pub value: f64,
    pub error: f64,
}

const UNKNOWN: Bounded = Bounded { value: f64::NAN, error: f64::INFINITY };

impl Bounded {
    fn exact(value: f64) -> Self {
        Self { value, error: 0.0 }
    }

    pub fn known(self) -> bool {
        self.value.is_finite() && self.error.is_finite()
    }
}

struct Scalar<'a> {
    case: &'a Case,
    instance: usize,
    unit: f64,
    tiny: f64,
    huge: f64,
}

/// Every stored value of one instance, in the order of the stores.
pub fn evaluate(case: &Case, instance: usize, precision: Precision) -> Vec<Bounded> {
    let (unit, tiny, huge) = match precision {
        Precision::F32 => (2f64.powi(-24), 2f64.powi(-149), 1e37),
        Precision::F64 => (2f64.powi(-53), 1e-300, 1e300),
    };
    let scalar = Scalar { case, instance, unit, tiny, huge };
    let mut values: Vec<Bounded> = Vec::new();
    for instruction in &case.program.instructions {
        let value = scalar.instruction(*instruction, &values);
        values.push(value);
    }
    case.program.stores.iter().map(|(_, value)| values[*value as usize]).collect()
}

impl Scalar<'_> {
    fn column(&self, number: u32) -> usize {
        number as usize * self.case.count as usize + self.instance
    }

    fn load(&self, load: Load) -> f64 {
        let Case { program, arena, data, index, vector, jacobian, .. } = self.case;
        let gathered = |address: u32, component: u32| {
            let Address { base, column, stride } = program.addresses[address as usize];
            (index[base as usize] + index[program.header as usize + self.column(column)] * stride + component) as usize
        };
        match load {
            Load::Arena { address, component } => arena[gathered(address, component)],
            Load::Vector { address, component } => vector[gathered(address, component)],
            Load::Shared(k) => data[k as usize],
            Load::Data(k) => data[program.shared as usize + self.column(k)],
            Load::Jacobian(k) => jacobian[self.column(k)],
        }
    }

    /// Both evaluations round once (sin and cos: within 2 ulp).
    fn rounded(&self, value: f64, propagated: f64, roundings: f64) -> Bounded {
        let error = propagated + 2.0 * roundings * self.unit * (value.abs() + propagated) + self.tiny;
        if value.abs() + error < self.huge { Bounded { value, error } } else { UNKNOWN }
    }

    fn truth(&self, a: Bounded) -> Option<bool> {
        (a.known() && (a.error == 0.0 || a.value.abs() > a.error)).then_some(a.value != 0.0)
    }

    fn boolean(holds: Option<bool>) -> Bounded {
        holds.map_or(UNKNOWN, |holds| Bounded::exact(if holds { 1.0 } else { 0.0 }))
    }

    fn instruction(&self, instruction: Instruction, values: &[Bounded]) -> Bounded {
        let at = |value: Value| values[value as usize];
        match instruction {
            Instruction::Const(value) => Bounded::exact(value),
            Instruction::Load(load) => Bounded::exact(self.load(load)),
            Instruction::Unary(operation, a) => self.unary(operation, at(a)),
            Instruction::Binary(operation, a, b) => self.binary(operation, at(a), at(b)),
            Instruction::MulAdd(a, b, c) => self.binary(Binary::Add, self.binary(Binary::Mul, at(a), at(b)), at(c)),
            Instruction::Select { condition, then, otherwise } => match self.truth(at(condition)) {
                Some(true) => at(then),
                Some(false) => at(otherwise),
                None => UNKNOWN,
            },
        }
    }

    fn unary(&self, operation: Unary, a: Bounded) -> Bounded {
        if !a.known() {
            return UNKNOWN;
        }
        match operation {
            Unary::Neg => Bounded { value: -a.value, error: a.error },
            Unary::Sqrt if a.value < a.error || a.value < 0.0 => UNKNOWN,
            Unary::Sqrt if a.value == 0.0 => Bounded::exact(0.0),
            Unary::Sqrt => self.rounded(a.value.sqrt(), a.error / a.value.sqrt(), 1.0),
            Unary::Sin => self.rounded(a.value.sin(), a.error, 4.0),
            Unary::Cos => self.rounded(a.value.cos(), a.error, 4.0),
            Unary::Not => Self::boolean(self.truth(a).map(|a| !a)),
            _ => UNKNOWN,
        }
    }

    fn binary(&self, operation: Binary, a: Bounded, b: Bounded) -> Bounded {
        if !a.known() || !b.known() {
            return UNKNOWN;
        }
        let apart = (a.value - b.value).abs() > a.error + b.error || a.error + b.error == 0.0;
        match operation {
            Binary::Add => self.rounded(a.value + b.value, a.error + b.error, 1.0),
            Binary::Sub => self.rounded(a.value - b.value, a.error + b.error, 1.0),
            Binary::Mul => {
                let propagated = a.value.abs() * b.error + b.value.abs() * a.error + a.error * b.error;
                self.rounded(a.value * b.value, propagated, 1.0)
            }
            Binary::Div if b.value.abs() <= 2.0 * b.error || b.value == 0.0 => UNKNOWN,
            Binary::Div => {
                let quotient = a.value / b.value;
                self.rounded(quotient, (a.error + quotient.abs() * b.error) / (b.value.abs() - b.error), 1.0)
            }
            Binary::Lt => Self::boolean(apart.then_some(a.value < b.value)),
            Binary::Le => Self::boolean(apart.then_some(a.value <= b.value)),
            Binary::And => Self::boolean(self.truth(a).zip(self.truth(b)).map(|(a, b)| a && b)),
            Binary::Or => Self::boolean(self.truth(a).zip(self.truth(b)).map(|(a, b)| a || b)),
            _ => UNKNOWN,
        }
    }
}
