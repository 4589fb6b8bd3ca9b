//! Triangles.

use crate::compose::triangle;
use crate::operation::*;

/// Area of a triangle.
pub struct TriangleArea;

impl Instruction for TriangleArea {
    const CODE: u32 = 91;
    const ARITY: Arity = Arity::Values(3);
    const MEANING: &'static str = "a, b, c → ‖(b − a) × (c − a)‖/2 (2-D: signed)";
    const RULE: Option<Rule> = Some(Rule {
        row: 900,
        usage: "triangleArea(a, b, c)",
        widths: &[2, 2, 2],
        value: "‖(b − a) × (c − a)‖/2; signed in 2-D",
        derivative: "by the chain rule",
        remark: "in 3-D slopes 0 where it is 0",
        edges: &[at(&[0.0, 0.0, 1.0, 0.0, 0.0, 1.0], 0.5, &[-0.5, -0.5, 0.5, 0.0, 0.0, 0.5])],
    });

    fn fits(widths: &[usize]) -> bool {
        equal(widths) && matches!(widths[0], 2 | 3)
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [a, b, c] = values(operands);
        vec![triangle::area(graph, a, b, c)]
    }
}

/// Unit normal of a triangle.
pub struct TriangleNormal;

impl Instruction for TriangleNormal {
    const CODE: u32 = 92;
    const ARITY: Arity = Arity::Values(3);
    const MEANING: &'static str = "a, b, c → the unit normal, 0 where the area is";
    const RULE: Option<Rule> = Some(Rule {
        row: 910,
        usage: "triangleNormal(a, b, c)",
        widths: &[3, 3, 3],
        value: "the unit normal",
        derivative: "by the chain rule",
        remark: "0 with slopes 0 where the area is 0",
        edges: &[],
    });

    fn fits(widths: &[usize]) -> bool {
        equal(widths) && widths[0] == 3
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [a, b, c] = values(operands);
        triangle::normal(graph, a, b, c)
    }
}

/// Angle between two triangles with a common edge.
pub struct DihedralAngle;

impl Instruction for DihedralAngle {
    const CODE: u32 = 93;
    const ARITY: Arity = Arity::Values(4);
    const MEANING: &'static str = "a, b, c, d → the signed angle at edge bc between triangles abc and dcb";
    const RULE: Option<Rule> = Some(Rule {
        row: 920,
        usage: "dihedralAngle(a, b, c, d)",
        widths: &[3, 3, 3, 3],
        value: "the fold of abc and dcb at bc, in [−π, π]",
        derivative: "by the chain rule",
        remark: "0 when flat; 0 with slopes 0 where a triangle has no area",
        edges: &[at(&[0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1.0, 0.0], 0.0, &[])],
    });

    fn fits(widths: &[usize]) -> bool {
        equal(widths) && widths[0] == 3
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [a, b, c, d] = values(operands);
        vec![triangle::dihedral(graph, a, b, c, d)]
    }
}

/// Cotangent of a triangle's angle.
pub struct Cotangent;

impl Instruction for Cotangent {
    const CODE: u32 = 94;
    const ARITY: Arity = Arity::Values(3);
    const MEANING: &'static str = "a, b, c → the cotangent of the angle at a";
    const RULE: Option<Rule> = Some(Rule {
        row: 930,
        usage: "cotangent(a, b, c)",
        widths: &[2, 2, 2],
        value: "the cotangent of the angle at a",
        derivative: "by the chain rule",
        remark: "0 with slopes 0 where the area is 0",
        edges: &[
            at(&[0.0, 0.0, 1.0, 0.0, 2.0, 0.0], 0.0, &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
            at(&[0.0, 0.0, 1.0, 0.0, 0.0, 1.0], 0.0, &[-1.0, -1.0, 0.0, 1.0, 1.0, 0.0]),
        ],
    });

    fn fits(widths: &[usize]) -> bool {
        equal(widths) && matches!(widths[0], 2 | 3)
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [a, b, c] = values(operands);
        vec![triangle::cotangent(graph, a, b, c)]
    }
}
