//! Matrices, row by row.

use crate::compose::{eigen, matrix};
use crate::operation::*;

/// Product of a matrix and a vector.
pub struct MatVec;

impl Instruction for MatVec {
    const CODE: u32 = 26;
    const ARITY: Arity = Arity::Values(2);
    const MEANING: &'static str = "m (row by row), v → m · v";
    const RULE: Option<Rule> = Some(Rule {
        row: 750,
        usage: "m.mul(v)",
        widths: &[4, 2],
        value: "m v",
        derivative: "by the product rule",
        remark: "",
        edges: &[all(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[17.0, 39.0], &[5.0, 6.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 5.0, 6.0, 3.0, 4.0])],
    });

    fn fits(widths: &[usize]) -> bool {
        matches!(widths, &[m, v] if m.is_multiple_of(v) && m > 0)
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [m, v] = values(operands);
        matrix::times_vector(graph, m, v)
    }
}

/// Product of two matrices.
pub struct MatMul;

impl Instruction for MatMul {
    const CODE: u32 = 77;
    const ARITY: Arity = Arity::Values(2);
    const MEANING: &'static str = "a, b → a · b for two 2×2 or 3×3 matrices, row by row";
    const RULE: Option<Rule> = Some(Rule {
        row: 760,
        usage: "m.mul(n)",
        widths: &[4, 4],
        value: "m n",
        derivative: "by the product rule",
        remark: "",
        edges: &[all(
            &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],
            &[19.0, 22.0, 43.0, 50.0],
            &[
                5.0, 7.0, 0.0, 0.0, 1.0, 0.0, 2.0, 0.0, 6.0, 8.0, 0.0, 0.0, 0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 5.0, 7.0, 3.0, 0.0, 4.0, 0.0,
                0.0, 0.0, 6.0, 8.0, 0.0, 3.0, 0.0, 4.0,
            ],
        )],
    });

    fn fits(widths: &[usize]) -> bool {
        equal(widths) && matches!(widths[0], 4 | 9)
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [a, b] = values(operands);
        matrix::product(graph, a, b)
    }
}

/// Transpose of a matrix.
pub struct Transpose;

impl Instruction for Transpose {
    const CODE: u32 = 78;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "m → mᵀ, 2×2 or 3×3";
    const RULE: Option<Rule> = Some(Rule {
        row: 770,
        usage: "m.transpose()",
        widths: &[4],
        value: "mᵀ",
        derivative: "1 for the same entry",
        remark: "",
        edges: &[all(
            &[1.0, 2.0, 3.0, 4.0],
            &[1.0, 3.0, 2.0, 4.0],
            &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        )],
    });

    fn fits(widths: &[usize]) -> bool {
        matches!(widths, [4 | 9])
    }

    fn build(_: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        matrix::transpose(&operands[0])
    }
}

/// Determinant of a matrix.
pub struct Determinant;

impl Instruction for Determinant {
    const CODE: u32 = 79;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "m → det m, 2×2 or 3×3";
    const RULE: Option<Rule> = Some(Rule {
        row: 780,
        usage: "m.determinant()",
        widths: &[4],
        value: "det m, 2×2 or 3×3",
        derivative: "the cofactors",
        remark: "",
        edges: &[at(&[1.0, 2.0, 3.0, 4.0], -2.0, &[4.0, -3.0, -2.0, 1.0])],
    });

    fn fits(widths: &[usize]) -> bool {
        matches!(widths, [4 | 9])
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        vec![matrix::determinant(graph, &operands[0])]
    }
}

/// Inverse of a matrix.
pub struct Inverse;

impl Instruction for Inverse {
    const CODE: u32 = 80;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "m → m⁻¹, 2×2 or 3×3";
    const RULE: Option<Rule> = Some(Rule {
        row: 790,
        usage: "m.inverse()",
        widths: &[4],
        value: "adj(m)/det m",
        derivative: "−m⁻¹ dm m⁻¹",
        remark: "undefined where det m = 0",
        edges: &[],
    });

    fn fits(widths: &[usize]) -> bool {
        matches!(widths, [4 | 9])
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        matrix::inverse(graph, &operands[0])
    }
}

/// Eigenvalues of a symmetric matrix.
pub struct EigenSymmetric;

impl Instruction for EigenSymmetric {
    const CODE: u32 = 95;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "symmetric 3×3 matrix → eigenvalues, ascending, then their unit vectors";
    const RULE: Option<Rule> = Some(Rule {
        row: 940,
        usage: "eigenSymmetric(m)",
        widths: &[9],
        value: "eigenvalues, ascending, and unit eigenvectors of a symmetric 3×3 matrix",
        derivative: "vᵢ ⊗ vᵢ; Σⱼ vⱼ (vⱼᵀ dm vᵢ)/(λᵢ − λⱼ)",
        remark: "between equal eigenvalues the vectors are held (slope 0)",
        edges: &[],
    });

    fn fits(widths: &[usize]) -> bool {
        widths == [9]
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        eigen::symmetric(graph, &operands[0])
    }
}

/// Rotation closest to a matrix.
pub struct ClosestRotation;

impl Instruction for ClosestRotation {
    const CODE: u32 = 96;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "3×3 matrix → the rotation closest to it";
    const RULE: Option<Rule> = Some(Rule {
        row: 950,
        usage: "closestRotation(m)",
        widths: &[9],
        value: "the rotation R that maximises tr(RᵀM)",
        derivative: "by the implicit function theorem",
        remark: "det R = 1 always; where it is not unique one is taken and held",
        edges: &[],
    });

    fn fits(widths: &[usize]) -> bool {
        widths == [9]
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        eigen::closest_rotation(graph, &operands[0])
    }
}
