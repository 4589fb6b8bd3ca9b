//! Random typed programs over every opcode. A statement that leaves the tame range at some point is mostly taken back,
//! so that programs stay within domains without being built around them.

use super::dual::{Machine, State};
use super::meaning::{Hints, Value, places, step};
use super::traced::{Input, Origin, Point, Statement, Traced};
use crate::support::Random;
use leastwise::expr::Opcode;

/// Scalars that are differentiated, at most.
pub const VARIABLES: usize = 16;

const WIDTHS: [u32; 6] = [1, 1, 2, 3, 4, 9];

pub struct Sample {
    pub traced: Traced,
    pub points: Vec<Point>,
}

struct Generator<'a> {
    random: &'a mut Random,
    /// Of so many statements that are not tame, one is kept.
    tameness: u64,
    traced: Traced,
    points: Vec<Point>,
    /// The values so far, point by point.
    values: Vec<Vec<Value<0>>>,
    places: Vec<Option<usize>>,
}

pub fn sample(random: &mut Random, points: usize, length: u64) -> Sample {
    let inputs = inputs(random);
    let traced = Traced { inputs, ..Traced::default() };
    let mut points: Vec<Point> = (0..points).map(|number| point(random, traced.scalars(), number)).collect();
    // What all instances share is the same at all points.
    for (number, input) in traced.inputs.iter().enumerate().filter(|(_, input)| input.origin == Origin::Shared) {
        let range = traced.offset(number)..traced.offset(number) + input.width as usize;
        let shared = points[0][range.clone()].to_vec();
        points.iter_mut().for_each(|point| point[range.clone()].copy_from_slice(&shared));
    }
    let places = places(&traced);
    let values = vec![Vec::new(); points.len()];
    // Some programs are for the edges of domains, and beyond.
    let tameness = if random.below(6) == 0 { 2 } else { 16 };
    let mut generator = Generator { random, tameness, traced, points, values, places };
    for number in 0..generator.traced.inputs.len() as u32 {
        generator.push(Opcode::Input, &[number]);
    }
    let length = generator.traced.statements.len() + 2 + generator.random.below(length) as usize;
    while generator.traced.statements.len() < length {
        generator.statement();
    }
    generator.outputs();
    Sample { traced: generator.traced.pruned(), points: generator.points }
}

fn inputs(random: &mut Random) -> Vec<Input> {
    let mut inputs = Vec::new();
    let mut variables = 0;
    for _ in 0..2 + random.below(3) {
        let width = WIDTHS[random.below(6) as usize];
        let fits = variables + width as usize <= VARIABLES;
        let origin = if fits && random.below(6) > 0 { Origin::Variable } else { Origin::Constant };
        variables += if origin == Origin::Variable { width as usize } else { 0 };
        inputs.push(Input { origin, width });
    }
    for _ in 0..random.below(3) {
        let origin = if random.below(2) == 0 { Origin::Column } else { Origin::Shared };
        inputs.push(Input { origin, width: WIDTHS[random.below(6) as usize] });
    }
    inputs
}

/// Numbers that f32 holds. The second point has small whole numbers: ties, kinks and edges of domains.
fn point(random: &mut Random, scalars: usize, number: usize) -> Point {
    let mut scalar = || {
        if number == 1 {
            return random.below(7) as f64 * 0.5 - 1.0;
        }
        match random.below(24) {
            0 => random.below(5) as f64 - 2.0,
            1 => random.between(-20.0, 20.0),
            2 => random.between(-1e-3, 1e-3),
            _ => random.between(-1.5, 1.5),
        }
    };
    (0..scalars).map(|_| f64::from(scalar() as f32)).collect()
}

impl Generator<'_> {
    fn push(&mut self, opcode: Opcode, words: &[u32]) -> u32 {
        let statement = Statement::new(opcode, words);
        for (values, point) in self.values.iter_mut().zip(&self.points) {
            // What is doubtful for its sign alone (eigenvectors) is tame all the same.
            let hints = Hints::default();
            let value = step(&mut Machine::new(None), &self.traced, &statement, values, point, &self.places, &hints);
            values.push(value);
        }
        self.traced.statements.push(statement);
        self.traced.statements.len() as u32 - 1
    }

    fn is_tame(&self, value: usize) -> bool {
        self.values
            .iter()
            .flat_map(|values| &values[value])
            .all(|x| x.state != State::Undefined && x.value.abs() < 300.0 && (x.value == 0.0 || x.value.abs() > 1e-6))
    }

    fn width(&self, value: u32) -> usize {
        self.values[0][value as usize].len()
    }

    fn literal(&mut self) -> u32 {
        const PLAIN: [f64; 12] = [0.0, 1.0, -1.0, 2.0, 3.0, -2.0, 0.5, 10.0, 0.25, -0.5, 1.5, 4.0];
        const RARE: [f64; 8] = [1e-3, 1e-12, 1e6, std::f64::consts::PI, 1.0 / 3.0, -1e-30, 1e30, 0.1];
        let value = match self.random.below(8) {
            0 => self.random.between(-3.0, 3.0),
            1 => RARE[self.random.below(8) as usize],
            _ => PLAIN[self.random.below(12) as usize],
        };
        let bits = value.to_bits();
        self.push(Opcode::Literal, &[bits as u32, (bits >> 32) as u32])
    }

    /// A value of this width, mostly a late one; made from others where there is none.
    fn value(&mut self, width: usize) -> u32 {
        let all: Vec<u32> = (0..self.traced.statements.len() as u32).filter(|&value| self.width(value) == width).collect();
        if !all.is_empty() && self.random.below(8) > 0 {
            let span = if self.random.below(3) == 0 { all.len() } else { all.len().min(5) };
            return all[all.len() - 1 - self.random.below(span as u64) as usize];
        }
        if width == 1 {
            let value = self.random.below(self.traced.statements.len() as u64) as u32;
            let width = self.width(value);
            if width <= 1 || self.random.below(4) == 0 {
                return self.literal();
            }
            let component = self.random.below(width as u64) as u32;
            return self.push(Opcode::Component, &[value, component]);
        }
        let mut parts = Vec::new();
        let mut rest = width;
        while rest > 0 {
            let part = 1 + self.random.below(rest.min(4) as u64) as usize;
            let part = if part < width { part } else { 1 };
            parts.push(self.value(part));
            rest -= part;
        }
        self.push(Opcode::Pack, &parts)
    }

    fn any_width(&mut self) -> usize {
        let value = self.random.below(self.traced.statements.len() as u64) as u32;
        self.width(value)
    }

    /// Some value, of any width.
    fn any(&mut self) -> u32 {
        let width = self.any_width();
        self.value(width)
    }

    fn pick(&mut self, widths: &[usize]) -> usize {
        widths[self.random.below(widths.len() as u64) as usize]
    }

    fn several(&mut self, width: usize) -> Vec<u32> {
        (0..1 + self.random.below(4)).map(|_| self.value(width)).collect()
    }

    fn unit_quaternion(&mut self) -> u32 {
        let quaternion = self.value(4);
        if self.random.below(12) == 0 { quaternion } else { self.push(Opcode::Normalize, &[quaternion]) }
    }

    fn statement(&mut self) {
        let before = self.traced.statements.len();
        let number = self.random.below(Opcode::TABLE.len() as u64 - 1) as usize;
        let opcode = Opcode::TABLE[number].0;
        let operands = self.operands(opcode);
        self.push(opcode, &operands);
        let tame = (before..self.traced.statements.len()).all(|value| self.is_tame(value));
        if !tame && self.random.below(self.tameness) > 0 {
            self.traced.statements.truncate(before);
            self.values.iter_mut().for_each(|values| values.truncate(before));
        }
    }

    fn operands(&mut self, opcode: Opcode) -> Vec<u32> {
        use Opcode::*;
        match opcode {
            Literal => {
                let literal = self.literal() as usize;
                self.traced.statements[literal].words.clone()
            }
            Input => vec![self.random.below(self.traced.inputs.len() as u64) as u32],
            Component => {
                let value = self.any();
                let width = self.width(value).max(1) as u64;
                vec![value, self.random.below(width) as u32]
            }
            PowInt => {
                let value = self.any();
                vec![value, (self.random.below(12) as i32 - 4) as u32]
            }
            Pack => (0..1 + self.random.below(3)).map(|_| self.any()).collect(),
            Neg | Square | Cube | Sqrt | Sin | Cos | Norm | NormSq | Normalize | Abs | Sign | Floor | Ceil | Round | Fract => {
                vec![self.any()]
            }
            Add | Sub | Mul | Div => {
                let width = self.any_width();
                let mut pair = [width, if self.random.below(4) == 0 { 1 } else { width }];
                if self.random.below(2) == 0 {
                    pair.reverse();
                }
                pair.iter().map(|&width| self.value(width)).collect()
            }
            Sum | Mean => {
                let width = self.any_width();
                self.several(width)
            }
            Dot | Distance => {
                let width = self.any_width();
                vec![self.value(width), self.value(width)]
            }
            Select => {
                let width = self.any_width();
                let [a, b] = [self.value(1), self.value(1)];
                let comparisons = [Lt, Le, Eq, Ne, And, Or];
                let comparison = comparisons[self.random.below(6) as usize];
                let condition = if self.random.below(5) == 0 { a } else { self.push(comparison, &[a, b]) };
                vec![condition, self.value(width), self.value(width)]
            }
            Mix => {
                let width = self.any_width();
                let of_t = self.pick(&[1, width]);
                vec![self.value(width), self.value(width), self.value(of_t)]
            }
            Cross | AngleBetween => {
                let width = self.pick(&[2, 3]);
                vec![self.value(width), self.value(width)]
            }
            RotateXYZ => vec![self.value(3), self.value(3)],
            MatVec => {
                let [rows, columns] = [self.pick(&[1, 2, 3, 4]), self.pick(&[1, 2, 3])];
                vec![self.value(rows * columns), self.value(columns)]
            }
            MatMul => {
                let width = self.pick(&[4, 9]);
                vec![self.value(width), self.value(width)]
            }
            Transpose | Determinant | Inverse => {
                let width = self.pick(&[4, 9]);
                vec![self.value(width)]
            }
            QuatMul => vec![self.value(4), self.value(4)],
            QuatConjugate | QuatInverse => vec![self.value(4)],
            QuatRotate => vec![self.unit_quaternion(), self.value(3)],
            QuatToAngleAxis | QuatToMatrix | QuatLog => vec![self.unit_quaternion()],
            QuatFromAngleAxis | QuatExp => vec![self.value(3)],
            QuatFromMatrix if self.random.below(8) > 0 => {
                let quaternion = self.unit_quaternion();
                vec![self.push(QuatToMatrix, &[quaternion])]
            }
            QuatFromMatrix | EigenSymmetric | ClosestRotation => vec![self.value(9)],
            TriangleArea | Cotangent => {
                let width = self.pick(&[2, 3]);
                (0..3).map(|_| self.value(width)).collect()
            }
            TriangleNormal => (0..3).map(|_| self.value(3)).collect(),
            DihedralAngle => (0..4).map(|_| self.value(3)).collect(),
            Hypot | LogSumExp | Min | Max => self.several(1),
            Clamp | Smoothstep => (0..3).map(|_| self.value(1)).collect(),
            Lt | Le | And | Or | Eq | Ne | Mod | Step | Pow | Atan2 | LeakyRelu => vec![self.value(1), self.value(1)],
            _ => vec![self.value(1)],
        }
    }

    /// The last value, and some of the later ones.
    fn outputs(&mut self) {
        let count = self.traced.statements.len() as u64;
        let mut outputs = vec![count as u32 - 1];
        for _ in 0..self.random.below(3) {
            outputs.push((count - 1 - self.random.below(count.min(6))) as u32);
        }
        self.traced.outputs = outputs;
    }
}
