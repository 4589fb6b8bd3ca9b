//! What operations mean, in words and in numbers: the lines that `docs/OPERATIONS.md` is generated from.
//!
//! The numbers are kinks, ties and edges of domains: operands, the value there and the slope with respect to each
//! operand. A test runs every line of them on every backend, so what the documentation says is what happens.

use super::Opcode;

/// What an operation gives at a point.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Outcome {
    /// A number.
    Value(f64),
    /// Of an operation that gives several.
    Values(&'static [f64]),
    /// Not defined: the residual is flagged as not finite.
    Undefined,
}

/// An operation at a kink, a tie or an edge.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// The operands' scalars; of [`Opcode::PowInt`] the exponent besides.
    pub at: &'static [f64],
    /// Value there.
    pub value: Outcome,
    /// ∂/∂operand, one after the other, value by value; none where the value is not defined.
    pub slopes: &'static [f64],
}

/// A line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its place on the page, in steps of ten.
    pub row: u32,
    /// As it is written in TypeScript.
    pub usage: &'static str,
    /// Scalars of each operand.
    pub widths: &'static [u32],
    /// Value, as the page writes it.
    pub value: &'static str,
    /// Derivative, as the page writes it.
    pub derivative: &'static str,
    /// What happens at kinks, ties and edges.
    pub remark: &'static str,
    /// Kinks, ties and edges, as tests try them.
    pub edges: &'static [Edge],
}

/// The value at a point, and its slopes.
pub const fn at(at: &'static [f64], value: f64, slopes: &'static [f64]) -> Edge {
    Edge { at, value: Outcome::Value(value), slopes }
}

/// Several values, and the rows of their Jacobian.
pub const fn all(at: &'static [f64], values: &'static [f64], slopes: &'static [f64]) -> Edge {
    Edge { at, value: Outcome::Values(values), slopes }
}

/// A point where there is no value.
pub const fn undefined(at: &'static [f64]) -> Edge {
    Edge { at, value: Outcome::Undefined, slopes: &[] }
}

/// A function of TypeScript that takes scalars and gives one: `ts/src/functions.ts` is generated from these.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Name in TypeScript.
    pub name: &'static str,
    /// As TypeScript declares them: `a: Num, slope: Num = 0.01`.
    pub parameters: &'static str,
    /// Its documentation, in a line.
    pub description: &'static str,
}

/// The rules of all instructions, in the order of the page.
pub fn rules() -> Vec<(Opcode, Rule)> {
    let all = Opcode::TABLE.iter().filter_map(|&(opcode, ..)| Some((opcode, opcode.rule()?)));
    let mut rules: Vec<_> = all.collect();
    rules.sort_by_key(|(_, rule)| rule.row);
    rules
}

/// The table as Markdown.
pub fn markdown() -> String {
    let mut text = String::from(
        "# Operations\n\n\
         Generated from `src/expr/operations/`, whose numbers a test runs on every backend (`npm run generate` writes this page\n\
         anew). Derivatives are with respect to each operand in turn. *Undefined* means that the residual is flagged as not\n\
         finite: at the start values an error names term and instance, and a step that leads there is rejected. What is 0\n\
         whatever its operands are is simplified to 0, even where they are undefined: 0 · a, a − a, 0/a. How exact the\n\
         functions are: [PRECISION.md](PRECISION.md). How expressions are written: [EXPRESSIONS.md](EXPRESSIONS.md).\n\n\
         | operation | value | derivative | at kinks, ties and edges |\n|---|---|---|---|\n",
    );
    for (_, rule) in rules() {
        let cell = |text: &str| text.replace('|', "\\|");
        text.push_str(&format!("| `{}` | {} | {} | {} |\n", cell(rule.usage), cell(rule.value), cell(rule.derivative), cell(rule.remark)));
    }
    text
}
