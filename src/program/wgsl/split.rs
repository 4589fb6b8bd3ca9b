//! Programs too large for one shader, in pieces.
//!
//! Compilers of shaders take more than linear time, and some give up. A piece costs at most [`Cut::most`] to compile; what a
//! later piece needs is stored in columns behind the program's own and loaded again. Cuts are made where few values are
//! alive. Constants and loads are written anew in each piece that uses them.

use super::Format;
use crate::{Instruction, Program, Store, Value};
use leastwise_expr::Numerics;
use std::collections::HashMap;

/// How large pieces are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    /// Pieces for f32 and f64.
    Coarse,
    /// Of double-floats, whose operations are some ten of f32's each.
    Fine,
}

impl Cut {
    /// Both, the coarser first.
    pub const ALL: [Self; 2] = [Self::Coarse, Self::Fine];

    /// How large pieces in this format are.
    pub const fn of(format: Format) -> Self {
        match format {
            Format::Single => Self::Coarse,
            Format::Double => Self::Fine,
        }
    }

    /// What one shader may cost to compile, in instructions.
    pub const fn most(self) -> usize {
        match self {
            Self::Coarse => 1024,
            Self::Fine => 192,
        }
    }
}

/// What an instruction costs to compile: calls of functions are written out.
fn cost(instruction: &Instruction) -> usize {
    match instruction {
        Instruction::Binary(operation, ..) => operation.cost(),
        Instruction::Unary(operation, _) => match operation.numerics() {
            Numerics::Instruction | Numerics::BuiltIn(_) => 1,
            Numerics::Function(_) | Numerics::OfTurn(_) | Numerics::SinCos(_) => 24,
        },
        _ => 1,
    }
}

/// What all instructions of a program cost to run: one for an addition. What is one instruction to a compiler need not be one to
/// a processor.
pub fn operations(program: &Program) -> usize {
    use leastwise_expr::{Binary, Unary};
    let to_run = |instruction: &Instruction| match instruction {
        Instruction::Binary(Binary::Div, ..) | Instruction::Unary(Unary::Sqrt, _) => 8,
        other => cost(other),
    };
    program.instructions.iter().filter(|instruction| !is_cheap(instruction)).map(to_run).sum()
}

/// Whether one shader is enough.
pub fn is_small(program: &Program, cut: Cut) -> bool {
    // Whatever one instruction costs: one alone is never cut.
    program.instructions.len() <= cut.most() && compile_cost(program) <= cut.most()
}

/// What a program costs to compile, in instructions.
pub fn compile_cost(program: &Program) -> usize {
    program.instructions.iter().map(cost).sum()
}

/// A part of a program.
pub struct Piece {
    /// The part's program.
    pub program: Program,
    /// For every instruction, the column that it is loaded from instead, if an earlier piece stored it.
    pub reloads: Vec<Option<u32>>,
}

/// The columns that a program's pieces store into, its own included. Who cuts finely has kernels that are cut coarsely, too.
pub fn columns(program: &Program, cut: Cut) -> u32 {
    let spilled = |piece: Piece| piece.program.stores.into_iter();
    let of = |cut: Cut| match is_small(program, cut) {
        true => 0,
        false => pieces(program, cut).into_iter().flat_map(spilled).map(|(store, _)| column_end(store)).max().unwrap_or(0),
    };
    let coarse = own_columns(program).max(of(Cut::Coarse));
    if cut == Cut::Fine { coarse.max(of(Cut::Fine)) } else { coarse }
}

fn column_end(store: Store) -> u32 {
    match store {
        Store::Column(column) => column + 1,
        Store::Jacobian(_) | Store::Tile(_) => 0,
    }
}

fn own_columns(program: &Program) -> u32 {
    program.stores.iter().map(|(store, _)| column_end(*store)).max().unwrap_or(0)
}

/// Whether an instruction is written again where it is needed.
fn is_cheap(instruction: &Instruction) -> bool {
    matches!(instruction, Instruction::Const(_) | Instruction::Load(_))
}

fn operands(instruction: &Instruction) -> impl Iterator<Item = Value> {
    let operands = match *instruction {
        Instruction::Const(_) | Instruction::Load(_) => [None; 3],
        Instruction::Unary(_, a) => [Some(a), None, None],
        Instruction::Binary(_, a, b) => [Some(a), Some(b), None],
        Instruction::MulAdd(a, b, c) | Instruction::Select { condition: a, then: b, otherwise: c } => [Some(a), Some(b), Some(c)],
    };
    operands.into_iter().flatten()
}

/// The program in pieces, in the order in which they must run; one if it is small.
pub fn pieces(program: &Program, cut: Cut) -> Vec<Piece> {
    let count = program.instructions.len();
    if is_small(program, cut) {
        return vec![Piece { program: program.clone(), reloads: vec![None; count] }];
    }
    let mut last_use = vec![0; count];
    for (place, instruction) in program.instructions.iter().enumerate() {
        operands(instruction).for_each(|operand| last_use[operand as usize] = place);
    }
    let cuts = cuts(program, &last_use, cut.most());
    let count = cuts.len() - 1;
    let mut stores = vec![Vec::new(); count];
    for &(store, value) in &program.stores {
        let cheap = is_cheap(&program.instructions[value as usize]);
        stores[if cheap { count - 1 } else { piece_of(&cuts, value as usize) }].push((store, value));
    }
    let ending = vec![Vec::new(); count];
    let mut writer =
        Writer { program, last_use, cuts, stores, columns: HashMap::new(), free: Vec::new(), next: own_columns(program), ending };
    (0..count).map(|number| writer.piece(number)).collect()
}

/// The piece that an instruction is in.
fn piece_of(cuts: &[usize], place: usize) -> usize {
    cuts.partition_point(|&cut| cut <= place) - 1
}

/// Where pieces begin, and the end: each cut where the fewest values cross it, in the last quarter of what a piece may
/// cost.
fn cuts(program: &Program, last_use: &[usize], most: usize) -> Vec<usize> {
    let count = program.instructions.len();
    // How many values are alive before each instruction.
    let mut change = vec![0i64; count + 1];
    for (place, instruction) in program.instructions.iter().enumerate() {
        if !is_cheap(instruction) && last_use[place] > place {
            change[place + 1] += 1;
            change[last_use[place] + 1] -= 1;
        }
    }
    let alive: Vec<i64> = change
        .iter()
        .scan(0, |alive, change| {
            *alive += change;
            Some(*alive)
        })
        .collect();
    let mut cuts = vec![0];
    while let Some(&start) = cuts.last().filter(|&&start| start < count) {
        let (mut end, mut quarter, mut total) = (start, start, 0);
        while end < count && (end == start || total + cost(&program.instructions[end]) <= most) {
            total += cost(&program.instructions[end]);
            end += 1;
            if total <= most - most / 4 {
                quarter = end;
            }
        }
        let best = (quarter.max(start + 1)..=end).min_by_key(|&cut| alive[cut]);
        cuts.push(if end == count { count } else { best.unwrap_or(end) });
    }
    cuts
}

struct Writer<'a> {
    program: &'a Program,
    last_use: Vec<usize>,
    cuts: Vec<usize>,
    /// What each piece stores; what is written anew where it is needed, the last one does.
    stores: Vec<Vec<(Store, Value)>>,
    /// Where values of earlier pieces are stored.
    columns: HashMap<Value, u32>,
    free: Vec<u32>,
    next: u32,
    /// For every piece, the columns that nobody needs after it.
    ending: Vec<Vec<u32>>,
}

impl Writer<'_> {
    fn piece(&mut self, number: usize) -> Piece {
        let (start, end) = (self.cuts[number], self.cuts[number + 1]);
        // What only earlier pieces needed may be overwritten now.
        if let Some(before) = number.checked_sub(1) {
            self.free.append(&mut self.ending[before]);
        }
        let Program { name, addresses, header, shared, guard, .. } = self.program;
        let (name, addresses) = (name.clone(), addresses.clone());
        let empty = Program { name, addresses, header: *header, shared: *shared, guard: *guard, ..Program::default() };
        let mut piece = Piece { program: empty, reloads: Vec::new() };
        let mut values: HashMap<Value, Value> = HashMap::new();
        for place in start..end {
            let instruction = self.program.instructions[place];
            if !is_cheap(&instruction) {
                self.write(place as Value, instruction, &mut piece, &mut values);
            }
        }
        for (store, value) in std::mem::take(&mut self.stores[number]) {
            let value = self.value(value, &mut piece, &mut values);
            piece.program.stores.push((store, value));
        }
        for place in start..end {
            if self.last_use[place] >= end && !is_cheap(&self.program.instructions[place]) {
                let column = self.free.pop().unwrap_or_else(|| {
                    self.next += 1;
                    self.next - 1
                });
                self.columns.insert(place as Value, column);
                self.ending[piece_of(&self.cuts, self.last_use[place])].push(column);
                piece.program.stores.push((Store::Column(column), values[&(place as Value)]));
            }
        }
        piece
    }

    fn write(&self, number: Value, instruction: Instruction, piece: &mut Piece, values: &mut HashMap<Value, Value>) {
        let mut at = |value: Value| self.value(value, piece, values);
        let written = match instruction {
            Instruction::Const(_) | Instruction::Load(_) => instruction,
            Instruction::Unary(operation, a) => Instruction::Unary(operation, at(a)),
            Instruction::Binary(operation, a, b) => Instruction::Binary(operation, at(a), at(b)),
            Instruction::MulAdd(a, b, c) => Instruction::MulAdd(at(a), at(b), at(c)),
            Instruction::Select { condition, then, otherwise } => {
                Instruction::Select { condition: at(condition), then: at(then), otherwise: at(otherwise) }
            }
        };
        push(piece, values, number, written, None);
    }

    /// The piece's number of a value: written there already, or brought in now.
    fn value(&self, value: Value, piece: &mut Piece, values: &mut HashMap<Value, Value>) -> Value {
        if let Some(known) = values.get(&value) {
            return *known;
        }
        let instruction = self.program.instructions[value as usize];
        match is_cheap(&instruction) {
            true => push(piece, values, value, instruction, None),
            // The instruction only keeps the place.
            false => push(piece, values, value, Instruction::Const(0.0), Some(self.columns[&value])),
        }
    }
}

fn push(piece: &mut Piece, values: &mut HashMap<Value, Value>, number: Value, instruction: Instruction, reload: Option<u32>) -> Value {
    let place = piece.program.instructions.len() as Value;
    piece.program.instructions.push(instruction);
    piece.reloads.push(reload);
    values.insert(number, place);
    place
}
