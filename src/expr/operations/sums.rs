//! Sums and means of values of one width. The tape's reader writes them: entries that an instance lacks are left out.

use crate::operation::*;

/// Sum of a vector's components.
pub struct Sum;

impl Instruction for Sum {
    const CODE: u32 = 19;
    const ARITY: Arity = Arity::OneOrMore;
    const MEANING: &'static str = "values… → their elementwise sum";
    const RULE: Option<Rule> = Some(Rule {
        row: 550,
        usage: "sum([a, b, …])",
        widths: &[1, 1],
        value: "a + b + …",
        derivative: "1",
        remark: "of scalars or vectors, at least one",
        edges: &[],
    });

    fn fits(widths: &[usize]) -> bool {
        equal(widths)
    }
}

/// Mean of a vector's components.
pub struct Mean;

impl Instruction for Mean {
    const CODE: u32 = 72;
    const ARITY: Arity = Arity::OneOrMore;
    const MEANING: &'static str = "values… → their elementwise mean";
    const RULE: Option<Rule> = Some(Rule {
        row: 560,
        usage: "mean([a, b, …])",
        widths: &[1, 1],
        value: "(a + b + …)/n",
        derivative: "1/n",
        remark: "of scalars or vectors, at least one",
        edges: &[at(&[1.0, 2.0], 1.5, &[0.5, 0.5])],
    });

    fn fits(widths: &[usize]) -> bool {
        equal(widths)
    }
}

/// Sum over the entries of a row.
pub struct SumOver;

impl Instruction for SumOver {
    const CODE: u32 = 97;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "what one entry of a row gives → its sum over the row's entries";
    const RULE: Option<Rule> = Some(Rule {
        row: 570,
        usage: "sumOver(entries, body)",
        widths: &[1],
        value: "Σ body(entry) over a row of any length",
        derivative: "∂body/∂entry for every entry",
        remark: "an empty row sums to 0",
        edges: &[],
    });

    fn fits(_: &[usize]) -> bool {
        true
    }
}
