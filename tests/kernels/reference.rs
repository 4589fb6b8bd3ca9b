//! What a case must leave, with error bounds.

use super::bounds::{self, Arithmetic, Bounded};
use super::play::Case;
use leastwise::device::Precision;
use leastwise::program::*;

/// Every stored value of one instance, in the order of the stores.
pub fn evaluate(case: &Case, instance: usize, precision: Precision) -> Vec<Bounded> {
    let arithmetic = match precision {
        Precision::F32 => Arithmetic::F32,
        Precision::F32x2 | Precision::F64 => Arithmetic::F64,
    };
    let Case { program, arena, data, index, vector, jacobian, .. } = case;
    let column = |number: u32| number as usize * case.count as usize + instance;
    let gathered = |address: u32, component: u32| {
        let Address { base, column: number, stride } = program.addresses[address as usize];
        (index[base as usize] + index[program.header as usize + column(number)] * stride + component) as usize
    };
    bounds::evaluate(program, arithmetic, |load| match load {
        Load::Arena { address, component } => arena[gathered(address, component)],
        Load::Vector { address, component } => vector[gathered(address, component)],
        Load::Shared(k) => data[k as usize],
        Load::Data(k) => data[program.shared as usize + column(k)],
        Load::Jacobian(k) => jacobian[column(k)],
        Load::Given(_) => unreachable!("nothing stands around these programs"),
    })
}
