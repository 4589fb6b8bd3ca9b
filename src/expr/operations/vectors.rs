//! Vectors.

use crate::compose::vector;
use crate::operation::*;

/// Scalar product.
pub struct Dot;

impl Instruction for Dot {
    const CODE: u32 = 13;
    const ARITY: Arity = Arity::Values(2);
    const MEANING: &'static str = "a, b → Σ aᵢbᵢ";
    const RULE: Option<Rule> = Some(Rule {
        row: 670,
        usage: "dot(a, b)",
        widths: &[2, 2],
        value: "Σ aᵢbᵢ",
        derivative: "b, a",
        remark: "",
        edges: &[at(&[1.0, 2.0, 3.0, 4.0], 11.0, &[3.0, 4.0, 1.0, 2.0])],
    });

    fn fits(widths: &[usize]) -> bool {
        equal(widths)
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [a, b] = values(operands);
        vec![graph.dot(a, b)]
    }
}

/// Vector product.
pub struct Cross;

impl Instruction for Cross {
    const CODE: u32 = 14;
    const ARITY: Arity = Arity::Values(2);
    const MEANING: &'static str = "a, b → a × b; a scalar for two 2-vectors";
    const RULE: Option<Rule> = Some(Rule {
        row: 680,
        usage: "cross(a, b)",
        widths: &[2, 2],
        value: "a × b (a scalar in 2-D)",
        derivative: "by the product rule",
        remark: "",
        edges: &[at(&[1.0, 0.0, 0.0, 1.0], 1.0, &[1.0, 0.0, 0.0, 1.0])],
    });

    fn fits(widths: &[usize]) -> bool {
        equal(widths) && matches!(widths[0], 2 | 3)
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [a, b] = values(operands);
        vector::cross(graph, a, b)
    }
}

/// Euclidean norm.
pub struct Norm;

impl Instruction for Norm {
    const CODE: u32 = 15;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → ‖a‖, with derivative 0 at 0";
    const RULE: Option<Rule> = Some(Rule {
        row: 690,
        usage: "norm(a)",
        widths: &[2],
        value: "‖a‖",
        derivative: "a/‖a‖",
        remark: "slopes 0 at 0",
        edges: &[at(&[0.0, 0.0], 0.0, &[0.0, 0.0]), at(&[3.0, 4.0], 5.0, &[0.6, 0.8])],
    });

    fn fits(_: &[usize]) -> bool {
        true
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        vec![vector::norm(graph, &operands[0])]
    }
}

/// Squared norm.
pub struct NormSq;

impl Instruction for NormSq {
    const CODE: u32 = 16;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → ‖a‖²";
    const RULE: Option<Rule> = Some(Rule {
        row: 700,
        usage: "a.normSq()",
        widths: &[2],
        value: "‖a‖²",
        derivative: "2a",
        remark: "",
        edges: &[at(&[0.0, 0.0], 0.0, &[0.0, 0.0])],
    });

    fn fits(_: &[usize]) -> bool {
        true
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        vec![graph.dot(&operands[0], &operands[0])]
    }
}

/// Vector of unit length.
pub struct Normalize;

impl Instruction for Normalize {
    const CODE: u32 = 17;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → a / ‖a‖, and 0 at 0";
    const RULE: Option<Rule> = Some(Rule {
        row: 710,
        usage: "normalize(a)",
        widths: &[1],
        value: "a/‖a‖",
        derivative: "(I − ââᵀ)/‖a‖",
        remark: "0 with slopes 0 at 0",
        edges: &[at(&[0.0], 0.0, &[0.0]), at(&[-2.0], -1.0, &[0.0])],
    });

    fn fits(_: &[usize]) -> bool {
        true
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        vector::normalize(graph, &operands[0])
    }
}

/// Distance of two points.
pub struct Distance;

impl Instruction for Distance {
    const CODE: u32 = 75;
    const ARITY: Arity = Arity::Values(2);
    const MEANING: &'static str = "a, b → ‖a − b‖";
    const RULE: Option<Rule> = Some(Rule {
        row: 720,
        usage: "distance(a, b)",
        widths: &[2, 2],
        value: "‖a − b‖",
        derivative: "±(a − b)/‖a − b‖",
        remark: "slopes 0 where a = b",
        edges: &[at(&[1.0, 2.0, 1.0, 2.0], 0.0, &[0.0, 0.0, 0.0, 0.0])],
    });

    fn fits(widths: &[usize]) -> bool {
        equal(widths)
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [a, b] = values(operands);
        let difference = vector::sub(graph, a, b);
        vec![vector::norm(graph, &difference)]
    }
}

/// Angle between two vectors.
pub struct AngleBetween;

impl Instruction for AngleBetween {
    const CODE: u32 = 76;
    const ARITY: Arity = Arity::Values(2);
    const MEANING: &'static str = "a, b → the angle between two 2- or 3-vectors, in [0, π]";
    const RULE: Option<Rule> = Some(Rule {
        row: 730,
        usage: "angleBetween(a, b)",
        widths: &[2, 2],
        value: "atan2(‖a × b‖, a · b), in [0, π]",
        derivative: "by the chain rule",
        remark: "slopes 0 where they are parallel or opposite (a kink); 0 if one is 0",
        edges: &[
            at(&[1.0, 0.0, 2.0, 0.0], 0.0, &[0.0, 0.0, 0.0, 0.0]),
            at(&[1.0, 0.0, -1.0, 0.0], consts::PI, &[0.0, 0.0, 0.0, 0.0]),
            at(&[0.0, 0.0, 1.0, 0.0], 0.0, &[0.0, 0.0, 0.0, 0.0]),
        ],
    });

    fn fits(widths: &[usize]) -> bool {
        equal(widths) && matches!(widths[0], 2 | 3)
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [a, b] = values(operands);
        vec![vector::angle_between(graph, a, b)]
    }
}

/// A vector, rotated by Euler angles about x, then y, then z.
pub struct RotateXYZ;

impl Instruction for RotateXYZ {
    const CODE: u32 = 18;
    const ARITY: Arity = Arity::Values(2);
    const MEANING: &'static str = "angles, v → Rz(angles.z) · Ry(angles.y) · Rx(angles.x) · v";
    const RULE: Option<Rule> = Some(Rule {
        row: 740,
        usage: "rotateXYZ(angles, v)",
        widths: &[3, 3],
        value: "Rz Ry Rx v, angles in radians",
        derivative: "by the product rule",
        remark: "",
        edges: &[
            all(&[0.0, 0.0, consts::FRAC_PI_2, 1.0, 0.0, 0.0], &[0.0, 1.0, 0.0], &[]),
            all(
                &[0.0, 0.0, 0.0, 1.0, 2.0, 3.0],
                &[1.0, 2.0, 3.0],
                &[0.0, 3.0, -2.0, 1.0, 0.0, 0.0, -3.0, 0.0, 1.0, 0.0, 1.0, 0.0, 2.0, -1.0, 0.0, 0.0, 0.0, 1.0],
            ),
        ],
    });

    fn fits(widths: &[usize]) -> bool {
        widths == [3, 3]
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [angles, v] = values(operands);
        vector::rotate_xyz(graph, angles, v)
    }
}
