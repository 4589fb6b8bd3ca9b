//! Programs written by hand.

use leastwise::program::*;

pub struct Builder {
    pub program: Program,
}

impl Builder {
    pub fn new(name: &str) -> Self {
        Self { program: Program { name: name.into(), ..Program::default() } }
    }

    pub fn push(&mut self, instruction: Instruction) -> Value {
        self.program.instructions.push(instruction);
        self.program.instructions.len() as Value - 1
    }

    pub fn constant(&mut self, value: f64) -> Value {
        self.push(Instruction::Const(value))
    }

    pub fn load(&mut self, load: Load) -> Value {
        self.push(Instruction::Load(load))
    }

    pub fn arena(&mut self, address: u32) -> [Value; 3] {
        [0, 1, 2].map(|component| self.load(Load::Arena { address, component }))
    }

    pub fn unary(&mut self, operation: Unary, a: Value) -> Value {
        self.push(Instruction::Unary(operation, a))
    }

    pub fn binary(&mut self, operation: Binary, a: Value, b: Value) -> Value {
        self.push(Instruction::Binary(operation, a, b))
    }

    pub fn store(&mut self, store: Store, value: Value) {
        self.program.stores.push((store, value));
    }
}

/// `weight · (‖x_i − x_j‖ − rest)`: two gathers through one table, a data column, a shared value.
pub fn spring() -> Program {
    let mut b = Builder::new("spring: residual");
    b.program.addresses = vec![Address { base: 0, column: 0, stride: 3 }, Address { base: 0, column: 1, stride: 3 }];
    (b.program.header, b.program.shared) = (1, 1);
    let (from, to) = (b.arena(0), b.arena(1));
    let [x, y, z] = [0, 1, 2].map(|k| b.binary(Binary::Sub, from[k], to[k]));
    let xx = b.binary(Binary::Mul, x, x);
    let xy = b.push(Instruction::MulAdd(y, y, xx));
    let square = b.push(Instruction::MulAdd(z, z, xy));
    let length = b.unary(Unary::Sqrt, square);
    let rest = b.load(Load::Data(0));
    let stretch = b.binary(Binary::Sub, length, rest);
    let weight = b.load(Load::Shared(0));
    let residual = b.binary(Binary::Mul, weight, stretch);
    b.store(Store::Jacobian(0), residual);
    b.program
}

/// `x_i × p`, `p` an entry of a vector over all unknowns; does nothing once `state[3]` is set.
pub fn cross_product() -> Program {
    let mut b = Builder::new("cross: product");
    b.program.addresses = vec![Address { base: 0, column: 0, stride: 3 }, Address { base: 1, column: 2, stride: 3 }];
    (b.program.header, b.program.guard) = (2, Some(3));
    let u = b.arena(0);
    let v = [0, 1, 2].map(|component| b.load(Load::Vector { address: 1, component }));
    for k in 0..3u32 {
        let (i, j) = ((k as usize + 1) % 3, (k as usize + 2) % 3);
        let right = b.binary(Binary::Mul, u[j], v[i]);
        let left = b.binary(Binary::Mul, u[i], v[j]);
        let entry = b.binary(Binary::Sub, left, right);
        b.store(Store::Column(k), entry);
    }
    b.program
}

/// Scales two columns of the Jacobian where they are, by `√(δ/|r|)` beyond δ (Huber's weight) and by −0 where a
/// mask says so: comparisons, selections, and constants of every kind.
pub fn rescale() -> Program {
    let mut b = Builder::new("huber: rescale");
    b.program.shared = 2;
    let residual = b.load(Load::Jacobian(0));
    let entry = b.load(Load::Jacobian(1));
    let delta = b.load(Load::Shared(1));
    let minus_zero = b.constant(-0.0);
    let negative = b.unary(Unary::Neg, residual);
    let below = b.binary(Binary::Lt, residual, minus_zero);
    let size = b.push(Instruction::Select { condition: below, then: negative, otherwise: residual });
    let ratio = b.binary(Binary::Div, delta, size);
    let root = b.unary(Unary::Sqrt, ratio);
    let inside = b.binary(Binary::Le, size, delta);
    let one = b.constant(1.0);
    let weight = b.push(Instruction::Select { condition: inside, then: one, otherwise: root });
    let limit = b.constant(-2.5e-7);
    let mask = b.load(Load::Data(0));
    let masked = b.binary(Binary::Lt, mask, limit);
    let kept = b.unary(Unary::Not, masked);
    let used = b.binary(Binary::And, kept, weight);
    let factor = b.push(Instruction::Select { condition: used, then: weight, otherwise: minus_zero });
    for (column, value) in [residual, entry].into_iter().enumerate() {
        let scaled = b.binary(Binary::Mul, value, factor);
        b.store(Store::Jacobian(column as u32), scaled);
    }
    b.program
}
