//! Random programs over every instruction, load and store, with something to run them on.

use super::play::Case;
use leastwise::program::*;

/// SplitMix64 (Steele, Lea & Flood 2014).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to `end − 1`.
    pub fn below(&mut self, end: u32) -> u32 {
        (self.next() % u64::from(end)) as u32
    }

    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A value that f32 holds exactly, mostly about 1, sometimes 0.
    pub fn real(&mut self) -> f64 {
        match self.below(8) {
            0 => 0.0,
            1 => f64::from(self.below(7)) - 3.0,
            _ => f64::from((self.unit() * 6.0 - 3.0) as f32),
        }
    }

    fn reals(&mut self, len: u32) -> Vec<f64> {
        (0..len).map(|_| self.real()).collect()
    }
}

const COLUMNS: u32 = 4;
const TABLES: u32 = 3;
const INSTANCES: u32 = 37;

fn load(random: &mut Random, addresses: u32) -> Load {
    let (address, component) = (random.below(addresses), random.below(3));
    match random.below(6) {
        0 => Load::Arena { address, component },
        1 => Load::Vector { address, component },
        2 => Load::Shared(random.below(3)),
        3 => Load::Data(random.below(COLUMNS)),
        _ => Load::Jacobian(random.below(COLUMNS)),
    }
}

fn instruction(random: &mut Random, so_far: u32, addresses: u32) -> Instruction {
    use Binary::*;
    use Unary::*;
    let near = so_far.clamp(1, 24);
    let mut any = || if random.below(4) == 0 { random.below(so_far) } else { so_far - 1 - random.below(near) };
    let [a, b, c] = [(); 3].map(|()| if so_far == 0 { 0 } else { any() });
    match if so_far == 0 { random.below(4) } else { random.below(16) } {
        0 => Instruction::Const(random.real()),
        1..=3 => Instruction::Load(load(random, addresses)),
        4..=7 => Instruction::Unary([Neg, Sqrt, Sin, Cos, Not][random.below(5) as usize], a),
        8..=12 => Instruction::Binary([Add, Sub, Mul, Div, Lt, Le, And, Or][random.below(8) as usize], a, b),
        13 | 14 => Instruction::MulAdd(a, b, c),
        _ => Instruction::Select { condition: a, then: b, otherwise: c },
    }
}

pub fn program(random: &mut Random) -> Program {
    let addresses = (0..1 + random.below(4)).map(|_| Address {
        base: random.below(TABLES),
        column: random.below(COLUMNS),
        stride: 3 + random.below(2),
    });
    let mut program = Program {
        name: "random".into(),
        addresses: addresses.collect(),
        header: TABLES + random.below(3),
        shared: 3 + random.below(3),
        ..Program::default()
    };
    let length = 1 + random.below(120);
    for so_far in 0..length {
        let next = instruction(random, so_far, program.addresses.len() as u32);
        program.instructions.push(next);
    }
    let columns = [Store::Column, Store::Jacobian].into_iter().flat_map(|store| (0..COLUMNS).map(store));
    for store in columns.filter(|_| random.below(3) == 0).collect::<Vec<_>>() {
        let value = length - 1 - random.below(length.min(40));
        program.stores.push((store, value));
    }
    if program.stores.is_empty() {
        program.stores.push((Store::Column(0), length - 1));
    }
    if random.below(3) == 0 {
        program.guard = Some(random.below(4));
    }
    program
}

/// Buffers that fit any program of [`program`].
pub fn case(random: &mut Random, program: Program, count: u32) -> Case {
    let table = 4 * INSTANCES;
    let mut index: Vec<u32> = (0..TABLES).map(|number| number * table).collect();
    index.resize(program.header as usize, u32::MAX);
    index.extend((0..COLUMNS * count).map(|_| random.below(INSTANCES)));
    Case {
        count,
        arena: random.reals(TABLES * table),
        data: random.reals(program.shared + COLUMNS * count),
        index,
        vector: random.reals(TABLES * table),
        // Beyond the columns lies what must not be touched.
        jacobian: random.reals(COLUMNS * count + 5),
        state: vec![0.0; 4],
        out: COLUMNS * count + 5,
        program,
    }
}
