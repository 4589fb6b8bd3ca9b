//! Quaternions, as x, y, z, w.

use crate::compose::quaternion;
use crate::operation::*;

/// Product of two quaternions.
pub struct QuatMul;

impl Instruction for QuatMul {
    const CODE: u32 = 81;
    const ARITY: Arity = Arity::Values(2);
    const MEANING: &'static str = "p, q → p · q (x, y, z, w)";
    const RULE: Option<Rule> = Some(Rule {
        row: 800,
        usage: "p.mul(q)",
        widths: &[4, 4],
        value: "the quaternion product p q",
        derivative: "by the product rule",
        remark: "",
        edges: &[
            all(&[1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0], &[0.0, 0.0, 1.0, 0.0], &[]),
            all(
                &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],
                &[24.0, 48.0, 48.0, -6.0],
                &[
                    8.0, 7.0, -6.0, 5.0, 4.0, -3.0, 2.0, 1.0, -7.0, 8.0, 5.0, 6.0, 3.0, 4.0, -1.0, 2.0, 6.0, -5.0, 8.0, 7.0, -2.0, 1.0,
                    4.0, 3.0, -5.0, -6.0, -7.0, 8.0, -1.0, -2.0, -3.0, 4.0,
                ],
            ),
        ],
    });

    fn fits(widths: &[usize]) -> bool {
        widths == [4, 4]
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [p, q] = values(operands);
        quaternion::product(graph, p, q)
    }
}

/// Conjugate of a quaternion.
pub struct QuatConjugate;

impl Instruction for QuatConjugate {
    const CODE: u32 = 82;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "q → (−x, −y, −z, w)";
    const RULE: Option<Rule> = Some(Rule {
        row: 810,
        usage: "q.conjugate()",
        widths: &[4],
        value: "(−x, −y, −z, w)",
        derivative: "−1, −1, −1, 1",
        remark: "",
        edges: &[all(
            &[1.0, 2.0, 3.0, 4.0],
            &[-1.0, -2.0, -3.0, 4.0],
            &[-1.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        )],
    });

    fn fits(widths: &[usize]) -> bool {
        widths == [4]
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        quaternion::conjugate(graph, &operands[0])
    }
}

/// Inverse of a quaternion.
pub struct QuatInverse;

impl Instruction for QuatInverse {
    const CODE: u32 = 83;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "q → its conjugate / ‖q‖²";
    const RULE: Option<Rule> = Some(Rule {
        row: 820,
        usage: "q.inverse()",
        widths: &[4],
        value: "q̄/‖q‖²",
        derivative: "by the quotient rule",
        remark: "undefined at 0",
        edges: &[],
    });

    fn fits(widths: &[usize]) -> bool {
        widths == [4]
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        quaternion::inverse(graph, &operands[0])
    }
}

/// A vector, rotated by a quaternion.
pub struct QuatRotate;

impl Instruction for QuatRotate {
    const CODE: u32 = 84;
    const ARITY: Arity = Arity::Values(2);
    const MEANING: &'static str = "unit q, v → q v q⁻¹";
    const RULE: Option<Rule> = Some(Rule {
        row: 830,
        usage: "q.rotate(v)",
        widths: &[4, 3],
        value: "q v q⁻¹ for ‖q‖ = 1",
        derivative: "by the product rule",
        remark: "of other lengths of q it is that polynomial: v + 2w(u × v) + 2u × (u × v)",
        edges: &[],
    });

    fn fits(widths: &[usize]) -> bool {
        widths == [4, 3]
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [q, v] = values(operands);
        quaternion::rotate(graph, q, v)
    }
}

/// Quaternion of a rotation vector.
pub struct QuatFromAngleAxis;

impl Instruction for QuatFromAngleAxis {
    const CODE: u32 = 85;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "rotation vector → unit quaternion";
    const RULE: Option<Rule> = Some(Rule {
        row: 840,
        usage: "fromAngleAxis(v)",
        widths: &[3],
        value: "(v sin(‖v‖/2)/‖v‖, cos(‖v‖/2))",
        derivative: "by the chain rule",
        remark: "a series near 0: smooth there",
        edges: &[],
    });

    fn fits(widths: &[usize]) -> bool {
        widths == [3]
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        quaternion::from_angle_axis(graph, &operands[0])
    }
}

/// Rotation vector of a quaternion.
pub struct QuatToAngleAxis;

impl Instruction for QuatToAngleAxis {
    const CODE: u32 = 86;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "unit quaternion → rotation vector of at most π";
    const RULE: Option<Rule> = Some(Rule {
        row: 870,
        usage: "q.toAngleAxis()",
        widths: &[4],
        value: "the rotation vector, ‖v‖ ≤ π",
        derivative: "by the chain rule",
        remark: "q and −q give the same",
        edges: &[],
    });

    fn fits(widths: &[usize]) -> bool {
        widths == [4]
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        quaternion::to_angle_axis(graph, &operands[0])
    }
}

/// Quaternion of a rotation matrix.
pub struct QuatFromMatrix;

impl Instruction for QuatFromMatrix {
    const CODE: u32 = 87;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "rotation matrix → unit quaternion";
    const RULE: Option<Rule> = Some(Rule {
        row: 890,
        usage: "fromMatrix(m)",
        widths: &[9],
        value: "the unit quaternion of a rotation",
        derivative: "by the chain rule",
        remark: "by its largest component (Shepperd)",
        edges: &[],
    });

    fn fits(widths: &[usize]) -> bool {
        widths == [9]
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        quaternion::from_matrix(graph, &operands[0])
    }
}

/// Rotation matrix of a quaternion.
pub struct QuatToMatrix;

impl Instruction for QuatToMatrix {
    const CODE: u32 = 88;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "unit quaternion → rotation matrix";
    const RULE: Option<Rule> = Some(Rule {
        row: 880,
        usage: "q.toMatrix()",
        widths: &[4],
        value: "the rotation matrix, for ‖q‖ = 1",
        derivative: "by the product rule",
        remark: "of other lengths of q it is that polynomial: 1 − 2(y² + z²), 2(xy − zw), …",
        edges: &[
            all(&[0.0, 0.0, consts::FRAC_1_SQRT_2, consts::FRAC_1_SQRT_2], &[0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0], &[]),
            all(
                &[0.0, 0.0, 0.0, 1.0],
                &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
                &[
                    0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -2.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, -2.0, 0.0, 0.0,
                    0.0, 0.0, -2.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
                ],
            ),
        ],
    });

    fn fits(widths: &[usize]) -> bool {
        widths == [4]
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        quaternion::to_matrix(graph, &operands[0])
    }
}

/// Exponential of a quaternion.
pub struct QuatExp;

impl Instruction for QuatExp {
    const CODE: u32 = 89;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "v → (v sin‖v‖/‖v‖, cos‖v‖)";
    const RULE: Option<Rule> = Some(Rule {
        row: 850,
        usage: "quatExp(v)",
        widths: &[3],
        value: "(v sin‖v‖/‖v‖, cos‖v‖)",
        derivative: "by the chain rule",
        remark: "a series near 0: smooth there",
        edges: &[],
    });

    fn fits(widths: &[usize]) -> bool {
        widths == [3]
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        quaternion::exp(graph, &operands[0])
    }
}

/// Logarithm of a quaternion.
pub struct QuatLog;

impl Instruction for QuatLog {
    const CODE: u32 = 90;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "unit quaternion → v with exp v = q";
    const RULE: Option<Rule> = Some(Rule {
        row: 860,
        usage: "q.log()",
        widths: &[4],
        value: "the v with exp v = q, ‖v‖ ≤ π",
        derivative: "by the chain rule",
        remark: "a series near 1; 0 with slopes 0 at −1, where any axis fits",
        edges: &[],
    });

    fn fits(widths: &[usize]) -> bool {
        widths == [4]
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        quaternion::log(graph, &operands[0])
    }
}
