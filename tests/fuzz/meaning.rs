//! What every instruction means, in plain f64 with derivatives, from its documentation alone.

use super::dual::{Dual, Machine, State};
use super::geometry;
use super::spectral;
use super::traced::{Statement, Traced};
use leastwise::expr::Opcode;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, LN_2, LN_10};

pub type Value<const N: usize> = Vec<Dual<N>>;

/// The engine's eigenvectors of some statements: their signs are free, so the evaluator takes them from there.
pub type Hints = std::collections::HashMap<usize, Vec<f64>>;

/// The values of all statements at a point.
pub fn evaluate<const N: usize>(machine: &mut Machine, traced: &Traced, point: &[f64], hints: &Hints) -> Vec<Value<N>> {
    let places = places(traced);
    let mut values: Vec<Value<N>> = Vec::new();
    for statement in &traced.statements {
        let value = step(machine, traced, statement, &values, point, &places, hints);
        values.push(value);
    }
    values
}

/// For every scalar of a point, its number among the variables.
pub fn places(traced: &Traced) -> Vec<Option<usize>> {
    let mut places = vec![None; traced.scalars()];
    traced.variables().into_iter().enumerate().for_each(|(number, place)| places[place] = Some(number));
    places
}

/// The value of one statement.
pub fn step<const N: usize>(
    machine: &mut Machine,
    traced: &Traced,
    statement: &Statement,
    values: &[Value<N>],
    point: &[f64],
    places: &[Option<usize>],
    hints: &Hints,
) -> Value<N> {
    let words = &statement.words;
    match statement.opcode {
        Opcode::Literal => vec![Dual::constant(statement.value())],
        Opcode::Input => {
            let first = traced.offset(words[0] as usize);
            let width = traced.inputs[words[0] as usize].width as usize;
            (first..first + width).map(|place| Dual::input(point[place], places[place])).collect()
        }
        Opcode::Component => vec![values[words[0] as usize][words[1] as usize]],
        Opcode::PowInt => values[words[0] as usize].clone().into_iter().map(|a| power(machine, a, words[1] as i32)).collect(),
        opcode => {
            let operands: Vec<Value<N>> = words.iter().map(|&word| values[word as usize].clone()).collect();
            let hint = hints.get(&values.len()).map(Vec::as_slice);
            apply(machine, opcode, &operands, hint)
        }
    }
}

fn apply<const N: usize>(machine: &mut Machine, opcode: Opcode, operands: &[Value<N>], hint: Option<&[f64]>) -> Value<N> {
    use Opcode::*;
    let first = &operands[0];
    match (opcode, operands) {
        (Pack, _) => operands.concat(),
        (Neg | Square | Cube | Sqrt | Sin | Cos | Abs | Sign | Floor | Ceil | Round | Fract, _) => {
            first.iter().map(|&a| unary(machine, opcode, a)).collect()
        }
        (Add | Sub | Mul | Div, [a, b]) => {
            let width = if a.len() == 1 { b.len() } else { a.len() };
            let at = |v: &Value<N>, k: usize| if v.len() == 1 { v[0] } else { v[k] };
            (0..width)
                .map(|k| match opcode {
                    Add => machine.add(at(a, k), at(b, k)),
                    Sub => machine.sub(at(a, k), at(b, k)),
                    Mul => machine.mul(at(a, k), at(b, k)),
                    _ => machine.div(at(a, k), at(b, k)),
                })
                .collect()
        }
        (Sum | Mean, _) => {
            let scale = if opcode == Mean { 1.0 / operands.len() as f64 } else { 1.0 };
            (0..first.len())
                .map(|k| {
                    let sum = operands[1..].iter().fold(first[k], |sum, other| machine.add(sum, other[k]));
                    machine.times(sum, scale)
                })
                .collect()
        }
        (Select, [condition, then, otherwise]) => select(machine, condition[0], then, otherwise),
        (Mix, [a, b, t]) => (0..a.len())
            .map(|k| {
                let t = if t.len() == 1 { t[0] } else { t[k] };
                let rest = machine.sub(Dual::constant(1.0), t);
                let (left, right) = (machine.mul(a[k], rest), machine.mul(b[k], t));
                machine.add(left, right)
            })
            .collect(),
        (EigenSymmetric, [m]) => spectral::eigen(machine, m, hint),
        (ClosestRotation, [m]) => spectral::closest_rotation(machine, m),
        (
            Dot | Cross | Norm | NormSq | Normalize | RotateXYZ | MatVec | Distance | AngleBetween | MatMul | Transpose | Determinant
            | Inverse | QuatMul | QuatConjugate | QuatInverse | QuatRotate | QuatFromAngleAxis | QuatToAngleAxis | QuatFromMatrix
            | QuatToMatrix | QuatExp | QuatLog | TriangleArea | TriangleNormal | DihedralAngle | Cotangent,
            _,
        ) => geometry::apply(machine, opcode, operands),
        _ => {
            let scalars: Vec<Dual<N>> = operands.iter().map(|operand| operand[0]).collect();
            vec![scalar(machine, opcode, &scalars)]
        }
    }
}

fn select<const N: usize>(machine: &mut Machine, condition: Dual<N>, then: &[Dual<N>], otherwise: &[Dual<N>]) -> Value<N> {
    let taken = if machine.decide(condition.value != 0.0) { then } else { otherwise };
    // Where both branches are one value, the engine drops the condition.
    let unsure = condition.state.min(State::Doubtful);
    let same = |a: &Dual<N>, b: &Dual<N>| a.value == b.value && a.slopes == b.slopes;
    let branches = taken.iter().zip(then.iter().zip(otherwise));
    branches
        .map(|(&branch, (a, b))| match condition.state {
            // It may well be the other one.
            State::Doubtful => Dual { state: State::Doubtful, ..branch },
            state => branch.within(if same(a, b) { unsure } else { state }),
        })
        .collect()
}

fn truth<const N: usize>(machine: &mut Machine, operands: [Dual<N>; 2], holds: bool) -> Dual<N> {
    let holds = machine.decide(holds);
    let state = operands[0].state.max(operands[1].state);
    Dual { state, ..Dual::constant(f64::from(holds)) }
}

/// a < b and a ≤ b, which also leave in the trace whether the two are equal.
fn compare<const N: usize>(machine: &mut Machine, a: Dual<N>, b: Dual<N>, or_equal: bool) -> Dual<N> {
    let holds = if or_equal { a.value <= b.value } else { a.value < b.value };
    machine.decide(a.value == b.value);
    truth(machine, [a, b], holds)
}

/// `and` (deciding value: false) and `or` (true); a constant that decides makes the engine drop the other operand.
fn logic<const N: usize>(machine: &mut Machine, a: Dual<N>, b: Dual<N>, deciding: bool) -> Dual<N> {
    let (left, right) = (a.value != 0.0, b.value != 0.0);
    let result = truth(machine, [a, b], if deciding { left || right } else { left && right });
    let decides = |x: Dual<N>, holds: bool| x.state != State::Undefined && holds == deciding;
    if result.state == State::Undefined && (decides(a, left) || decides(b, right)) {
        return Dual { state: State::Doubtful, ..result };
    }
    result
}

pub fn minimum<const N: usize>(machine: &mut Machine, a: Dual<N>, b: Dual<N>) -> Dual<N> {
    let left = compare(machine, a, b, true).value != 0.0;
    let (taken, other) = if left { (a, b) } else { (b, a) };
    taken.within(other.state)
}

pub fn maximum<const N: usize>(machine: &mut Machine, a: Dual<N>, b: Dual<N>) -> Dual<N> {
    let left = compare(machine, b, a, true).value != 0.0;
    let (taken, other) = if left { (a, b) } else { (b, a) };
    taken.within(other.state)
}

fn clamp<const N: usize>(machine: &mut Machine, x: Dual<N>, low: Dual<N>, high: Dual<N>) -> Dual<N> {
    let raised = maximum(machine, x, low);
    minimum(machine, raised, high)
}

/// The instructions of scalars, and those that go element by element.
fn scalar<const N: usize>(machine: &mut Machine, opcode: Opcode, operands: &[Dual<N>]) -> Dual<N> {
    use Opcode::*;
    let zero = Dual::constant(0.0);
    match (opcode, operands) {
        (Lt, &[a, b]) => compare(machine, a, b, false),
        (Le, &[a, b]) => compare(machine, a, b, true),
        (Step, &[edge, x]) => compare(machine, edge, x, true),
        (Eq, &[a, b]) => truth(machine, [a, b], a.value == b.value),
        (Ne, &[a, b]) => truth(machine, [a, b], a.value != b.value),
        (And, &[a, b]) => logic(machine, a, b, false),
        (Or, &[a, b]) => logic(machine, a, b, true),
        (Not, &[a]) => truth(machine, [a, a], a.value == 0.0),
        (Min, [first, others @ ..]) => others.iter().fold(*first, |least, &x| minimum(machine, least, x)),
        (Max, [first, others @ ..]) => others.iter().fold(*first, |greatest, &x| maximum(machine, greatest, x)),
        (Clamp, &[x, low, high]) => clamp(machine, x, low, high),
        (Smoothstep, &[low, high, x]) => {
            let (above, range) = (machine.sub(x, low), machine.sub(high, low));
            let t = machine.div(above, range);
            let t = clamp(machine, t, zero, Dual::constant(1.0));
            let value = t.value * t.value * (3.0 - 2.0 * t.value);
            machine.chain(t, value, 6.0 * t.value * (1.0 - t.value))
        }
        (Mod, &[a, b]) => modulo(machine, a, b),
        (Pow, &[a, b]) => general_power(machine, a, b),
        (Atan2, &[y, x]) => machine.atan2(y, x),
        (Hypot, items) => {
            let squared: f64 = items.iter().map(|item| item.value * item.value).sum();
            let length = squared.sqrt();
            let zero = !machine.decide(length > 0.0);
            items.iter().fold(machine.fixed(items[0], 0.0), |sum, &item| {
                let slope = if zero { 0.0 } else { item.value / length };
                let part = machine.chain(item, length, slope);
                Dual { value: part.value, ..machine.add(sum, part) }
            })
        }
        (LogSumExp, items) => {
            let largest = items.iter().map(|item| item.value).fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = items.iter().map(|item| (item.value - largest).exp()).sum();
            let value = largest + sum.ln();
            items.iter().fold(machine.fixed(items[0], 0.0), |total, &item| {
                let part = machine.chain(item, value, (item.value - value).exp());
                Dual { value: part.value, ..machine.add(total, part) }
            })
        }
        (Relu, &[a]) => {
            if machine.decide(a.value > 0.0) {
                a
            } else {
                machine.fixed(a, 0.0)
            }
        }
        (LeakyRelu, &[a, slope]) => {
            let below = machine.mul(slope, a);
            if machine.decide(a.value > 0.0) { a } else { below.within(a.state) }
        }
        (Gelu, &[a]) => {
            let scaled = machine.times(a, FRAC_1_SQRT_2);
            let error = unary(machine, Erf, scaled);
            let sum = machine.add(Dual::constant(1.0), error);
            let product = machine.mul(a, sum);
            machine.times(product, 0.5)
        }
        (_, &[a]) => unary(machine, opcode, a),
        _ => unreachable!("{opcode:?} of {} scalars", operands.len()),
    }
}

/// Functions of one scalar: value, slope, and where they are defined. Slopes that would be infinite are 0.
fn unary<const N: usize>(machine: &mut Machine, opcode: Opcode, a: Dual<N>) -> Dual<N> {
    use Opcode::*;
    let x = a.value;
    let whole = |machine: &mut Machine, value: f64| {
        machine.note(value as i64);
        machine.decide(value == x);
        machine.fixed(a, value)
    };
    match opcode {
        Neg => machine.neg(a),
        Square => machine.mul(a, a),
        Cube => power(machine, a, 3),
        Sqrt => machine.sqrt(a),
        Abs => match whole_sign(machine, x) {
            0 => machine.fixed(a, 0.0),
            1 => a,
            _ => machine.neg(a),
        },
        Sign => {
            let sign = whole_sign(machine, x);
            machine.fixed(a, sign as f64)
        }
        Floor => whole(machine, x.floor()),
        Ceil => whole(machine, x.ceil()),
        Round => {
            // Halves are between two.
            machine.decide(x - x.floor() == 0.5);
            whole(machine, x.round_ties_even())
        }
        Fract => {
            let floor = whole(machine, x.floor());
            machine.sub(a, floor)
        }
        Reciprocal => machine.div(Dual::constant(1.0), a),
        Rsqrt => {
            let root = machine.sqrt(a);
            machine.div(Dual::constant(1.0), root)
        }
        Relu => scalar(machine, Relu, &[a]),
        _ => {
            let (value, slope, defined) = elementary(machine, opcode, x);
            if machine.decide(defined) { machine.chain(a, value, slope) } else { machine.fixed(a, f64::NAN).unless(true) }
        }
    }
}

fn whole_sign(machine: &mut Machine, x: f64) -> i64 {
    let sign = i64::from(x > 0.0) - i64::from(x < 0.0);
    machine.note(sign);
    sign
}

fn elementary(machine: &mut Machine, opcode: Opcode, x: f64) -> (f64, f64, bool) {
    use Opcode::*;
    // Slopes that lose digits next to a pole or to saturation do so in the engine too: what is subtracted is disturbed.
    let mut near = |value: f64| machine.disturbed(value);
    let arc = |product: f64| if product > 0.0 { 1.0 / product.sqrt() } else { 0.0 };
    let inside = (-1.0..=1.0).contains(&x);
    match opcode {
        Sin => (x.sin(), x.cos(), true),
        Cos => (x.cos(), -x.sin(), true),
        Tan => {
            let tan = x.tan();
            (tan, 1.0 + tan * tan, true)
        }
        Cbrt => {
            let root = x.cbrt();
            (root, if x == 0.0 { 0.0 } else { 1.0 / (3.0 * root * root) }, true)
        }
        Exp => (x.exp(), x.exp(), true),
        Exp2 => (x.exp2(), LN_2 * x.exp2(), true),
        Expm1 => (x.exp_m1(), x.exp(), true),
        Log => (x.ln(), 1.0 / x, x > 0.0),
        Log2 => (x.log2(), 1.0 / (x * LN_2), x > 0.0),
        Log10 => (x.log10(), 1.0 / (x * LN_10), x > 0.0),
        Log1p => (x.ln_1p(), 1.0 / (1.0 + x), x > -1.0),
        Asin => (x.asin(), arc((1.0 - x) * (1.0 + x)), inside),
        Acos => (x.acos(), -arc((1.0 - x) * (1.0 + x)), inside),
        Atan => (x.atan(), 1.0 / (1.0 + x * x), true),
        Sinh => (x.sinh(), x.cosh(), true),
        Cosh => (x.cosh(), x.sinh(), true),
        Tanh => {
            let tanh = near(x.tanh());
            (x.tanh(), 1.0 - tanh * tanh, true)
        }
        Asinh => (x.asinh(), 1.0 / (x * x + 1.0).sqrt(), true),
        // The library's is 2 ln(…) of a difference, which loses digits next to 1.
        Acosh => ((x - 1.0 + ((x - 1.0) * (x + 1.0)).sqrt()).ln_1p(), arc((x - 1.0) * (x + 1.0)), x >= 1.0),
        Atanh => (0.5 * (2.0 * x / (1.0 - x)).ln_1p(), 1.0 / ((1.0 - x) * (1.0 + x)), -1.0 < x && x < 1.0),
        Erf => (erf(x), FRAC_2_SQRT_PI * (-x * x).exp(), true),
        Sigmoid => {
            let (value, complement) = (1.0 / (1.0 + (-x).exp()), 1.0 / (1.0 + x.exp()));
            (value, value * complement, true)
        }
        Softplus => (if x > 0.0 { x + (-x).exp().ln_1p() } else { x.exp().ln_1p() }, 1.0 / (1.0 + (-x).exp()), true),
        _ => unreachable!("{opcode:?} is not a function of one scalar"),
    }
}

/// Σ 2ⁿx²ⁿ⁺¹/(2n+1)!! (no term cancels), and beyond 6 what it is to all digits (Abramowitz & Stegun, 7.1.6).
fn erf(x: f64) -> f64 {
    if x.abs() > 6.0 {
        return x.signum();
    }
    let (mut sum, mut term, mut n) = (0.0, x, 1.0);
    while term.abs() > 1e-18 * f64::abs(sum) && term != 0.0 {
        sum += term;
        n += 2.0;
        term *= 2.0 * x * x / n;
    }
    FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

fn modulo<const N: usize>(machine: &mut Machine, a: Dual<N>, b: Dual<N>) -> Dual<N> {
    let quotient = machine.div(a, b);
    let mut whole = quotient.value.floor();
    let rest = (a.value - b.value * whole) / b.value;
    // The quotient was rounded across a whole number.
    whole += if rest < 0.0 { -1.0 } else { f64::from(rest >= 1.0) };
    machine.note(whole as i64);
    machine.decide(whole == quotient.value);
    let removed = machine.times(b, whole);
    let rest = machine.sub(a, removed);
    // b⌊a/b⌋ is 0 to the engine where it knows that b is.
    if b.value == 0.0 { rest.within(State::Doubtful) } else { rest.within(quotient.state) }
}

/// aⁿ by its closed derivative.
pub fn power<const N: usize>(machine: &mut Machine, a: Dual<N>, n: i32) -> Dual<N> {
    if n == 0 {
        // The engine needs no operand for this.
        return Dual { state: a.state.min(State::Doubtful), ..Dual::constant(1.0) };
    }
    if n == 1 {
        return a;
    }
    let x = a.value;
    if n < 0 && machine.decide(x == 0.0) {
        return machine.fixed(a, f64::NAN).unless(true);
    }
    let exact = n > 0 && n < 8 && x.fract() == 0.0 && x.abs() < 32.0;
    let slope = f64::from(n) * x.powi(n.saturating_sub(1));
    if exact {
        // What should be 0 and is 10⁻¹⁷ has a power that no first order knows.
        let size = x.powi(n).abs().max(f64::EPSILON * a.size.powi(n));
        Dual { value: x.powi(n), slopes: a.slopes.map(|s| s * slope), size, slope_size: slope.abs() * a.slope_size, ..a }
    } else {
        // As many roundings as there are products.
        let value = (0..(n.unsigned_abs().ilog2())).fold(x.powi(n), |value, _| machine.disturbed(value));
        machine.chain(a, value, slope)
    }
}

fn general_power<const N: usize>(machine: &mut Machine, a: Dual<N>, b: Dual<N>) -> Dual<N> {
    let (x, n) = (a.value, b.value);
    let state = a.state.max(b.state);
    machine.note(i64::from(x > 0.0) - i64::from(x < 0.0));
    if x > 0.0 {
        let value = x.powf(n);
        return machine.chain2([a, b], value, [n * x.powf(n - 1.0), value * x.ln()]);
    }
    machine.note(i64::from(n > 0.0) - i64::from(n < 0.0));
    if x < 0.0 && machine.decide(n.fract() == 0.0) && b.slopes.iter().all(|slope| *slope == 0.0) {
        // Defined unless the exponent moves by its structure, which its slopes do not tell.
        return machine.chain(a, x.powf(n), n * x.powf(n - 1.0)).within(state.max(State::Doubtful));
    }
    let undefined = x < 0.0 || n < 0.0 || x.is_nan();
    let slope = f64::from(machine.decide(n == 1.0));
    let value = if n == 0.0 { 1.0 } else { 0.0 };
    let slopes = a.slopes.map(|s| s * slope);
    Dual { value, slopes, state, ..a }.unless(undefined)
}
