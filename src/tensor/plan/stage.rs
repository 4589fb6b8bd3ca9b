//! A stage while it is being made: expressions of what views read.

use super::is_plain;
use crate::graph::{Graph, Node, Op};
use crate::view::{Movement, View};
use leastwise_expr::{Expr, Graph as Scalars, Leaf};
use leastwise_program::words::{WordGraph, WordStep};
use leastwise_program::{Load, Program, Store, lower};
use std::collections::HashMap;

/// What a view reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Origin {
    Tensor(Node),
    Address,
    One,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Reading {
    pub origin: Origin,
    pub view: View,
    /// An earlier reading whose value is the number of a row, of so many, so far apart.
    pub row: Option<(u32, u32, u32)>,
}

/// Tensors of readings, each once.
pub fn tensors(readings: &[Reading]) -> Vec<Node> {
    let of_tensor = |reading: &Reading| if let Origin::Tensor(node) = reading.origin { Some(node) } else { None };
    let mut all: Vec<Node> = readings.iter().filter_map(of_tensor).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Why an expression can't be written: this must be stored first.
pub struct Unwritten(pub Node);

/// The movements from a node up to a stage's elements, from the outermost on: a list whose tails are shared.
type Path = u32;

#[derive(Clone, Default)]
pub struct Stage {
    pub scalars: Scalars,
    /// In place of these, of a stage of whole numbers.
    pub words: Option<WordGraph>,
    pub readings: Vec<Reading>,
    /// Numbers that the kernel is given.
    pub numbers: Vec<Node>,
    paths: Vec<(Path, Node)>,
    known: HashMap<(Path, Node), Path>,
    written: HashMap<(Node, Path), Expr>,
    /// Elementwise operations that are written here.
    pub inlined: Vec<Node>,
    /// Nodes that were looked at.
    pub visited: u64,
}

/// What a prologue stores.
#[derive(Clone)]
pub struct Prologue {
    pub stage: Stage,
    pub value: Expr,
}

/// What stands around a stage.
pub struct Around<'a> {
    pub graph: &'a Graph,
    /// What is stored, or will be.
    pub is_stored: &'a dyn Fn(Node) -> bool,
    /// What this kernel itself computes, element by element.
    pub values: &'a HashMap<Node, Expr>,
    /// What comes last on every path: how the stage's domain lies to the node's elements.
    pub last: Option<&'a Movement>,
}

impl Stage {
    /// A stage of whole numbers.
    pub fn of_words() -> Self {
        Self { words: Some(WordGraph::default()), ..Self::default() }
    }

    /// What the anchor made.
    pub fn made(&mut self) -> Expr {
        self.scalars.leaf(Leaf::Weight)
    }

    fn movements(&self, mut path: Path) -> Vec<Node> {
        let mut all = Vec::new();
        while path > 0 {
            let (before, node) = self.paths[path as usize - 1];
            all.push(node);
            path = before;
        }
        all
    }

    fn longer(&mut self, path: Path, node: Node) -> Path {
        if let Some(&known) = self.known.get(&(path, node)) {
            return known;
        }
        self.paths.push((path, node));
        let longer = self.paths.len() as Path;
        self.known.insert((path, node), longer);
        longer
    }

    /// The node's element that belongs to the stage's.
    pub fn write(&mut self, around: &Around, node: Node) -> Result<Expr, Unwritten> {
        self.write_at(around, node, 0)
    }

    fn write_at(&mut self, around: &Around, root: Node, path: Path) -> Result<Expr, Unwritten> {
        // Depth first without recursion: chains are as long as programs make them.
        let mut stack = vec![(root, path)];
        while let Some(&(node, path)) = stack.last() {
            self.visited += 1;
            if self.written.contains_key(&(node, path)) {
                stack.pop();
                continue;
            }
            let entry = around.graph.entry(node);
            if path == 0
                && around.last.is_none()
                && let Some(&value) = around.values.get(&node)
            {
                self.written.insert((node, path), value);
                continue;
            }
            if (around.is_stored)(node) {
                let expr = self.read(around, Origin::Tensor(node), &entry.shape, path)?;
                self.written.insert((node, path), expr);
                continue;
            }
            let below: Vec<(Node, Path)> = match &entry.op {
                // Operands of the other kind are read.
                Op::Map(_) if self.words.is_some() => return Err(Unwritten(node)),
                Op::Words(_) if self.words.is_none() => return Err(Unwritten(node)),
                Op::Map(_) | Op::Words(_) => entry.inputs.iter().map(|&input| (input, path)).collect(),
                Op::Detach | Op::Half => vec![(entry.inputs[0], path)],
                Op::Move(_) => vec![(entry.inputs[0], self.longer(path, node))],
                _ => Vec::new(),
            };
            let before = stack.len();
            stack.extend(below.iter().rev().filter(|place| !self.written.contains_key(place)));
            if stack.len() > before {
                continue;
            }
            let operands: Vec<Expr> = below.iter().map(|place| self.written[place]).collect();
            let expr = match &entry.op {
                Op::Constant(value) if is_plain(*value) => match &mut self.words {
                    Some(words) => Expr(words.step(WordStep::Constant(*value as i32))),
                    None => self.scalars.constant(*value),
                },
                Op::Constant(_) if self.words.is_some() => return Err(Unwritten(node)),
                Op::Constant(_) => {
                    let number = self.numbers.iter().position(|known| *known == node).unwrap_or_else(|| {
                        self.numbers.push(node);
                        self.numbers.len() - 1
                    });
                    self.scalars.leaf(Leaf::Literal(number as u32))
                }
                Op::Count => self.read(around, Origin::Address, &entry.shape, path)?,
                Op::Map(formula) => {
                    self.inlined.push(node);
                    formula.write(&mut self.scalars, &operands)
                }
                Op::Words(formula) => {
                    self.inlined.push(node);
                    let operands: Vec<u32> = operands.iter().map(|operand| operand.0).collect();
                    Expr(self.words.get_or_insert_default().write(&formula.program, &operands))
                }
                // It is the root of its kernel, which rounds what it stores.
                Op::Detach | Op::Half => operands[0],
                Op::Move(Movement::Pad { .. }) if !self.is_read(around, entry.inputs[0]) => {
                    // What an expression is in the padding is not 0.
                    let own = around.graph.shape(entry.inputs[0]);
                    let longer = self.longer(path, node);
                    let inside = self.read(around, Origin::One, own, longer)?;
                    match &mut self.words {
                        Some(words) => {
                            let zero = words.step(WordStep::Constant(0));
                            Expr(words.step(WordStep::Select(inside.0, operands[0].0, zero)))
                        }
                        None => {
                            let zero = self.scalars.constant(0.0);
                            self.scalars.select(inside, operands[0], zero)
                        }
                    }
                }
                Op::Move(_) => operands[0],
                Op::Gather => self.gathered(around, node, path)?,
                _ => return Err(Unwritten(node)),
            };
            self.written.insert((node, path), expr);
        }
        Ok(self.written[&(root, path)])
    }

    /// Whether below a node there are only movements of what is stored: then its views are 0 in paddings.
    fn is_read(&self, around: &Around, mut node: Node) -> bool {
        loop {
            let entry = around.graph.entry(node);
            if (around.is_stored)(node) || matches!(entry.op, Op::Count) {
                return (around.is_stored)(node);
            }
            match entry.op {
                Op::Move(_) | Op::Detach => node = entry.inputs[0],
                _ => return false,
            }
        }
    }

    /// The view of a tensor's elements from the stage's; the node to be stored first where it is none.
    fn view(&self, around: &Around, start: View, path: Path) -> Result<View, Unwritten> {
        let mut view = start;
        for node in self.movements(path) {
            let entry = around.graph.entry(node);
            let Op::Move(movement) = &entry.op else { continue };
            view = view.moved(movement).ok_or(Unwritten(entry.inputs[0]))?;
        }
        match around.last {
            // Orders of axes always fit.
            Some(last) => Ok(view.moved(last).unwrap_or(view)),
            None => Ok(view),
        }
    }

    fn read(&mut self, around: &Around, origin: Origin, shape: &[u32], path: Path) -> Result<Expr, Unwritten> {
        let view = self.view(around, View::contiguous(shape), path)?;
        Ok(self.reading(Reading { origin, view, row: None }))
    }

    /// The expression of a reading, each of which there is once.
    fn reading(&mut self, reading: Reading) -> Expr {
        let number = self.readings.iter().position(|known| *known == reading).unwrap_or_else(|| {
            self.readings.push(reading);
            self.readings.len() - 1
        });
        match &mut self.words {
            Some(words) => Expr(words.step(WordStep::View(number as u32))),
            None => self.scalars.leaf(Leaf::Stored(number as u32)),
        }
    }

    /// A row of a table by the number that is read for it.
    fn gathered(&mut self, around: &Around, node: Node, path: Path) -> Result<Expr, Unwritten> {
        let entry = around.graph.entry(node);
        let [table, rows] = entry.inputs[..] else { return Err(Unwritten(node)) };
        for input in [table, rows] {
            if !(around.is_stored)(input) {
                return Err(Unwritten(input));
            }
        }
        let (of_table, of_rows) = (around.graph.shape(table), around.graph.shape(rows));
        let mut numbers = View::contiguous(of_rows);
        let mut elements = View::contiguous(of_table);
        let row = elements.axes.remove(0);
        for axis in &elements.axes {
            numbers.axes.push(crate::view::Axis { size: axis.size, stride: 0, range: None });
        }
        let repeated = of_rows.iter().map(|&size| crate::view::Axis { size, stride: 0, range: None });
        elements.axes.splice(0..0, repeated);
        let (numbers, elements) = (self.view(around, numbers, path)?, self.view(around, elements, path)?);
        let numbers = Reading { origin: Origin::Tensor(rows), view: numbers, row: None };
        self.reading(numbers.clone());
        let number = self.readings.iter().position(|known| *known == numbers).unwrap_or(0) as u32;
        Ok(self.reading(Reading { origin: Origin::Tensor(table), view: elements, row: Some((number, row.size, row.stride as u32)) }))
    }

    /// Tensors that are read.
    pub fn tensors(&self) -> Vec<Node> {
        tensors(&self.readings)
    }

    /// The program that stores these; its numbers come after so many others.
    pub fn program(&self, stores: &[Expr], before: u32) -> Program {
        let made = self.readings.len() as u32;
        self.program_given(stores, before, |reading| reading.unwrap_or(made))
    }

    /// The same where readings, and what the anchor made, are given under other numbers.
    pub fn program_given(&self, stores: &[Expr], before: u32, given: impl Fn(Option<u32>) -> u32) -> Program {
        let stores: Vec<(Store, Expr)> = (0..).map(Store::Column).zip(stores.iter().copied()).collect();
        let load = |leaf: Leaf| match leaf {
            Leaf::Stored(number) => Load::Given(given(Some(number))),
            Leaf::Literal(number) => Load::Shared(before + number),
            _ => Load::Given(given(None)),
        };
        let mut program = Program::default();
        lower(&self.scalars, &stores, load, &mut program);
        program
    }
}
