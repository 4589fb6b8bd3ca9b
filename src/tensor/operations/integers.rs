//! Operations of integers and booleans, by name: which values results have, and what refuses them.
//!
//! Of two operands the greater values count: booleans, integers, reals. A whole number that is no tensor is what the tensor is.

use super::super::formula::Formula;
use super::super::graph::{Data, Graph, Node, Op, Values};
use super::super::integers::WordFormula;
use super::super::plan::is_plain;
use super::refuse;
use leastwise_error::Error;
use leastwise_program::fused::Fold;
use leastwise_program::words::{WordBinary, WordUnary};
use std::sync::Arc;

/// Names of operations that integers and booleans have beside those of reals.
pub const TYPED: &[&str] = &[
    "integer",
    "int32",
    "bool",
    "real",
    "any",
    "all",
    "notEqual",
    "floorDivide",
    "mod",
    "logicalAnd",
    "logicalOr",
    "logicalXor",
    "logicalNot",
    "bitwiseAnd",
    "bitwiseOr",
    "bitwiseXor",
    "bitwiseNot",
    "shiftLeft",
    "shiftRight",
];

/// Operations whose kernels compute with reals alone: integers are to be cast before, so that nobody takes a rounded number for one.
const OF_REALS: &[&str] =
    &["softmax", "logSoftmax", "layerNorm", "crossEntropy", "solve", "cholesky", "qr", "svd", "eigh", "attention", "conv2d", "maxPool2d"];

/// Those of reals whose second tensor is numbers of places, which may be integers.
const BY_PLACES: &[&str] = &["takeAlongAxis", "putAlongAxis", "scatterAdd", "crossEntropy"];

fn of_one(name: &str) -> Option<WordUnary> {
    Some(match name {
        "neg" => WordUnary::Neg,
        "abs" => WordUnary::Abs,
        "sign" => WordUnary::Sign,
        "bitwiseNot" => WordUnary::Not,
        _ => return None,
    })
}

fn of_two(name: &str) -> Option<WordBinary> {
    Some(match name {
        "add" => WordBinary::Add,
        "sub" => WordBinary::Sub,
        "mul" => WordBinary::Mul,
        "floorDivide" => WordBinary::FloorDivide,
        "mod" => WordBinary::Mod,
        "pow" | "powInt" => WordBinary::Pow,
        "minimum" => WordBinary::Min,
        "maximum" => WordBinary::Max,
        "less" => WordBinary::Lt,
        "lessEqual" => WordBinary::Le,
        "equal" => WordBinary::Eq,
        "notEqual" => WordBinary::Ne,
        "bitwiseAnd" => WordBinary::And,
        "bitwiseOr" => WordBinary::Or,
        "bitwiseXor" => WordBinary::Xor,
        "shiftLeft" => WordBinary::ShiftLeft,
        "shiftRight" => WordBinary::ShiftRight,
        _ => return None,
    })
}

/// True if an elementwise operation of integers gives integers.
pub fn keeps_integers(name: &str) -> bool {
    let is_either = of_one(name).is_some() || of_two(name).is_some() && !is_comparison(name);
    is_either || matches!(name, "floor" | "ceil" | "round" | "square" | "relu")
}

/// True if an operation gives booleans.
pub fn is_comparison(name: &str) -> bool {
    matches!(name, "less" | "lessEqual" | "equal" | "notEqual" | "isNaN")
}

/// Logical operation of 0 and 1.
fn logical(name: &str) -> Option<Arc<Formula>> {
    Some(match name {
        "logicalAnd" | "bitwiseAnd" => Formula::new(2, |graph, x| graph.mul(x[0], x[1])),
        "logicalOr" | "bitwiseOr" => Formula::new(2, |graph, x| graph.max(x[0], x[1])),
        "logicalXor" | "bitwiseXor" => Formula::new(2, |graph, x| {
            let one = graph.constant(1.0);
            let equal = graph.equal(x[0], x[1]);
            graph.sub(one, equal)
        }),
        "logicalNot" | "bitwiseNot" => Formula::new(1, |graph, x| {
            let one = graph.constant(1.0);
            graph.sub(one, x[0])
        }),
        _ => return None,
    })
}

impl Graph {
    /// A tensor of integers, as the bits of int32s.
    pub fn integers(&mut self, words: Vec<u32>, shape: Vec<u32>) -> Node {
        let node = self.stored(Data::Indices(words), shape);
        self.named_values(node, Values::Integers)
    }

    fn named_values(&mut self, node: Node, values: Values) -> Node {
        self.change(node, |entry| entry.values = values);
        node
    }

    fn of(&self, node: Node) -> Values {
        self.entry(node).values
    }

    /// A number that stands beside a tensor.
    fn literal(&self, node: Node) -> Option<f64> {
        if let Op::Constant(value) = self.entry(node).op { Some(value) } else { None }
    }

    /// An operation on integers or booleans, or one that gives them; none where it is one of reals.
    pub(super) fn typed(&mut self, name: &str, inputs: &[Node], numbers: &[f64]) -> Result<Option<Node>, Error> {
        for &input in inputs {
            self.known(input)?;
        }
        if let ("integer", [], [value, shape @ ..]) = (name, inputs, numbers) {
            let whole = self.integer(name, *value)?;
            let shape = shape.iter().map(|&size| Self::whole(name, "a size", size, 0.0)).collect::<Result<_, _>>()?;
            let shape = Self::checked(name, shape)?;
            let one = self.integers(vec![whole as u32], Vec::new());
            return self.broadcast_to(name, one, &shape).map(Some);
        }
        let kinds: Vec<Values> = inputs.iter().map(|&input| self.of(input)).collect();
        let is_integer = |kind: &Values| *kind == Values::Integers;
        let has_integers = match BY_PLACES.contains(&name) {
            true => kinds.iter().enumerate().any(|(place, kind)| place != 1 && is_integer(kind)),
            false => kinds.iter().any(is_integer),
        };
        if has_integers && OF_REALS.contains(&name) {
            return refuse(name, "it computes with reals, and a tensor is of int32: cast(\"f32\") first, which is exact up to 2²⁴".into());
        }
        match (name, inputs, numbers) {
            ("int32", &[x], []) => self.cast_to_integers(x).map(Some),
            ("bool", &[x], []) => self.cast_to_booleans(x).map(Some),
            ("real", &[x], []) => self.cast_to_reals(x).map(Some),
            ("any" | "all", &[x], [keep, axes @ ..]) => self.of_truths(name, x, axes, *keep != 0.0).map(Some),
            ("where", &[condition, then, otherwise], []) => self.chosen(condition, [then, otherwise]),
            ("powInt", &[x], &[exponent]) if has_integers => {
                let exponent = self.constant(exponent, &[]);
                self.whole_operation(name, &[x, exponent]).map(Some)
            }
            ("pad", &[x], &[axis, low, high, value]) if kinds[0] != Values::Reals => {
                let is_boolean = kinds[0] == Values::Booleans;
                let padded = self.padded(x, [axis, low, high], if is_boolean { f64::from(value != 0.0) } else { value })?;
                Ok(Some(self.named_values(padded, kinds[0])))
            }
            ("concat", all, &[axis]) => {
                let Some(&values) = kinds.iter().max() else { return Ok(None) };
                let all = all.iter().map(|&node| self.to(node, values)).collect::<Result<Vec<_>, _>>()?;
                let joined = self.concat(&all, axis)?;
                Ok(Some(self.named_values(joined, values)))
            }
            ("sum", &[x], [keep, axes @ ..]) if kinds[0] != Values::Reals => {
                let whole = self.cast_to_integers(x)?;
                self.reduce(name, Fold::Sum, whole, axes, *keep != 0.0).map(Some)
            }
            ("mean", &[x], [keep, axes @ ..]) if has_integers => {
                let real = self.cast_to_reals(x)?;
                self.mean(real, axes, *keep != 0.0).map(Some)
            }
            ("cumsum" | "cumprod", &[x], &[axis]) if kinds[0] == Values::Booleans => {
                let whole = self.cast_to_integers(x)?;
                if name == "cumsum" { self.cumsum(whole, axis) } else { self.cumprod(whole, axis) }.map(Some)
            }
            ("sort", &[x], &[axis, descending]) if kinds[0] == Values::Booleans => {
                let sorted = self.sort(x, axis, descending != 0.0)?;
                Ok(Some(self.named_values(sorted, Values::Booleans)))
            }
            ("takeAlongAxis", &[x, rows], &[axis]) if kinds[0] == Values::Booleans => {
                let taken = self.take_along_axis(x, rows, axis)?;
                Ok(Some(self.named_values(taken, Values::Booleans)))
            }
            ("putAlongAxis", &[x, rows, values], &[axis]) if [kinds[0], kinds[2]] == [Values::Booleans; 2] => {
                let put = self.put_along_axis(x, rows, values, axis)?;
                Ok(Some(self.named_values(put, Values::Booleans)))
            }
            // Of x and the values the greater kind counts.
            ("putAlongAxis" | "scatterAdd", &[x, rows, values], &[axis]) if has_integers => {
                let [x, values] = self.of_one_kind(name, [x, values])?;
                let made =
                    if name == "scatterAdd" { self.scatter_add(x, rows, values, axis) } else { self.put_along_axis(x, rows, values, axis) };
                made.map(Some)
            }
            ("matmul", &[a, b], []) if has_integers => {
                let [a, b] = self.of_one_kind(name, [a, b])?;
                self.matmul(a, b).map(Some)
            }
            ("floor" | "ceil" | "round", &[x], []) if has_integers => Ok(Some(self.words(&WordFormula::identity(), &[x]))),
            ("square", &[x], []) if has_integers => self.whole_operation("mul", &[x, x]).map(Some),
            ("relu", &[x], []) if has_integers => {
                let zero = self.constant(0.0, &[]);
                self.whole_operation("maximum", &[x, zero]).map(Some)
            }
            ("f16", &[x], []) if has_integers => {
                let real = self.cast_to_reals(x)?;
                self.half(real).map(Some)
            }
            _ => self.by_kinds(name, inputs, &kinds),
        }
    }

    /// An elementwise operation, by the values of its operands.
    fn by_kinds(&mut self, name: &str, inputs: &[Node], kinds: &[Values]) -> Result<Option<Node>, Error> {
        let tensors = || inputs.iter().zip(kinds).filter(|(input, _)| self.literal(**input).is_none());
        // A number alone is whole or real, as the tensor beside it is.
        let greatest = tensors().map(|(_, kind)| *kind).max();
        let is_whole = inputs.iter().filter_map(|&input| self.literal(input)).all(|value| value.fract() == 0.0);
        let is_logical = name.starts_with("logical");
        if is_logical || name.starts_with("bitwise") && greatest == Some(Values::Booleans) {
            let Some(formula) = logical(name) else { return Ok(None) };
            let truths = inputs.iter().map(|&input| self.cast_to_booleans(input)).collect::<Result<Vec<_>, _>>()?;
            let made = self.map(name, &formula, &truths)?;
            return Ok(Some(self.named_values(made, Values::Booleans)));
        }
        let of_bits = name.starts_with("bitwise") || name.starts_with("shift");
        if of_bits && (greatest != Some(Values::Integers) || !is_whole) {
            return refuse(name, "it takes tensors of int32 and whole numbers: cast(\"int32\") first".into());
        }
        if greatest == Some(Values::Integers) && (of_one(name).is_some() || of_two(name).is_some()) {
            if !is_whole {
                return refuse(name, "a tensor is of int32, and the number beside it is not whole: cast(\"f32\") first".into());
            }
            return self.whole_operation(name, inputs).map(Some);
        }
        if let ("floorDivide" | "mod", &[x, divisor]) = (name, inputs) {
            let quotient = self.apply("div", inputs)?;
            let whole = self.apply("floor", &[quotient])?;
            if name == "floorDivide" {
                return Ok(Some(whole));
            }
            let product = self.apply("mul", &[divisor, whole])?;
            return self.apply("sub", &[x, product]).map(Some);
        }
        if name == "notEqual" {
            let formula = Formula::new(2, |graph, x| {
                let one = graph.constant(1.0);
                let equal = graph.equal(x[0], x[1]);
                graph.sub(one, equal)
            });
            let made = self.map(name, &formula, inputs)?;
            return Ok(Some(self.named_values(made, Values::Booleans)));
        }
        let are_truths = matches!(name, "maximum" | "minimum") && kinds.iter().all(|kind| *kind == Values::Booleans);
        if !is_comparison(name) && !are_truths {
            return Ok(None);
        }
        let made = self.apply(name, inputs)?;
        Ok(Some(self.named_values(made, Values::Booleans)))
    }

    /// Two operands as the greater kind of them; a number beside integers must be one.
    fn of_one_kind(&mut self, name: &str, operands: [Node; 2]) -> Result<[Node; 2], Error> {
        let tensors = operands.iter().filter(|&&operand| self.literal(operand).is_none());
        let greatest = tensors.map(|&operand| self.of(operand)).max().unwrap_or(Values::Reals);
        let mut made = operands;
        for operand in &mut made {
            *operand = match self.literal(*operand).filter(|_| greatest == Values::Integers) {
                Some(value) => {
                    let whole = self.integer(name, value)?;
                    let shape = self.shape(*operand).to_vec();
                    let one = self.integers(vec![whole as u32], Vec::new());
                    self.broadcast_to(name, one, &shape)?
                }
                None => self.to(*operand, greatest)?,
            };
        }
        Ok(made)
    }

    /// int32 of a number.
    fn integer(&self, name: &str, value: f64) -> Result<i32, Error> {
        if value.fract() != 0.0 || value < i32::MIN.into() || value > i32::MAX.into() {
            return refuse(name, format!("{value} is no int32, a whole number from −2147483648 to 2147483647"));
        }
        Ok(value as i32)
    }

    /// An operation of whole numbers, of operands that broadcast.
    pub(super) fn whole_operation(&mut self, name: &str, inputs: &[Node]) -> Result<Node, Error> {
        let formula = match (of_one(name), of_two(name), inputs.len()) {
            (Some(operation), _, 1) => WordFormula::unary(operation),
            (_, Some(operation), 2) => WordFormula::binary(operation),
            _ => return refuse(name, format!("it does not take {} tensors", inputs.len())),
        };
        let made = self.whole_map(name, &formula, inputs)?;
        Ok(if is_comparison(name) { self.named_values(made, Values::Booleans) } else { made })
    }

    fn whole_map(&mut self, name: &str, formula: &Arc<WordFormula>, inputs: &[Node]) -> Result<Node, Error> {
        let mut operands = Vec::with_capacity(inputs.len());
        for &input in inputs {
            operands.push(match self.literal(input) {
                // In the kernel's text; others are given, because reals have not all of them.
                Some(value) if !is_plain(value) => {
                    let whole = self.integer(name, value)?;
                    let shape = self.shape(input).to_vec();
                    let one = self.integers(vec![whole as u32], Vec::new());
                    self.broadcast_to(name, one, &shape)?
                }
                _ => input,
            });
        }
        let shapes: Vec<&[u32]> = operands.iter().map(|&node| self.shape(node)).collect();
        let shape = Self::broadcast(name, &shapes)?;
        let operands = operands.iter().map(|&node| self.broadcast_to(name, node, &shape)).collect::<Result<Vec<_>, _>>()?;
        Ok(self.add(Op::Words(formula.clone()), operands, shape))
    }

    /// Of operands of one shape.
    pub(super) fn words(&mut self, formula: &Arc<WordFormula>, operands: &[Node]) -> Node {
        let shape = self.shape(operands[0]).to_vec();
        self.add(Op::Words(formula.clone()), operands.to_vec(), shape)
    }

    fn to(&mut self, node: Node, values: Values) -> Result<Node, Error> {
        match values {
            Values::Booleans => self.cast_to_booleans(node),
            Values::Integers => self.cast_to_integers(node),
            Values::Reals if self.of(node) == Values::Reals => Ok(node),
            Values::Reals => self.cast_to_reals(node),
        }
    }

    /// Whole parts, at the ends where they lie beyond; 0 of NaN.
    pub(super) fn cast_to_integers(&mut self, node: Node) -> Result<Node, Error> {
        Ok(if self.of(node) == Values::Integers { node } else { self.words(&WordFormula::identity(), &[node]) })
    }

    /// 1 where an element is not 0.
    fn cast_to_booleans(&mut self, node: Node) -> Result<Node, Error> {
        let made = match self.of(node) {
            Values::Booleans => return Ok(node),
            Values::Integers => self.words(&WordFormula::truth(), &[node]),
            Values::Reals => {
                let formula = Formula::new(1, |graph, x| {
                    let [zero, one] = [0.0, 1.0].map(|value| graph.constant(value));
                    let is_zero = graph.equal(x[0], zero);
                    graph.sub(one, is_zero)
                });
                self.map("bool", &formula, &[node])?
            }
        };
        Ok(self.named_values(made, Values::Booleans))
    }

    /// The same numbers as reals: the nearest ones, where there are none.
    fn cast_to_reals(&mut self, node: Node) -> Result<Node, Error> {
        match self.of(node) {
            Values::Reals => Ok(self.widened(node)),
            _ => self.map("real", &Formula::new(1, |_, x| x[0]), &[node]),
        }
    }

    /// True where any, or all, are not 0; of none, none is and all are.
    fn of_truths(&mut self, name: &str, node: Node, axes: &[f64], keep: bool) -> Result<Node, Error> {
        let truths = self.cast_to_booleans(node)?;
        let (fold, of_none) = if name == "any" { (Fold::Max, 0.0) } else { (Fold::Min, 1.0) };
        let made = match self.size(node) {
            0 => {
                let sum = self.reduce(name, Fold::Sum, truths, axes, keep)?;
                let shape = self.shape(sum).to_vec();
                let none = self.constant(of_none, &shape);
                self.detach(none)?
            }
            _ => self.reduce(name, fold, truths, axes, keep)?,
        };
        Ok(self.named_values(made, Values::Booleans))
    }

    /// Elements of one or the other: of integers, or of booleans, where both are.
    fn chosen(&mut self, condition: Node, [then, otherwise]: [Node; 2]) -> Result<Option<Node>, Error> {
        let kinds = [then, otherwise].map(|node| (self.of(node), self.literal(node)));
        let greatest = kinds.iter().filter(|(_, literal)| literal.is_none()).map(|(kind, _)| *kind).max();
        if greatest == Some(Values::Integers) {
            for value in kinds.iter().filter_map(|(_, literal)| *literal) {
                self.integer("where", value)?;
            }
            // Of reals between −1 and 1 the whole part would be 0.
            let condition = self.cast_to_booleans(condition)?;
            return self.whole_map("where", &WordFormula::choice(), &[condition, then, otherwise]).map(Some);
        }
        let made = self.apply("where", &[condition, then, otherwise])?;
        let is_truth = |&(kind, literal): &(Values, Option<f64>)| kind == Values::Booleans || matches!(literal, Some(0.0 | 1.0));
        let are_truths = greatest == Some(Values::Booleans) && kinds.iter().all(is_truth);
        Ok(Some(if are_truths { self.named_values(made, Values::Booleans) } else { made }))
    }

    pub(super) fn padded(&mut self, x: Node, [axis, low, high]: [f64; 3], value: f64) -> Result<Node, Error> {
        if self.of(x) == Values::Integers {
            self.integer("pad", value)?;
        }
        if value == 0.0 {
            return self.pad(x, axis, low, high, 0.0);
        }
        let shape = self.shape(x).to_vec();
        let ones = self.constant(1.0, &shape);
        let [zeros, inside] = [self.pad(x, axis, low, high, 0.0)?, self.pad(ones, axis, low, high, 0.0)?];
        let value = self.constant(value, &[]);
        match self.of(x) {
            Values::Integers => self.whole_map("pad", &WordFormula::choice(), &[inside, zeros, value]),
            _ => self.apply("where", &[inside, zeros, value]),
        }
    }

    /// 1 where an element is the extreme.
    pub(super) fn is_extreme_of(&mut self, name: &str, node: Node, extreme: Node, of_reals: &Arc<Formula>) -> Result<Node, Error> {
        match self.of(node) {
            Values::Integers => self.whole_operation("equal", &[node, extreme]),
            _ => self.map(name, of_reals, &[node, extreme]),
        }
    }
}
