//! Vectors, matrices, quaternions and triangles for [`meaning`](super::meaning): textbook formulas on duals.

use super::dual::{Dual, Machine, State};
use super::meaning::Value;
use leastwise::expr::Opcode;

pub fn apply<const N: usize>(machine: &mut Machine, opcode: Opcode, operands: &[Value<N>]) -> Value<N> {
    use Opcode::*;
    let first = &operands[0];
    match (opcode, operands) {
        (Dot, [a, b]) => vec![dot(machine, a, b)],
        (Norm, [a]) => vec![norm(machine, a)],
        (NormSq, [a]) => vec![dot(machine, a, a)],
        (Normalize, [a]) => normalize(machine, a),
        (Distance, [a, b]) => {
            let difference = sub(machine, a, b);
            vec![norm(machine, &difference)]
        }
        (Cross, [a, b]) => cross(machine, a, b),
        (AngleBetween, [a, b]) => {
            let crossed = cross(machine, a, b);
            let (sine, cosine) = (norm(machine, &crossed), dot(machine, a, b));
            vec![machine.atan2(sine, cosine)]
        }
        (RotateXYZ, [angles, v]) => {
            let rotation = rotation_xyz(machine, angles);
            product(machine, &rotation, v, 3)
        }
        (MatVec, [m, v]) => product(machine, m, v, v.len()),
        (MatMul, [a, b]) => {
            let n = rows(a);
            let columns: Vec<Value<N>> = (0..n).map(|j| (0..n).map(|i| b[n * i + j]).collect()).collect();
            (0..n * n).map(|k| dot(machine, &a[k / n * n..][..n], &columns[k % n])).collect()
        }
        (Transpose, [m]) => (0..m.len()).map(|k| m[k % rows(m) * rows(m) + k / rows(m)]).collect(),
        (Determinant, [m]) => vec![determinant(machine, m)],
        (Inverse, [m]) => inverse(machine, m),
        (QuatMul, [p, q]) => quaternion_product(machine, p, q),
        (QuatConjugate, _) => conjugate(machine, first),
        (QuatInverse, [q]) => {
            let squared = dot(machine, q, q);
            conjugate(machine, q).into_iter().map(|x| machine.div(x, squared)).collect()
        }
        (QuatRotate, [q, v]) => quaternion_rotate(machine, q, v),
        (QuatExp, [v]) => exponential(machine, v),
        (QuatFromAngleAxis, [v]) => {
            let half: Value<N> = v.iter().map(|&x| machine.times(x, 0.5)).collect();
            exponential(machine, &half)
        }
        (QuatLog, [q]) => logarithm(machine, q),
        (QuatToAngleAxis, [q]) => {
            let short = if machine.decide(q[3].value < 0.0) { q.iter().map(|&x| machine.neg(x)).collect() } else { q.clone() };
            logarithm(machine, &short).into_iter().map(|x| machine.times(x, 2.0).within(q[3].state)).collect()
        }
        (QuatFromMatrix, [m]) => quaternion_from_matrix(machine, m),
        (QuatToMatrix, [q]) => quaternion_matrix(machine, q),
        (TriangleArea, [a, b, c]) => {
            let doubled = doubled(machine, a, b, c);
            let size = if doubled.len() == 1 { doubled[0] } else { norm(machine, &doubled) };
            vec![machine.times(size, 0.5)]
        }
        (TriangleNormal, [a, b, c]) => {
            let doubled = doubled(machine, a, b, c);
            normalize(machine, &doubled)
        }
        (DihedralAngle, [a, b, c, d]) => {
            let (edge, left, right) = (sub(machine, c, b), sub(machine, a, b), sub(machine, d, b));
            let (first, second) = (cross(machine, &edge, &left), cross(machine, &right, &edge));
            let crossed = cross(machine, &first, &second);
            let axis = normalize(machine, &edge);
            let (sine, cosine) = (dot(machine, &axis, &crossed), dot(machine, &first, &second));
            vec![machine.atan2(sine, cosine)]
        }
        (Cotangent, [a, b, c]) => {
            let (u, v) = (sub(machine, b, a), sub(machine, c, a));
            let crossed = cross(machine, &u, &v);
            let (sine, cosine) = (norm(machine, &crossed), dot(machine, &u, &v));
            vec![quotient_or_zero(machine, cosine, sine)]
        }
        _ => unreachable!("{opcode:?} of {} operands", operands.len()),
    }
}

fn rows<T>(m: &[T]) -> usize {
    if m.len() == 4 { 2 } else { 3 }
}

fn sub<const N: usize>(machine: &mut Machine, a: &[Dual<N>], b: &[Dual<N>]) -> Value<N> {
    a.iter().zip(b).map(|(&x, &y)| machine.sub(x, y)).collect()
}

pub fn dot<const N: usize>(machine: &mut Machine, a: &[Dual<N>], b: &[Dual<N>]) -> Dual<N> {
    a.iter().zip(b).fold(Dual::constant(0.0), |sum, (&x, &y)| {
        let product = machine.mul(x, y);
        machine.add(sum, product)
    })
}

fn norm<const N: usize>(machine: &mut Machine, a: &[Dual<N>]) -> Dual<N> {
    let squared = dot(machine, a, a);
    machine.sqrt(squared)
}

/// a/b where b > 0, else 0 without a slope, whatever a is.
fn quotient_or_zero<const N: usize>(machine: &mut Machine, a: Dual<N>, b: Dual<N>) -> Dual<N> {
    if machine.decide(b.value > 0.0) && b.state == State::Defined {
        return machine.div(a, b);
    }
    // 0 over anything is 0 to the engine.
    let unless_0 = if a.value == 0.0 { State::Doubtful } else { State::Undefined };
    Dual::constant(0.0).within(b.state.min(unless_0).max(a.state.min(State::Doubtful)))
}

fn normalize<const N: usize>(machine: &mut Machine, a: &[Dual<N>]) -> Value<N> {
    let length = norm(machine, a);
    a.iter().map(|&x| quotient_or_zero(machine, x, length)).collect()
}

/// One scalar for two 2-vectors.
fn cross<const N: usize>(machine: &mut Machine, a: &[Dual<N>], b: &[Dual<N>]) -> Value<N> {
    let pairs: &[(usize, usize)] = if a.len() == 2 { &[(0, 1)] } else { &[(1, 2), (2, 0), (0, 1)] };
    let minor = |&(i, j): &(usize, usize)| {
        let (left, right) = (machine.mul(a[i], b[j]), machine.mul(a[j], b[i]));
        machine.sub(left, right)
    };
    pairs.iter().map(minor).collect()
}

/// m · v, row by row.
fn product<const N: usize>(machine: &mut Machine, m: &[Dual<N>], v: &[Dual<N>], width: usize) -> Value<N> {
    m.chunks(width).map(|row| dot(machine, row, v)).collect()
}

fn doubled<const N: usize>(machine: &mut Machine, a: &[Dual<N>], b: &[Dual<N>], c: &[Dual<N>]) -> Value<N> {
    let (u, v) = (sub(machine, b, a), sub(machine, c, a));
    cross(machine, &u, &v)
}

/// The entries of Rz·Ry·Rx, multiplied out.
fn rotation_xyz<const N: usize>(machine: &mut Machine, angles: &[Dual<N>]) -> Value<N> {
    let mut turn = |a: Dual<N>| (machine.chain(a, a.value.sin(), a.value.cos()), machine.chain(a, a.value.cos(), -a.value.sin()));
    let [(sx, cx), (sy, cy), (sz, cz)] = [turn(angles[0]), turn(angles[1]), turn(angles[2])];
    let mut sum = |left: [Dual<N>; 2], right: [Dual<N>; 3]| {
        let left = machine.mul(left[0], left[1]);
        let partial = machine.mul(right[0], right[1]);
        let right = machine.mul(partial, right[2]);
        (left, right)
    };
    let (cz_cx, sz_sy_sx) = sum([cz, cx], [sz, sy, sx]);
    let (sz_cx, cz_sy_sx) = sum([sz, cx], [cz, sy, sx]);
    let (sz_sx, cz_sy_cx) = sum([sz, sx], [cz, sy, cx]);
    let (cz_sx, sz_sy_cx) = sum([cz, sx], [sz, sy, cx]);
    vec![
        machine.mul(cz, cy),
        machine.sub(cz_sy_sx, sz_cx),
        machine.add(cz_sy_cx, sz_sx),
        machine.mul(sz, cy),
        machine.add(sz_sy_sx, cz_cx),
        machine.sub(sz_sy_cx, cz_sx),
        machine.neg(sy),
        machine.mul(cy, sx),
        machine.mul(cy, cx),
    ]
}

/// By the first column.
fn determinant<const N: usize>(machine: &mut Machine, m: &[Dual<N>]) -> Dual<N> {
    if m.len() == 4 {
        return cross(machine, &[m[0], m[1]], &[m[2], m[3]])[0];
    }
    let column = |j: usize| [m[j], m[3 + j], m[6 + j]];
    let minors = cross(machine, &column(1), &column(2));
    dot(machine, &column(0), &minors)
}

fn inverse<const N: usize>(machine: &mut Machine, m: &[Dual<N>]) -> Value<N> {
    let n = rows(m);
    let determinant = determinant(machine, m);
    let entry = |k: usize| {
        // Entry (i, j) is the cofactor of (j, i).
        let (i, j) = (k / n, k % n);
        let cofactor = if n == 2 {
            let minor = m[2 * (1 - j) + 1 - i];
            if i == j { minor } else { machine.neg(minor) }
        } else {
            let at = |row: usize, column: usize| m[row % 3 * 3 + column % 3];
            let (a, b) = (machine.mul(at(j + 1, i + 1), at(j + 2, i + 2)), machine.mul(at(j + 1, i + 2), at(j + 2, i + 1)));
            machine.sub(a, b)
        };
        machine.div(cofactor, determinant)
    };
    (0..n * n).map(entry).collect()
}

fn conjugate<const N: usize>(machine: &mut Machine, q: &[Dual<N>]) -> Value<N> {
    vec![machine.neg(q[0]), machine.neg(q[1]), machine.neg(q[2]), q[3]]
}

/// (p_w q + q_w p + p × q, p_w q_w − p · q), the vector parts and the scalar.
fn quaternion_product<const N: usize>(machine: &mut Machine, p: &[Dual<N>], q: &[Dual<N>]) -> Value<N> {
    let crossed = cross(machine, &p[..3], &q[..3]);
    let mut result: Value<N> = (0..3)
        .map(|k| {
            let (left, right) = (machine.mul(p[3], q[k]), machine.mul(q[3], p[k]));
            let sum = machine.add(left, right);
            machine.add(sum, crossed[k])
        })
        .collect();
    let (scalars, vectors) = (machine.mul(p[3], q[3]), dot(machine, &p[..3], &q[..3]));
    result.push(machine.sub(scalars, vectors));
    result
}

/// v + 2w u × v + 2(u (u·v) − v (u·u)): the rotation, continued in this way to what is not of unit length.
fn quaternion_rotate<const N: usize>(machine: &mut Machine, q: &[Dual<N>], v: &[Dual<N>]) -> Value<N> {
    let u = &q[..3];
    let crossed = cross(machine, u, v);
    let (along, squared) = (dot(machine, u, v), dot(machine, u, u));
    (0..3)
        .map(|k| {
            let turned = machine.mul(q[3], crossed[k]);
            let (part, rest) = (machine.mul(u[k], along), machine.mul(v[k], squared));
            let across = machine.sub(part, rest);
            let sum = machine.add(turned, across);
            let doubled = machine.times(sum, 2.0);
            machine.add(v[k], doubled)
        })
        .collect()
}

/// sin θ/θ as a function of θ².
fn sinc<const N: usize>(machine: &mut Machine, squared: Dual<N>) -> Dual<N> {
    let s = squared.value;
    let angle = s.sqrt();
    if s < 1e-3 {
        let value = 1.0 - s / 6.0 * (1.0 - s / 20.0 * (1.0 - s / 42.0 * (1.0 - s / 72.0)));
        let slope = -1.0 / 6.0 * (1.0 - s / 10.0 * (1.0 - s / 28.0 * (1.0 - s / 54.0)));
        return machine.chain(squared, value, slope);
    }
    let value = machine.disturbed(angle.sin() / angle);
    let cosine = machine.disturbed(angle.cos());
    machine.chain(squared, value, (cosine - value) / (2.0 * s))
}

/// cos θ as a function of θ².
fn cosine<const N: usize>(machine: &mut Machine, squared: Dual<N>) -> Dual<N> {
    let sinc = sinc(machine, squared).value;
    machine.chain(squared, squared.value.sqrt().cos(), -0.5 * sinc)
}

fn exponential<const N: usize>(machine: &mut Machine, v: &[Dual<N>]) -> Value<N> {
    let squared = dot(machine, v, v);
    let (factor, cosine) = (sinc(machine, squared), cosine(machine, squared));
    let mut q: Value<N> = v.iter().map(|&x| machine.mul(x, factor)).collect();
    q.push(cosine);
    q
}

/// u · atan2(‖u‖, w)/‖u‖, and 0 where u is 0 and w is not positive.
fn logarithm<const N: usize>(machine: &mut Machine, q: &[Dual<N>]) -> Value<N> {
    let (u, w) = (&q[..3], q[3]);
    let squared = dot(machine, u, u);
    let near = w.value > 0.0 && squared.value < 1e-4 * w.value * w.value;
    let factor = if near {
        // arctan(t)/t as a function of t² = ‖u‖²/w², over w.
        let w_squared = machine.mul(w, w);
        let ratio = machine.div(squared, w_squared);
        let s = ratio.value;
        let value = 1.0 - s / 3.0 + s * s / 5.0 - s.powi(3) / 7.0 + s.powi(4) / 9.0;
        let slope = -1.0 / 3.0 + 2.0 * s / 5.0 - 3.0 * s * s / 7.0 + 4.0 * s.powi(3) / 9.0;
        let arctan = machine.chain(ratio, value, slope);
        machine.div(arctan, w)
    } else {
        let length = machine.sqrt(squared);
        let angle = machine.atan2(length, w);
        quotient_or_zero(machine, angle, length)
    };
    u.iter().map(|&x| machine.mul(x, factor)).collect()
}

fn quaternion_matrix<const N: usize>(machine: &mut Machine, q: &[Dual<N>]) -> Value<N> {
    let [x, y, z, w] = [q[0], q[1], q[2], q[3]];
    let mut doubled = |a: Dual<N>, b: Dual<N>| {
        let product = machine.mul(a, b);
        machine.times(product, 2.0)
    };
    let [xx, yy, zz] = [doubled(x, x), doubled(y, y), doubled(z, z)];
    let [xy, xz, yz] = [doubled(x, y), doubled(x, z), doubled(y, z)];
    let [xw, yw, zw] = [doubled(x, w), doubled(y, w), doubled(z, w)];
    let mut diagonal = |a: Dual<N>, b: Dual<N>| {
        let sum = machine.add(a, b);
        machine.sub(Dual::constant(1.0), sum)
    };
    let [m0, m4, m8] = [diagonal(yy, zz), diagonal(xx, zz), diagonal(xx, yy)];
    vec![
        m0,
        machine.sub(xy, zw),
        machine.add(xz, yw),
        machine.add(xy, zw),
        m4,
        machine.sub(yz, xw),
        machine.sub(xz, yw),
        machine.add(yz, xw),
        m8,
    ]
}

/// From the largest of 4x², 4y², 4z², 4w² (the first of equal ones; Shepperd 1978).
fn quaternion_from_matrix<const N: usize>(machine: &mut Machine, m: &[Dual<N>]) -> Value<N> {
    let mut signed = |signs: [f64; 3]| {
        (0..3).fold(Dual::constant(1.0), |sum, k| {
            let term = machine.times(m[4 * k], signs[k]);
            machine.add(sum, term)
        })
    };
    let squares = [signed([1.0, -1.0, -1.0]), signed([-1.0, 1.0, -1.0]), signed([-1.0, -1.0, 1.0]), signed([1.0, 1.0, 1.0])];
    let largest = (1..4).fold(0, |best, k| if machine.decide(squares[k].value > squares[best].value) { k } else { best });
    let root = machine.sqrt(squares[largest]);
    let divisor = machine.times(root, 2.0);
    let state = squares.iter().map(|square| square.state).max().unwrap_or(root.state);
    (0..4)
        .map(|k| {
            let product = match (k.min(largest), k.max(largest)) {
                (i, j) if i == j => squares[i],
                // x, y, z with w: the antisymmetric part; among themselves: the symmetric one.
                (i, 3) => machine.sub(m[(i + 2) % 3 * 3 + (i + 1) % 3], m[(i + 1) % 3 * 3 + (i + 2) % 3]),
                (i, j) => machine.add(m[3 * i + j], m[3 * j + i]),
            };
            machine.div(product, divisor).within(state)
        })
        .collect()
}
