//! The tape: how a traced function crosses from TypeScript, once.
//!
//! A tape is a list of `u32` words. Every instruction begins with `opcode | words << 16`, where `words` counts the
//! words that follow; the k-th instruction's result is value k, a tuple of `width` scalars. Operands are numbers of
//! earlier values. Vector operations are single instructions, so that their mathematics stands here and nowhere else.
//!
//! A tape may come from anywhere, so nothing in it is believed: every count, reference and width is checked, sizes
//! are bounded, and what is wrong is named.

use super::compose::vector;
use super::{Arity, Expr, Graph, Leaf, Opcode};

/// Scalars of one value.
const MAX_WIDTH: usize = 4096;
/// Scalars of all values of a tape.
const MAX_SCALARS: usize = 1 << 22;

/// Components of all sums over a row: every entry multiplies with a matrix of so many rows and columns.
const MAX_SUMS: usize = 64;

/// What is wrong with a tape.
#[derive(Debug, thiserror::Error, PartialEq, Clone)]
#[expect(missing_docs, reason = "the message above a variant says what it is, and what its fields are")]
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
    #[error(
        "the literal of instruction {instruction} is {value:e}: it must be finite, and at most 3.4e38 in magnitude unless the engine computes in f64"
    )]
    Literal { instruction: usize, value: f64 },
    #[error("the traced function is too large: {0} are allowed in one value, {1} in all", MAX_WIDTH, MAX_SCALARS)]
    TooLarge,
    #[error("an entry of a row has a say other than in a sum")]
    Individual,
    #[error("instruction {0} is a sumOver(), but the term has no slot with rows of entries: use .each(…)")]
    NoRows(usize),
    #[error("the body of a sumOver() uses what another one gives: a sum over a row can't be part of an entry of it")]
    NestedSum,
    #[error("the sums over a row have more than {} scalars in all", MAX_SUMS)]
    ManySums,
    #[error("slots of .each(…) are for sumOver(), which the residual does not call")]
    NoSum,
    #[error("an entry of a row is used outside of sumOver()")]
    StrayEntry,
    #[error("the residual refers to value {0}, which the tape does not have")]
    Output(u32),
}

/// An input of the traced function: a slot or a data column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    /// What its component 0 is; the others follow.
    pub leaf: Leaf,
    /// Number of its components.
    pub width: u32,
}

/// Reads a tape into `graph`; gives the scalars of the values in `outputs`, in order.
pub fn read(graph: &mut Graph, words: &[u32], outputs: &[u32], sources: &[Source]) -> Result<Vec<Expr>, TapeError> {
    let reader = Reader { graph, sources, values: Vec::new(), scalars: 0, literals: None, masks: None, sums: None };
    reader.read(words, outputs).map(|read| read.0)
}

/// The same with numbers lifted: all but 0 and ±1, which decide the structure, become leaves, equal ones the same.
/// Gives their values, too.
pub fn read_lifted(graph: &mut Graph, words: &[u32], outputs: &[u32], sources: &[Source]) -> Result<Lifted, TapeError> {
    let reader = Reader { graph, sources, values: Vec::new(), scalars: 0, literals: Some(Vec::new()), masks: None, sums: None };
    reader.read(words, outputs)
}

/// The scalars of the outputs, and the numbers that were lifted.
pub type Lifted = (Vec<Expr>, Vec<f64>);

/// Which sources belong to entries that an instance may lack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Optional {
    /// The first source of an entry, and how many sources each entry has.
    pub first: usize,
    /// Sources of each entry.
    pub each: usize,
    /// Entries that every instance has.
    pub required: usize,
    /// The data column whose component k is 1 where entry k is there, else 0.
    pub mask: u32,
}

/// The same with entries masked out of sums where they are not there. `None` where an entry has a say other than in a
/// sum.
pub fn read_masked(
    graph: &mut Graph,
    words: &[u32],
    outputs: &[u32],
    sources: &[Source],
    optional: Optional,
) -> Result<Option<Lifted>, TapeError> {
    let reader = Reader {
        graph,
        sources,
        values: Vec::new(),
        scalars: 0,
        literals: Some(Vec::new()),
        masks: Some(Masks::new(optional)),
        sums: None,
    };
    match reader.read(words, outputs) {
        Err(TapeError::Individual) => Ok(None),
        other => other.map(Some),
    }
}

/// Where sums over entries stand, and which leaves are entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entries {
    /// The slot whose components are the sums, one after the other.
    pub sum: u32,
    /// The first slot, and the first data column, that differ from entry to entry.
    pub slot: u32,
    /// First data column that differs from entry to entry.
    pub column: u32,
}

/// A residual over sums.
pub struct Summed {
    /// Components of the residual.
    pub residual: Vec<Expr>,
    /// What is summed, by component of the sums' slot.
    pub entry: Vec<Expr>,
    /// Literals of the tape, in their order.
    pub literals: Vec<f64>,
}

/// The same as [`read_lifted`] for a residual that contains sums over a row's entries. What is summed must not contain
/// a sum, and nothing else may contain an entry.
pub fn read_summed(graph: &mut Graph, words: &[u32], outputs: &[u32], sources: &[Source], entries: Entries) -> Result<Summed, TapeError> {
    let sums = Some((entries.sum, Vec::new()));
    let mut reader = Reader { graph, sources, values: Vec::new(), scalars: 0, literals: Some(Vec::new()), masks: None, sums };
    let residual = reader.run(words, outputs)?;
    let (entry, literals) = (reader.sums.map(|sums| sums.1).unwrap_or_default(), reader.literals.unwrap_or_default());
    if entry.is_empty() {
        return Err(TapeError::NoSum);
    }
    let contains = |roots: &[Expr], what: &dyn Fn(Leaf) -> bool| {
        let reached = graph.reachable(roots);
        (0..reached.len()).any(|index| reached[index] && matches!(graph.node(Expr(index as u32)), super::Node::Leaf(leaf) if what(leaf)))
    };
    if contains(&entry, &|leaf| matches!(leaf, Leaf::Slot { slot, .. } if slot == entries.sum)) {
        return Err(TapeError::NestedSum);
    }
    let is_entry = |leaf: Leaf| match leaf {
        Leaf::Slot { slot, .. } => slot >= entries.slot && slot != entries.sum,
        Leaf::Data { column, .. } => column >= entries.column,
        _ => false,
    };
    if contains(&residual, &is_entry) {
        return Err(TapeError::StrayEntry);
    }
    Ok(Summed { residual, entry, literals })
}

/// The entries that values depend on.
struct Masks {
    optional: Optional,
    /// For every value, the last entry that it depends on and that an instance may lack.
    of: Vec<Option<u32>>,
}

impl Masks {
    fn new(optional: Optional) -> Self {
        Self { optional, of: Vec::new() }
    }
}

/// The tape with every number that is lifted replaced by its place among the distinct ones, and those numbers. What is
/// left equal is read into equal structures.
pub fn lift(words: &[u32]) -> (Vec<u32>, Vec<f64>) {
    let (mut lifted, mut literals) = (Vec::new(), Vec::new());
    lift_into(words, &mut lifted, &mut literals);
    (lifted, literals)
}

/// The same, appended to lists that are there already: `literals` must be empty.
pub fn lift_into(words: &[u32], lifted: &mut Vec<u32>, literals: &mut Vec<f64>) {
    let first = lifted.len();
    lifted.extend_from_slice(words);
    let mut at = 0;
    while let Some(&head) = words.get(at) {
        let next = at + 1 + (head >> 16) as usize;
        if head == Opcode::Literal as u32 | 2 << 16
            && let Some(&[low, high]) = words.get(at + 1..next)
            && let Some(place) = place(literals, literal(low, high))
        {
            lifted[first + at + 1..first + next].copy_from_slice(&[place, u32::MAX]);
        }
        if head & 0xffff == Opcode::Mean as u32 {
            place(literals, share(head >> 16));
        }
        at = next;
    }
}

/// Refuses numbers of a tape beyond the largest that a device has; what is malformed, the reader refuses.
pub fn check_literals(words: &[u32], largest: f64) -> Result<(), TapeError> {
    let (mut at, mut instruction) = (0, 0);
    while let Some(&head) = words.get(at) {
        let next = at + 1 + (head >> 16) as usize;
        if head == Opcode::Literal as u32 | 2 << 16
            && let Some(&[low, high]) = words.get(at + 1..next)
            && literal(low, high).abs() > largest
        {
            return Err(TapeError::Literal { instruction, value: literal(low, high) });
        }
        (at, instruction) = (next, instruction + 1);
    }
    Ok(())
}

fn literal(low: u32, high: u32) -> f64 {
    f64::from_bits(u64::from(low) | u64::from(high) << 32)
}

/// What each of so many operands counts in their mean.
fn share(operands: u32) -> f64 {
    1.0 / f64::from(operands.max(1))
}

/// Distinct numbers that are lifted at most; a table of constants stays in the kernel.
const MAX_LITERALS: usize = 256;

/// The place of a number among those that are lifted; none for 0 and ±1, which decide the structure.
fn place(literals: &mut Vec<f64>, value: f64) -> Option<u32> {
    if matches!(value, 0.0 | 1.0 | -1.0) {
        return None;
    }
    let known = literals.iter().position(|known| known.to_bits() == value.to_bits());
    if known.is_none() && literals.len() < MAX_LITERALS {
        literals.push(value);
        return Some(literals.len() as u32 - 1);
    }
    known.map(|place| place as u32)
}

struct Reader<'a> {
    graph: &'a mut Graph,
    sources: &'a [Source],
    values: Vec<Vec<Expr>>,
    scalars: usize,
    /// The numbers lifted so far, unless they stay where they are.
    literals: Option<Vec<f64>>,
    /// Where entries may be missing.
    masks: Option<Masks>,
    /// The slot of sums over entries, and what was summed so far.
    sums: Option<(u32, Vec<Expr>)>,
}

impl Reader<'_> {
    fn read(mut self, words: &[u32], outputs: &[u32]) -> Result<Lifted, TapeError> {
        let scalars = self.run(words, outputs)?;
        Ok((scalars, self.literals.unwrap_or_default()))
    }

    fn run(&mut self, words: &[u32], outputs: &[u32]) -> Result<Vec<Expr>, TapeError> {
        let reader = &mut *self;
        let mut rest = words;
        while let Some((&head, tail)) = rest.split_first() {
            let instruction = reader.values.len();
            let count = (head >> 16) as usize;
            let operands = tail.get(..count).ok_or(TapeError::CutShort(instruction))?;
            let code = head & 0xffff;
            let opcode = Opcode::from_word(code).ok_or(TapeError::UnknownOpcode { instruction, opcode: code })?;
            let value = reader.instruction(opcode, operands)?;
            reader.note_entries(opcode, operands);
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
            if reader.entry(output).is_some() {
                return Err(TapeError::Individual);
            }
            scalars.extend_from_slice(reader.values.get(output as usize).ok_or(TapeError::Output(output))?);
            if scalars.len() > MAX_WIDTH {
                return Err(TapeError::TooLarge);
            }
        }
        Ok(scalars)
    }

    /// The last entry that a value depends on and that an instance may lack.
    fn entry(&self, value: u32) -> Option<u32> {
        self.masks.as_ref().and_then(|masks| masks.of.get(value as usize).copied().flatten())
    }

    /// Notes what the value just made depends on. A sum has left out what is not there.
    fn note_entries(&mut self, opcode: Opcode, words: &[u32]) {
        let Some(Masks { optional, .. }) = self.masks else { return };
        let entry = match (opcode, opcode.arity()) {
            (Opcode::Input, _) => {
                let entry = (words[0] as usize).checked_sub(optional.first).map(|place| place / optional.each.max(1));
                entry.filter(|entry| *entry >= optional.required).map(|entry| entry as u32)
            }
            (Opcode::Sum | Opcode::Mean | Opcode::Literal, _) => None,
            (Opcode::Component | Opcode::PowInt, _) => self.entry(words[0]),
            _ => words.iter().filter_map(|&word| self.entry(word)).max(),
        };
        if let Some(masks) = &mut self.masks {
            masks.of.push(entry);
        }
    }

    /// An operand of a sum: 0 where its entry is not there.
    fn masked(&mut self, number: u32, operand: Vec<Expr>) -> Vec<Expr> {
        let (Some(entry), Some(masks)) = (self.entry(number), &self.masks) else { return operand };
        let mask = self.graph.leaf(Leaf::Data { column: masks.optional.mask, component: entry });
        let zero = self.graph.constant(0.0);
        operand.into_iter().map(|x| self.graph.select(mask, x, zero)).collect()
    }

    fn instruction(&mut self, opcode: Opcode, words: &[u32]) -> Result<Vec<Expr>, TapeError> {
        let instruction = self.values.len();
        let (name, arity) = (opcode.name(), opcode.arity());
        if !arity.fits(words.len()) {
            return Err(TapeError::OperandCount { instruction, name, expected: arity.name(), got: words.len() });
        }
        if matches!(arity, Arity::Words(_)) {
            return self.words(opcode, words);
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
        if opcode == Opcode::Pack && widths.iter().sum::<usize>() > MAX_WIDTH {
            return Err(TapeError::TooLarge);
        }
        if !opcode.fits(&widths) {
            return Err(TapeError::Width { instruction, name, widths });
        }
        if opcode == Opcode::SumOver {
            let (slot, summed) = self.sums.as_mut().ok_or(TapeError::NoRows(instruction))?;
            let first = summed.len() as u32;
            summed.extend(&operands[0]);
            if summed.len() > MAX_SUMS {
                return Err(TapeError::ManySums);
            }
            return Ok((first..).take(widths[0]).map(|component| self.graph.leaf(Leaf::Slot { slot: *slot, component })).collect());
        }
        if matches!(opcode, Opcode::Sum | Opcode::Mean) {
            let masked = words.iter().zip(operands).map(|(&word, operand)| self.masked(word, operand)).collect::<Vec<_>>();
            let sum = masked[1..].iter().fold(masked[0].clone(), |sum, other| vector::add(self.graph, &sum, other));
            if opcode == Opcode::Sum {
                return Ok(sum);
            }
            // As a number of the function: it depends on how many there are.
            let share = self.number(share(words.len() as u32));
            return Ok(sum.into_iter().map(|x| self.graph.mul(x, share)).collect());
        }
        Ok(opcode.build(self.graph, &operands))
    }

    /// A number of the function: lifted, if numbers are.
    fn number(&mut self, value: f64) -> Expr {
        match self.literals.as_mut().and_then(|literals| place(literals, value)) {
            Some(place) => self.graph.leaf(Leaf::Literal(place)),
            None => self.graph.constant(value),
        }
    }

    /// The instructions whose operands are not all values.
    fn words(&mut self, opcode: Opcode, words: &[u32]) -> Result<Vec<Expr>, TapeError> {
        let (instruction, name) = (self.values.len(), opcode.name());
        match opcode {
            Opcode::Input => {
                let unknown = TapeError::UnknownSource { instruction, source_number: words[0], count: self.sources.len() };
                let source = *self.sources.get(words[0] as usize).ok_or(unknown)?;
                Ok((0..source.width).map(|k| self.graph.leaf(source.leaf.component(k))).collect())
            }
            Opcode::Component => {
                let value = self.value(words[0])?;
                let width = TapeError::Width { instruction, name, widths: vec![value.len(), words[1] as usize] };
                Ok(vec![*value.get(words[1] as usize).ok_or(width)?])
            }
            Opcode::PowInt => {
                let value = self.value(words[0])?.clone();
                Ok(value.into_iter().map(|x| self.graph.power(x, words[1] as i32)).collect())
            }
            _ => {
                let value = literal(words[0], words[1]);
                if !value.is_finite() {
                    return Err(TapeError::Literal { instruction, value });
                }
                Ok(vec![self.number(value)])
            }
        }
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
            Self::Step { slot, .. } => Self::Step { slot, component: k },
            other => other,
        }
    }
}
