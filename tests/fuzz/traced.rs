//! A traced function as the fuzzer handles it: statements that can be changed one by one, and their tape.

use leastwise::expr::tape::Source;
use leastwise::expr::{Arity, Leaf, Opcode};
use std::fmt::Write;

/// What an input is to a term. Only variables are differentiated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    Variable,
    Constant,
    Column,
    Shared,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Input {
    pub origin: Origin,
    pub width: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    pub opcode: Opcode,
    pub words: Vec<u32>,
}

/// Slots (variables and constants) come before columns, as on a tape.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Traced {
    pub inputs: Vec<Input>,
    pub statements: Vec<Statement>,
    pub outputs: Vec<u32>,
}

/// The scalars of all inputs, one after the other.
pub type Point = Vec<f64>;

impl Input {
    pub fn is_slot(self) -> bool {
        matches!(self.origin, Origin::Variable | Origin::Constant)
    }
}

impl Statement {
    pub fn new(opcode: Opcode, words: &[u32]) -> Self {
        Self { opcode, words: words.to_vec() }
    }

    pub fn literal(value: f64) -> Self {
        let bits = value.to_bits();
        Self::new(Opcode::Literal, &[bits as u32, (bits >> 32) as u32])
    }

    pub fn value(&self) -> f64 {
        f64::from_bits(u64::from(self.words[0]) | u64::from(self.words[1]) << 32)
    }

    /// How many of the words, from the first, are numbers of earlier values.
    pub fn references(&self) -> usize {
        match (self.opcode, self.opcode.arity()) {
            (Opcode::Component | Opcode::PowInt, _) => 1,
            (_, Arity::Words(_)) => 0,
            _ => self.words.len(),
        }
    }
}

impl Traced {
    pub fn words(&self) -> Vec<u32> {
        let words = |statement: &Statement| {
            let head = statement.opcode as u32 | (statement.words.len() as u32) << 16;
            [vec![head], statement.words.clone()].concat()
        };
        self.statements.iter().flat_map(words).collect()
    }

    pub fn from_words(inputs: &[(Origin, u32)], words: &[u32], outputs: &[u32]) -> Self {
        let mut statements = Vec::new();
        let mut rest = words;
        while let Some((&head, tail)) = rest.split_first() {
            let (operands, after) = tail.split_at((head >> 16) as usize);
            statements.push(Statement::new(Opcode::from_word(head & 0xffff).expect("a known opcode"), operands));
            rest = after;
        }
        let inputs = inputs.iter().map(|&(origin, width)| Input { origin, width }).collect();
        Self { inputs, statements, outputs: outputs.to_vec() }
    }

    pub fn sources(&self) -> Vec<Source> {
        let slots = self.inputs.iter().filter(|input| input.is_slot()).count();
        let source = |(number, input): (usize, &Input)| {
            let leaf = match number.checked_sub(slots) {
                None => Leaf::Slot { slot: number as u32, component: 0 },
                Some(column) => Leaf::Data { column: column as u32, component: 0 },
            };
            Source { leaf, width: input.width }
        };
        self.inputs.iter().enumerate().map(source).collect()
    }

    /// Where an input's scalars are in a [`Point`].
    pub fn offset(&self, input: usize) -> usize {
        self.inputs[..input].iter().map(|input| input.width as usize).sum()
    }

    pub fn scalars(&self) -> usize {
        self.offset(self.inputs.len())
    }

    /// The places, in a [`Point`], of what is differentiated.
    pub fn variables(&self) -> Vec<usize> {
        let variables = self.inputs.iter().enumerate().filter(|(_, input)| input.origin == Origin::Variable);
        variables.flat_map(|(number, input)| (0..input.width as usize).map(move |k| (number, k))).map(|(n, k)| self.offset(n) + k).collect()
    }

    /// Without the statements that no output needs.
    pub fn pruned(&self) -> Self {
        let mut needed = vec![false; self.statements.len()];
        self.outputs.iter().for_each(|&output| needed[output as usize] = true);
        for number in (0..needed.len()).rev() {
            if needed[number] {
                let statement = &self.statements[number];
                statement.words[..statement.references()].iter().for_each(|&word| needed[word as usize] = true);
            }
        }
        let mut numbers = vec![0; needed.len()];
        let mut pruned = Self { inputs: self.inputs.clone(), ..Self::default() };
        for (number, statement) in self.statements.iter().enumerate().filter(|(number, _)| needed[*number]) {
            numbers[number] = pruned.statements.len() as u32;
            let mut statement = statement.clone();
            let references = statement.references();
            statement.words[..references].iter_mut().for_each(|word| *word = numbers[*word as usize]);
            pruned.statements.push(statement);
        }
        pruned.outputs = self.outputs.iter().map(|&output| numbers[output as usize]).collect();
        pruned
    }

    /// For people, then for `regressions.rs`.
    pub fn listing(&self, points: &[Point]) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        for (number, statement) in self.statements.iter().enumerate() {
            let name = statement.opcode.name();
            let _ = match statement.opcode {
                Opcode::Literal => writeln!(text, "  v{number} = {:?}", statement.value()),
                Opcode::Input => {
                    let input = self.inputs[statement.words[0] as usize];
                    writeln!(text, "  v{number} = input {} ({:?} of {})", statement.words[0], input.origin, input.width)
                }
                Opcode::Component => writeln!(text, "  v{number} = v{}[{}]", statement.words[0], statement.words[1]),
                Opcode::PowInt => writeln!(text, "  v{number} = v{} ^ {}", statement.words[0], statement.words[1] as i32),
                _ => {
                    let operands: Vec<String> = statement.words.iter().map(|word| format!("v{word}")).collect();
                    writeln!(text, "  v{number} = {name}({})", operands.join(", "))
                }
            };
        }
        let _ = writeln!(text, "  outputs {:?} at {points:?}", self.outputs);
        let inputs: Vec<String> = self.inputs.iter().map(|input| format!("({:?}, {})", input.origin, input.width)).collect();
        let points: Vec<String> = points.iter().map(|point| format!("&{point:?}")).collect();
        let _ = writeln!(
            text,
            "    Regression {{ name: \"\", inputs: &[{}], words: &{:?}, outputs: &{:?}, points: &[{}] }},",
            inputs.join(", "),
            self.words(),
            self.outputs,
            points.join(", ")
        );
        text
    }
}
