//! The tape: how a traced function crosses from TypeScript, once.
//!
//! A tape is a list of `u32` words. Every instruction begins with `opcode | words << 16`, where `words` counts the
//! words that follow; the k-th instruction's result is value k, a tuple of `width` scalars. Operands are numbers of
//! earlier values. Vector operations are single instructions, so that their mathematics stands here and nowhere else.
//!
//! A tape may come from anywhere, so nothing in it is believed: every count, reference and width is checked, sizes
//! are bounded, and what is wrong is named.

use super::{Binary, Expr, Graph, Leaf, Unary};

macro_rules! opcodes {
    ($($name:ident = $code:literal, $doc:literal;)*) => {
        /// What an instruction of a tape does.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Opcode { $(#[doc = $doc] $name = $code),* }

        impl Opcode {
            /// Every opcode with its name and meaning: the TypeScript enumeration is generated from this table.
            pub const TABLE: &[(Opcode, &str, &str)] = &[$((Self::$name, stringify!($name), $doc)),*];
        }
    };
}

opcodes! {
    Literal = 0, "low, high word of an f64 → a scalar";
    Input = 1, "source (slots first, then data columns) → its scalars";
    Component = 2, "value, index → one scalar of it";
    Pack = 3, "values… → their scalars, one after the other";
    Neg = 4, "a → −a, elementwise";
    Add = 5, "a, b → a + b, elementwise; a scalar goes with every element";
    Sub = 6, "a, b → a − b";
    Mul = 7, "a, b → a · b";
    Div = 8, "a, b → a / b";
    Square = 9, "a → a²";
    Sqrt = 10, "a → √a";
    Sin = 11, "a → sin a";
    Cos = 12, "a → cos a";
    Dot = 13, "a, b → Σ aᵢbᵢ";
    Cross = 14, "a, b → a × b; a scalar for two 2-vectors";
    Norm = 15, "a → ‖a‖, with derivative 0 at 0";
    NormSq = 16, "a → ‖a‖²";
    Normalize = 17, "a → a / ‖a‖, and 0 at 0";
    RotateXYZ = 18, "angles, v → Rz(angles.z) · Ry(angles.y) · Rx(angles.x) · v";
    Sum = 19, "values… → their elementwise sum";
    Lt = 20, "a, b → whether a < b";
    Le = 21, "a, b → whether a ≤ b";
    And = 22, "a, b → both";
    Or = 23, "a, b → one of them";
    Not = 24, "a → not a";
    Select = 25, "condition, then, otherwise → one of the two, elementwise";
    MatVec = 26, "m (row by row), v → m · v";
}

impl Opcode {
    fn from_word(word: u32) -> Option<Self> {
        Self::TABLE.get(word as usize).map(|entry| entry.0)
    }
}

/// Scalars of one value.
const MAX_WIDTH: usize = 4096;
/// Scalars of all values of a tape.
const MAX_SCALARS: usize = 1 << 22;

/// What is wrong with a tape.
#[derive(Debug, thiserror::Error, PartialEq, Clone)]
pub enum TapeError {
    #[error("the tape ends within instruction {0}")]
    CutShort(usize),
    #[error("instruction {instruction} has the unknown opcode {opcode}")]
    UnknownOpcode { instruction: usize, opcode: u32 },
    #[error("instruction {instruction} ({name}) takes {expected} operands, not {got}")]
    OperandCount { instruction: usize, name: &'static str, expected: &'static str, got: usize },
    #[error("instruction {instruction} refers to value {value}, which does not come before it")]
    Forward { instruction: usize, value: u32 },
    #[error("instruction {instruction} reads input {source_number}, but there are {count}")]
    UnknownSource { instruction: usize, source_number: u32, count: usize },
    #[error("instruction {instruction} ({name}) cannot take operands of {widths:?} scalars")]
    Width { instruction: usize, name: &'static str, widths: Vec<usize> },
    #[error("the literal of instruction {instruction} is {value}: it must be finite and at most 3.4e38 in magnitude")]
    Literal { instruction: usize, value: f64 },
    #[error("the traced function is too large: {0} are allowed in one value, {1} in all", MAX_WIDTH, MAX_SCALARS)]
    TooLarge,
    #[error("the residual refers to value {0}, which the tape does not have")]
    Output(u32),
}

/// An input of the traced function: a slot or a data column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    /// What its component 0 is; the others follow.
    pub leaf: Leaf,
    pub width: u32,
}

/// Reads a tape into `graph`; gives the scalars of the values in `outputs`, in order.
pub fn read(graph: &mut Graph, words: &[u32], outputs: &[u32], sources: &[Source]) -> Result<Vec<Expr>, TapeError> {
    let mut reader = Reader { graph, sources, values: Vec::new(), scalars: 0 };
    let mut rest = words;
    while let Some((&head, tail)) = rest.split_first() {
        let instruction = reader.values.len();
        let count = (head >> 16) as usize;
        let operands = tail.get(..count).ok_or(TapeError::CutShort(instruction))?;
        let code = head & 0xffff;
        let opcode = Opcode::from_word(code).ok_or(TapeError::UnknownOpcode { instruction, opcode: code })?;
        let value = reader.instruction(opcode, operands)?;
        reader.scalars += value.len();
        if value.len() > MAX_WIDTH || reader.scalars > MAX_SCALARS || reader.graph.len() > MAX_SCALARS {
            return Err(TapeError::TooLarge);
        }
        reader.values.push(value);
        rest = &tail[count..];
    }
    if reader.graph.len() > MAX_SCALARS {
        return Err(TapeError::TooLarge);
    }
    let mut scalars = Vec::new();
    for &output in outputs {
        scalars.extend_from_slice(reader.values.get(output as usize).ok_or(TapeError::Output(output))?);
        if scalars.len() > MAX_WIDTH {
            return Err(TapeError::TooLarge);
        }
    }
    Ok(scalars)
}

struct Reader<'a> {
    graph: &'a mut Graph,
    sources: &'a [Source],
    values: Vec<Vec<Expr>>,
    scalars: usize,
}

impl Reader<'_> {
    fn instruction(&mut self, opcode: Opcode, words: &[u32]) -> Result<Vec<Expr>, TapeError> {
        let instruction = self.values.len();
        let name = Opcode::TABLE[opcode as usize].1;
        let arity = |expected: &'static str, fits: bool| match fits {
            true => Ok(()),
            false => Err(TapeError::OperandCount { instruction, name, expected, got: words.len() }),
        };
        match opcode {
            Opcode::Literal => {
                arity("two", words.len() == 2)?;
                let value = f64::from_bits(u64::from(words[0]) | u64::from(words[1]) << 32);
                if !value.is_finite() || value.abs() > f64::from(f32::MAX) {
                    return Err(TapeError::Literal { instruction, value });
                }
                return Ok(vec![self.graph.constant(value)]);
            }
            Opcode::Input => {
                arity("one", words.len() == 1)?;
                let unknown = TapeError::UnknownSource { instruction, source_number: words[0], count: self.sources.len() };
                let source = *self.sources.get(words[0] as usize).ok_or(unknown)?;
                return Ok((0..source.width).map(|k| self.graph.leaf(source.leaf.component(k))).collect());
            }
            Opcode::Component => {
                arity("two", words.len() == 2)?;
                let value = self.value(words[0])?;
                let width = TapeError::Width { instruction, name, widths: vec![value.len(), words[1] as usize] };
                return Ok(vec![*value.get(words[1] as usize).ok_or(width)?]);
            }
            _ => {}
        }
        // What an instruction reads counts as well as what it makes: one that names a wide value again and again would
        // otherwise do any amount of work.
        for &word in words {
            self.scalars += self.value(word)?.len();
            if self.scalars > MAX_SCALARS {
                return Err(TapeError::TooLarge);
            }
        }
        let operands = words.iter().map(|&word| self.value(word).cloned()).collect::<Result<Vec<_>, _>>()?;
        let widths: Vec<usize> = operands.iter().map(Vec::len).collect();
        let fits = |fits: bool| match fits {
            true => Ok(()),
            false => Err(TapeError::Width { instruction, name, widths: widths.clone() }),
        };
        let graph = &mut *self.graph;
        use Opcode::*;
        match opcode {
            Pack | Sum => arity("one or more", !operands.is_empty())?,
            Neg | Square | Sqrt | Sin | Cos | Norm | NormSq | Normalize | Not => arity("one", operands.len() == 1)?,
            Select => arity("three", operands.len() == 3)?,
            _ => arity("two", operands.len() == 2)?,
        }
        Ok(match (opcode, operands.as_slice()) {
            (Pack, _) => {
                if widths.iter().sum::<usize>() > MAX_WIDTH {
                    return Err(TapeError::TooLarge);
                }
                operands.concat()
            }
            (Neg, [a]) => a.iter().map(|&x| graph.neg(x)).collect(),
            (Square, [a]) => a.iter().map(|&x| graph.square(x)).collect(),
            (Sqrt, [a]) => a.iter().map(|&x| graph.unary(Unary::Sqrt, x)).collect(),
            (Sin, [a]) => a.iter().map(|&x| graph.unary(Unary::Sin, x)).collect(),
            (Cos, [a]) => a.iter().map(|&x| graph.unary(Unary::Cos, x)).collect(),
            (Not, [a]) => {
                fits(a.len() == 1)?;
                vec![graph.unary(Unary::Not, a[0])]
            }
            (Norm, [a]) => vec![norm(graph, a)],
            (NormSq, [a]) => vec![graph.dot(a, a)],
            (Normalize, [a]) => {
                let length = norm(graph, a);
                a.iter().map(|&x| graph.div_safe(x, length)).collect()
            }
            (Add | Sub | Mul | Div, [a, b]) => {
                fits(a.len() == b.len() || a.len() == 1 || b.len() == 1)?;
                let operation = match opcode {
                    Add => Binary::Add,
                    Sub => Binary::Sub,
                    Mul => Binary::Mul,
                    _ => Binary::Div,
                };
                let at = |v: &[Expr], k: usize| if v.len() == 1 { v[0] } else { v[k] };
                (0..a.len().max(b.len())).map(|k| graph.binary(operation, at(a, k), at(b, k))).collect()
            }
            (Lt | Le | And | Or, [a, b]) => {
                fits(a.len() == 1 && b.len() == 1)?;
                let operation = match opcode {
                    Lt => Binary::Lt,
                    Le => Binary::Le,
                    And => Binary::And,
                    _ => Binary::Or,
                };
                vec![graph.binary(operation, a[0], b[0])]
            }
            (Dot, [a, b]) => {
                fits(a.len() == b.len())?;
                vec![graph.dot(a, b)]
            }
            (Cross, [a, b]) => {
                fits(a.len() == b.len() && (a.len() == 2 || a.len() == 3))?;
                cross(graph, a, b)
            }
            (RotateXYZ, [angles, v]) => {
                fits(angles.len() == 3 && v.len() == 3)?;
                rotate_xyz(graph, angles, v)
            }
            (MatVec, [m, v]) => {
                fits(!v.is_empty() && m.len().is_multiple_of(v.len()))?;
                m.chunks(v.len()).map(|row| graph.dot(row, v)).collect()
            }
            (Sum, [first, others @ ..]) => {
                fits(others.iter().all(|other| other.len() == first.len()))?;
                let mut sum = first.clone();
                for other in others {
                    sum.iter_mut().zip(other).for_each(|(x, &y)| *x = graph.add(*x, y));
                }
                sum
            }
            (Select, [condition, then, otherwise]) => {
                fits(condition.len() == 1 && then.len() == otherwise.len())?;
                then.iter().zip(otherwise).map(|(&x, &y)| graph.select(condition[0], x, y)).collect()
            }
            _ => return Err(TapeError::OperandCount { instruction, name, expected: "other", got: words.len() }),
        })
    }

    fn value(&self, number: u32) -> Result<&Vec<Expr>, TapeError> {
        self.values.get(number as usize).ok_or(TapeError::Forward { instruction: self.values.len(), value: number })
    }
}

impl Leaf {
    /// Component k of an input whose component 0 is this.
    fn component(self, k: u32) -> Self {
        match self {
            Self::Slot { slot, .. } => Self::Slot { slot, component: k },
            Self::Data { column, .. } => Self::Data { column, component: k },
            other => other,
        }
    }
}

fn norm(graph: &mut Graph, a: &[Expr]) -> Expr {
    let squared = graph.dot(a, a);
    graph.unary(Unary::Sqrt, squared)
}

fn cross(graph: &mut Graph, a: &[Expr], b: &[Expr]) -> Vec<Expr> {
    let mut minor = |i: usize, j: usize| {
        let left = graph.mul(a[i], b[j]);
        let right = graph.mul(a[j], b[i]);
        graph.sub(left, right)
    };
    if a.len() == 2 { vec![minor(0, 1)] } else { vec![minor(1, 2), minor(2, 0), minor(0, 1)] }
}

fn rotate_xyz(graph: &mut Graph, angles: &[Expr], v: &[Expr]) -> Vec<Expr> {
    let mut turned = v.to_vec();
    for (axis, &angle) in angles.iter().enumerate() {
        let (i, j) = ((axis + 1) % 3, (axis + 2) % 3);
        let (cosine, sine) = (graph.unary(Unary::Cos, angle), graph.unary(Unary::Sin, angle));
        let mut combine = |x: Expr, y: Expr| {
            let (first, second) = (graph.mul(cosine, x), graph.mul(sine, y));
            (first, second)
        };
        let (ci, sj) = combine(turned[i], turned[j]);
        let (cj, si) = combine(turned[j], turned[i]);
        turned[i] = graph.sub(ci, sj);
        turned[j] = graph.add(si, cj);
    }
    turned
}
