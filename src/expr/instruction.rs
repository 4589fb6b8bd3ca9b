//! Instructions: what operands each takes, and what it makes of them.

use super::compose::{eigen, matrix, quaternion, triangle, vector};
use super::{Binary, Expr, Graph, Opcode, Unary};

/// Whether an instruction takes operands of these widths.
pub(super) fn fits(opcode: Opcode, widths: &[usize]) -> bool {
    use Opcode::*;
    let scalars = || widths.iter().all(|&width| width == 1);
    let equal = || widths.iter().all(|&width| width == widths[0]);
    match (opcode, widths) {
        (
            Pack | SumOver | Neg | Square | Cube | Sqrt | Sin | Cos | Norm | NormSq | Normalize | Abs | Sign | Floor | Ceil | Round | Fract,
            _,
        ) => true,
        (Add | Sub | Mul | Div, &[a, b]) => a == b || a == 1 || b == 1,
        (Sum | Mean | Dot | Distance, _) => equal(),
        (Select, &[condition, then, otherwise]) => condition == 1 && then == otherwise,
        (Mix, &[a, b, t]) => a == b && (t == 1 || t == a),
        (Cross | AngleBetween, &[a, b]) => a == b && (a == 2 || a == 3),
        (RotateXYZ, _) => widths == [3, 3],
        (MatVec, &[m, v]) => m.is_multiple_of(v) && m > 0,
        (MatMul, &[a, b]) => a == b && (a == 4 || a == 9),
        (Transpose | Determinant | Inverse, &[m]) => m == 4 || m == 9,
        (QuatMul, _) => widths == [4, 4],
        (QuatRotate, _) => widths == [4, 3],
        (QuatConjugate | QuatInverse | QuatToAngleAxis | QuatToMatrix | QuatLog, _) => widths == [4],
        (QuatFromAngleAxis | QuatExp, _) => widths == [3],
        (QuatFromMatrix | EigenSymmetric | ClosestRotation, _) => widths == [9],
        (TriangleArea | Cotangent, &[a, ..]) => equal() && (a == 2 || a == 3),
        (TriangleNormal | DihedralAngle, &[a, ..]) => equal() && a == 3,
        _ => scalars(),
    }
}

/// The scalars of an instruction's result; its operands [`fits`] has seen.
pub(super) fn apply(graph: &mut Graph, opcode: Opcode, operands: &[Vec<Expr>]) -> Vec<Expr> {
    use Opcode::*;
    let elementary = match opcode {
        Neg => Some(Unary::Neg),
        Abs => Some(Unary::Abs),
        Floor => Some(Unary::Floor),
        Ceil => Some(Unary::Ceil),
        Round => Some(Unary::Round),
        Sqrt => Some(Unary::Sqrt),
        Cbrt => Some(Unary::Cbrt),
        Exp => Some(Unary::Exp),
        Exp2 => Some(Unary::Exp2),
        Expm1 => Some(Unary::Expm1),
        Log => Some(Unary::Log),
        Log1p => Some(Unary::Log1p),
        Sin => Some(Unary::Sin),
        Cos => Some(Unary::Cos),
        Tan => Some(Unary::Tan),
        Asin => Some(Unary::Asin),
        Acos => Some(Unary::Acos),
        Atan => Some(Unary::Atan),
        Sinh => Some(Unary::Sinh),
        Cosh => Some(Unary::Cosh),
        Tanh => Some(Unary::Tanh),
        Asinh => Some(Unary::Asinh),
        Acosh => Some(Unary::Acosh),
        Atanh => Some(Unary::Atanh),
        Erf => Some(Unary::Erf),
        Sigmoid => Some(Unary::Sigmoid),
        Softplus => Some(Unary::Softplus),
        Not => Some(Unary::Not),
        _ => None,
    };
    let first = &operands[0];
    if let Some(operation) = elementary {
        return first.iter().map(|&x| graph.unary(operation, x)).collect();
    }
    match (opcode, operands) {
        (Pack, _) => operands.concat(),
        (Square, _) => first.iter().map(|&x| graph.square(x)).collect(),
        (Cube, _) => first.iter().map(|&x| graph.power(x, 3)).collect(),
        (Sign, _) => first.iter().map(|&x| graph.sign(x)).collect(),
        (Fract, _) => first.iter().map(|&x| graph.fract(x)).collect(),
        (Add | Sub | Mul | Div, [a, b]) => {
            let operation = match opcode {
                Add => Binary::Add,
                Sub => Binary::Sub,
                Mul => Binary::Mul,
                _ => Binary::Div,
            };
            let at = |v: &[Expr], k: usize| if v.len() == 1 { v[0] } else { v[k] };
            // A vector of no elements stays one.
            let width = if a.is_empty() || b.is_empty() { 0 } else { a.len().max(b.len()) };
            (0..width).map(|k| graph.binary(operation, at(a, k), at(b, k))).collect()
        }
        (Select, [condition, then, otherwise]) => then.iter().zip(otherwise).map(|(&x, &y)| graph.select(condition[0], x, y)).collect(),
        (Mix, [a, b, t]) => {
            let at = |k: usize| if t.len() == 1 { t[0] } else { t[k] };
            (0..a.len()).map(|k| graph.mix(a[k], b[k], at(k))).collect()
        }
        (Dot, [a, b]) => vec![graph.dot(a, b)],
        (Norm, [a]) => vec![vector::norm(graph, a)],
        (NormSq, [a]) => vec![graph.dot(a, a)],
        (Normalize, [a]) => vector::normalize(graph, a),
        (Distance, [a, b]) => {
            let difference = vector::sub(graph, a, b);
            vec![vector::norm(graph, &difference)]
        }
        (Cross, [a, b]) => vector::cross(graph, a, b),
        (AngleBetween, [a, b]) => vec![vector::angle_between(graph, a, b)],
        (RotateXYZ, [angles, v]) => vector::rotate_xyz(graph, angles, v),
        (MatVec, [m, v]) => matrix::times_vector(graph, m, v),
        (MatMul, [a, b]) => matrix::product(graph, a, b),
        (Transpose, [m]) => matrix::transpose(m),
        (Determinant, [m]) => vec![matrix::determinant(graph, m)],
        (Inverse, [m]) => matrix::inverse(graph, m),
        (QuatMul, [p, q]) => quaternion::product(graph, p, q),
        (QuatConjugate, [q]) => quaternion::conjugate(graph, q),
        (QuatInverse, [q]) => quaternion::inverse(graph, q),
        (QuatRotate, [q, v]) => quaternion::rotate(graph, q, v),
        (QuatFromAngleAxis, [v]) => quaternion::from_angle_axis(graph, v),
        (QuatToAngleAxis, [q]) => quaternion::to_angle_axis(graph, q),
        (QuatFromMatrix, [m]) => quaternion::from_matrix(graph, m),
        (QuatToMatrix, [q]) => quaternion::to_matrix(graph, q),
        (QuatExp, [v]) => quaternion::exp(graph, v),
        (QuatLog, [q]) => quaternion::log(graph, q),
        (TriangleArea, [a, b, c]) => vec![triangle::area(graph, a, b, c)],
        (TriangleNormal, [a, b, c]) => triangle::normal(graph, a, b, c),
        (DihedralAngle, [a, b, c, d]) => vec![triangle::dihedral(graph, a, b, c, d)],
        (Cotangent, [a, b, c]) => vec![triangle::cotangent(graph, a, b, c)],
        (EigenSymmetric, [m]) => eigen::symmetric(graph, m),
        (ClosestRotation, [m]) => eigen::closest_rotation(graph, m),
        _ => vec![scalar(graph, opcode, &operands.concat())],
    }
}

/// The instructions on scalars that are not elementary.
fn scalar(graph: &mut Graph, opcode: Opcode, operands: &[Expr]) -> Expr {
    use Opcode::*;
    match (opcode, operands) {
        (Lt, &[a, b]) => graph.less(a, b),
        (Le, &[a, b]) => graph.less_equal(a, b),
        (And, &[a, b]) => graph.and(a, b),
        (Or, &[a, b]) => graph.or(a, b),
        (Eq, &[a, b]) => graph.equal(a, b),
        (Ne, &[a, b]) => {
            let equal = graph.equal(a, b);
            graph.not(equal)
        }
        (Min, &[first, ref others @ ..]) => others.iter().fold(first, |least, &x| graph.min(least, x)),
        (Max, &[first, ref others @ ..]) => others.iter().fold(first, |greatest, &x| graph.max(greatest, x)),
        (Clamp, &[x, low, high]) => graph.clamp(x, low, high),
        (Step, &[edge, x]) => graph.less_equal(edge, x),
        (Smoothstep, &[low, high, x]) => graph.smoothstep(low, high, x),
        (Mod, &[a, b]) => graph.modulo(a, b),
        (Reciprocal, &[a]) => graph.reciprocal(a),
        (Rsqrt, &[a]) => {
            let root = graph.unary(Unary::Sqrt, a);
            graph.reciprocal(root)
        }
        (Pow, &[a, b]) => graph.binary(Binary::Pow, a, b),
        (Atan2, &[y, x]) => graph.atan2(y, x),
        (Log2 | Log10, &[a]) => {
            let factor = if opcode == Log2 { std::f64::consts::LOG2_E } else { std::f64::consts::LOG10_E };
            let logarithm = graph.unary(Unary::Log, a);
            graph.times(logarithm, factor)
        }
        (Hypot, items) => graph.hypot(items),
        (LogSumExp, items) => graph.log_sum_exp(items),
        (Relu, &[a]) => {
            let zero = graph.constant(0.0);
            graph.if_less(zero, a, a, zero)
        }
        (LeakyRelu, &[a, slope]) => {
            let zero = graph.constant(0.0);
            let below = graph.mul(slope, a);
            graph.if_less(zero, a, a, below)
        }
        (Gelu, &[a]) => graph.gelu(a),
        (other, _) => unreachable!("{other:?} is not an instruction on scalars"),
    }
}

/// The elementwise sum of one or more values of one width.
pub(super) fn sum(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
    let mut sum = operands[0].clone();
    for other in &operands[1..] {
        sum.iter_mut().zip(other).for_each(|(x, &y)| *x = graph.add(*x, y));
    }
    sum
}
