//! eᵃ as instructions of a vector: operation by operation that of `block::exponential`.

use super::fit::Sums;
use super::steps::real;
use super::write::Writer;
use crate::block::exponential::{SINGLE, TAIL};
use crate::block::numbers;

/// Instructions on locals, each of which has its result in a local of its own.
struct Lanes<'a, 'b, 'c, 'd> {
    writer: &'a mut Writer<'b>,
    sums: &'c mut Sums<'d>,
}

macro_rules! operations {
    ($($name:ident, $double:ident, $single:ident;)*) => {
        $(fn $name(&mut self, a: u32, b: u32) -> u32 {
            self.writer.ops().local_get(a).local_get(b);
            let writer = &mut *self.writer;
            real!(writer, $double, $single);
            self.set()
        })*
    };
}

impl Lanes<'_, '_, '_, '_> {
    operations! {
        add, f64x2_add, f32x4_add;
        sub, f64x2_sub, f32x4_sub;
        mul, f64x2_mul, f32x4_mul;
        // The first operand, but for what is beyond the second.
        at_most, f64x2_pmin, f32x4_pmin;
        at_least, f64x2_pmax, f32x4_pmax;
    }

    fn set(&mut self) -> u32 {
        let local = self.writer.fresh();
        self.writer.ops().local_set(local);
        local
    }

    fn number(&mut self, number: f64) -> u32 {
        self.sums.held(self.writer, number)
    }

    fn times(&mut self, a: u32, number: f64) -> u32 {
        let number = self.number(number);
        self.mul(a, number)
    }

    /// a·b + c for a number c.
    fn horner(&mut self, number: f64, a: u32, b: u32) -> u32 {
        let (product, number) = (self.mul(a, b), self.number(number));
        self.add(number, product)
    }

    /// Added to a small number, it leaves the nearest integer in the lowest bits of the sum.
    fn round(&mut self) -> u32 {
        self.number(if self.writer.module.real == 8 { numbers::ROUND } else { SINGLE.round.into() })
    }

    /// 2ⁿ for the sum of n and [`round`](Self::round).
    fn power_of_two(&mut self, sum: u32) -> u32 {
        self.writer.ops().local_get(sum);
        match self.writer.module.real {
            8 => self.writer.ops().v128_const(i128::from(1023u64) * (1 << 64 | 1)).i64x2_add().i32_const(52).i64x2_shl(),
            _ => self.writer.ops().v128_const(127 * (1 << 96 | 1 << 64 | 1 << 32 | 1)).i32x4_add().i32_const(23).i32x4_shl(),
        };
        self.set()
    }

    /// a·2ⁿ in two steps.
    fn scaled(&mut self, a: u32, n: u32) -> u32 {
        let round = self.round();
        let half = self.times(n, 0.5);
        let sum = self.add(half, round);
        let half = self.sub(sum, round);
        let rest = self.sub(n, half);
        let rest = self.add(rest, round);
        let [first, second] = [sum, rest].map(|sum| self.power_of_two(sum));
        let a = self.mul(a, first);
        self.mul(a, second)
    }

    fn nearest(&mut self, a: u32, scale: f64) -> u32 {
        let (a, round) = (self.times(a, scale), self.round());
        let sum = self.add(a, round);
        self.sub(sum, round)
    }

    fn single(&mut self, a: u32) -> u32 {
        let [most, least] = SINGLE.range.map(|number| self.number(number.into()));
        let a = self.at_most(a, most);
        let a = self.at_least(a, least);
        let n = self.nearest(a, std::f32::consts::LOG2_E.into());
        let [large, small] = SINGLE.ln_2.map(|part| self.times(n, part.into()));
        let r = self.sub(a, large);
        let r = self.add(r, small);
        let mut q = self.number(SINGLE.tail[4].into());
        for coefficient in SINGLE.tail[..4].iter().rev() {
            q = self.horner((*coefficient).into(), r, q);
        }
        let square = self.mul(r, r);
        let rest = self.mul(square, q);
        let rest = self.add(r, rest);
        let one = self.number(1.0);
        let sum = self.add(one, rest);
        self.scaled(sum, n)
    }

    fn double(&mut self, a: u32) -> u32 {
        let [most, least] = [800.0, -800.0].map(|number| self.number(number));
        let a = self.at_least(a, least);
        let a = self.at_most(a, most);
        let n = self.nearest(a, std::f64::consts::LOG2_E);
        let [large, small] = numbers::LN2.map(|part| self.times(n, part));
        let first = self.sub(a, large);
        let r = self.sub(first, small);
        let c = self.sub(first, r);
        let c = self.sub(c, small);
        // 1 + r and its rounding error.
        let unit = self.number(1.0);
        let one = self.add(unit, r);
        let rest = self.sub(unit, one);
        let rest = self.add(rest, r);
        let tail = self.tail(r, c);
        let rest = self.add(rest, tail);
        let sum = self.add(one, rest);
        self.scaled(sum, n)
    }

    fn tail(&mut self, r: u32, c: u32) -> u32 {
        let square = self.mul(r, r);
        let fourth = self.mul(square, square);
        let mut chains = [None; 4];
        for (k, coefficient) in TAIL.into_iter().enumerate().rev() {
            chains[k % 4] = Some(match chains[k % 4] {
                Some(chain) => self.horner(coefficient, fourth, chain),
                None => self.number(coefficient),
            });
        }
        let [a, b, c2, d] = chains.map(|chain| chain.expect("more than four coefficients"));
        let b = self.mul(r, b);
        let low = self.add(a, b);
        let d = self.mul(r, d);
        let high = self.add(c2, d);
        let high = self.mul(square, high);
        let q = self.add(low, high);
        let product = self.mul(square, q);
        let cr = self.mul(c, r);
        let c = self.add(c, cr);
        self.add(product, c)
    }
}

impl Sums<'_> {
    /// eᵃ of a local, in another one.
    pub fn exp(&mut self, writer: &mut Writer, a: u32) -> u32 {
        let is_double = writer.module.real == 8;
        let mut lanes = Lanes { writer, sums: self };
        if is_double { lanes.double(a) } else { lanes.single(a) }
    }
}
