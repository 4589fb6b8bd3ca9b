//! A smaller program that still fails: greedy, over outputs, statements, operands and numbers.

use super::traced::{Point, Statement, Traced};
use leastwise::expr::{Arity, Opcode};

/// What fails, and how.
#[derive(Clone, Debug)]
pub struct Failing {
    pub traced: Traced,
    pub points: Vec<Point>,
    pub message: String,
}

/// Tries smaller programs until none of them fails. `fails` gives the message of a failure; a panic is one too.
pub fn shrink(start: Failing, fails: impl Fn(&Traced, &[Point]) -> Option<String>) -> Failing {
    let mut best = start;
    // Each round removes something, so this ends; the bound is for failures that are not deterministic.
    for _ in 0..200 {
        let found = candidates(&best).find_map(|(traced, points)| {
            let message = fails(&traced, &points)?;
            Some(Failing { traced, points, message })
        });
        match found {
            Some(smaller) => best = smaller,
            None => break,
        }
    }
    best
}

fn candidates(failing: &Failing) -> impl Iterator<Item = (Traced, Vec<Point>)> {
    let Failing { traced, points, .. } = failing;
    let with_points = |points: Vec<Point>| (traced.clone(), points);
    let single_points = points.iter().filter(|_| points.len() > 1).map(|point| vec![point.clone()]);
    let programs = outputs(traced).chain(statements(traced)).filter(|smaller| size(smaller) < size(traced));
    let programs = programs.map(|traced| (traced, points.clone()));
    let fewer_inputs = without_inputs(traced, points);
    single_points.map(with_points).chain(programs).chain(fewer_inputs).chain(numbers(points).map(with_points))
}

/// Without each of the inputs that are not read.
fn without_inputs(traced: &Traced, points: &[Point]) -> Vec<(Traced, Vec<Point>)> {
    let reads = |statement: &Statement, input: usize| statement.opcode == Opcode::Input && statement.words[0] as usize == input;
    let unread = |&input: &usize| !traced.statements.iter().any(|statement| reads(statement, input));
    let without = |input: usize| {
        let mut fewer = traced.clone();
        let range = traced.offset(input)..traced.offset(input + 1);
        fewer.inputs.remove(input);
        let later = fewer.statements.iter_mut().filter(|statement| statement.opcode == Opcode::Input);
        later.filter(|statement| statement.words[0] as usize > input).for_each(|statement| statement.words[0] -= 1);
        let points = points.iter().map(|point| [&point[..range.start], &point[range.end..]].concat());
        (fewer, points.collect())
    };
    (0..traced.inputs.len()).filter(unread).map(without).collect()
}

/// Statements first, then operands, then how plain the literals are.
fn size(traced: &Traced) -> [usize; 4] {
    let words = traced.statements.iter().map(|statement| statement.words.len()).sum();
    let literals = traced.statements.iter().filter(|statement| statement.opcode == Opcode::Literal);
    let digits = literals.map(|literal| format!("{:?}", literal.value()).len()).sum();
    let names = traced.statements.iter().map(|statement| statement.opcode as usize).sum();
    [traced.statements.len() + traced.outputs.len(), words, digits, names]
}

fn outputs(traced: &Traced) -> impl Iterator<Item = Traced> {
    let single = traced.outputs.iter().filter(|_| traced.outputs.len() > 1);
    let single = single.map(|&output| Traced { outputs: vec![output], ..traced.clone() }.pruned());
    // An earlier value instead of what is put out.
    let earlier = (0..traced.statements.len() as u32).filter(|_| traced.outputs.len() == 1);
    single.chain(earlier.map(|output| Traced { outputs: vec![output], ..traced.clone() }.pruned()))
}

fn statements(traced: &Traced) -> impl Iterator<Item = Traced> {
    (0..traced.statements.len()).rev().flat_map(move |number| replacements(traced, number))
}

/// The program with one statement replaced by an earlier value, by a number, or by less of itself.
fn replacements(traced: &Traced, number: usize) -> Vec<Traced> {
    let statement = &traced.statements[number];
    let mut all = Vec::new();
    for earlier in 0..number as u32 {
        let mut other = traced.clone();
        for statement in &mut other.statements {
            let references = statement.references();
            statement.words[..references].iter_mut().filter(|word| **word == number as u32).for_each(|word| *word = earlier);
        }
        other.outputs.iter_mut().filter(|output| **output == number as u32).for_each(|output| *output = earlier);
        all.push(other.pruned());
    }
    let mut replace = |statement: Statement| {
        let mut other = traced.clone();
        other.statements[number] = statement;
        all.push(other.pruned());
    };
    let plain = [0.0, 1.0, 2.0, -1.0, 0.5];
    plain.into_iter().for_each(|value| replace(Statement::literal(value)));
    if statement.opcode.arity() == Arity::OneOrMore && statement.words.len() > 1 {
        for place in 0..statement.words.len() {
            let mut words = statement.words.clone();
            words.remove(place);
            replace(Statement { opcode: statement.opcode, words });
        }
    }
    if statement.opcode == Opcode::PowInt {
        [2, 3, -1].into_iter().for_each(|n: i32| replace(Statement::new(Opcode::PowInt, &[statement.words[0], n as u32])));
    }
    // An operand's operand.
    for place in 0..statement.references() {
        let operand = &traced.statements[statement.words[place] as usize];
        for &inner in &operand.words[..operand.references()] {
            let mut words = statement.words.clone();
            words[place] = inner;
            replace(Statement { opcode: statement.opcode, words });
        }
    }
    all
}

/// Plainer numbers in the points.
fn numbers(points: &[Point]) -> impl Iterator<Item = Vec<Point>> {
    let places = points.iter().enumerate().flat_map(|(number, point)| (0..point.len()).map(move |place| (number, place)));
    places.flat_map(move |(number, place)| {
        let value = points[number][place];
        let rounded = [0.0, 1.0, -1.0, value.round(), (value * 4.0).round() / 4.0, f64::from((value * 64.0).round() as f32) / 64.0];
        let plainer = rounded
            .into_iter()
            .filter(move |other| format!("{other:?}").len() < format!("{value:?}").len() || *other == 0.0 && value != 0.0);
        plainer.map(move |other| {
            let mut points = points.to_vec();
            points[number][place] = other;
            points
        })
    })
}
