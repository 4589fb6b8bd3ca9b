//! The straight-line program of one generated kernel.
//!
//! Item i of a dispatch is instance i of a chunk. It loads scalars (through the index table, from columns, from
//! shared data), computes in static single assignment order, and stores into columns. No item reads what another
//! writes. The memory layout (see [`Load`] and [`Store`]) is one for all generated kernels; columns are
//! structure-of-arrays over the chunk: element `column * count + i`.

pub use leastwise_expr::{Binary, Numerics, Unary, operations};

use crate::{Access, binding};
use std::hash::{Hash, Hasher};

/// The number of an instruction of a program; its result.
pub type Value = u32;

/// One way into gathered storage: `index[base] + index[header + column * count + i] * stride`.
///
/// `base` is a word of the chunk's index buffer that holds where the table begins in the gathered buffer, `column`
/// a column of the index table, `stride` the table's scalars an instance.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Address {
    /// Word of the index buffer that holds the table's first scalar.
    pub base: u32,
    /// Column of the index table.
    pub column: u32,
    /// The table's scalars an instance.
    pub stride: u32,
}

/// Where a scalar comes from. `address` numbers [`Program::addresses`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Load {
    /// `arena[address + component]`: a variable or constant.
    Arena {
        /// Number of the address.
        address: u32,
        /// Elements behind the address.
        component: u32,
    },
    /// `vector_in[address + component]`: an entry of a vector over all unknowns.
    Vector {
        /// Number of the address.
        address: u32,
        /// Elements behind the address.
        component: u32,
    },
    /// `data[k]`: a value that all instances share.
    Shared(u32),
    /// `data[shared + column * count + i]`, where `shared` is [`Program::shared`].
    Data(u32),
    /// `jacobian[column * count + i]`: a residual or a Jacobian entry that was stored before.
    Jacobian(u32),
    /// What the kernel around the program hands it: see [`Fused`](super::Fused).
    Given(u32),
}

/// Where a scalar goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Store {
    /// `vector_out[column * count + i]`.
    Column(u32),
    /// `jacobian[column * count + i]`.
    Jacobian(u32),
    /// A column of the workgroup's own memory: see [`OwnerProgram`](super::OwnerProgram).
    Tile(u32),
}

/// One instruction. Operands are numbers of earlier instructions. Equal ones have the same bits, NaN and −0 too.
#[derive(Clone, Copy, Debug)]
pub enum Instruction {
    /// A number.
    Const(f64),
    /// A value from a buffer.
    Load(Load),
    /// f(a)
    Unary(Unary, Value),
    /// f(a, b)
    Binary(Binary, Value, Value),
    /// `a * b + c`, rounded as the device likes (fused or not).
    MulAdd(Value, Value, Value),
    /// `then` where the condition is not 0, else `otherwise`; the branch not taken leaves no trace, NaN or not.
    Select {
        /// Value that is compared with 0.
        condition: Value,
        /// Value where the condition is not 0.
        then: Value,
        /// Value where the condition is 0.
        otherwise: Value,
    },
}

impl Instruction {
    /// Its bits: what tells it from others.
    fn bits(&self) -> (u32, Option<Load>, [u64; 3]) {
        let wide = |values: [Value; 3]| values.map(u64::from);
        match *self {
            Self::Const(value) => (0, None, [value.to_bits(), 0, 0]),
            Self::Load(load) => (1, Some(load), [0; 3]),
            Self::Unary(operation, a) => (2, None, wide([operation as u32, a, 0])),
            Self::Binary(operation, a, b) => (3, None, wide([operation as u32, a, b])),
            Self::MulAdd(a, b, c) => (4, None, wide([a, b, c])),
            Self::Select { condition, then, otherwise } => (5, None, wide([condition, then, otherwise])),
        }
    }
}

impl PartialEq for Instruction {
    fn eq(&self, other: &Self) -> bool {
        self.bits() == other.bits()
    }
}

impl Eq for Instruction {}

impl Hash for Instruction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bits().hash(state);
    }
}

/// A generated kernel before it is text or lanes. Its name is for messages: equal programs may have different ones.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// For labels and messages, say `arap: product`.
    pub name: String,
    /// Addresses that loads and stores name by number.
    pub addresses: Vec<Address>,
    /// Words before the first column of the index buffer (the table bases).
    pub header: u32,
    /// Shared values before the first column of the data buffer.
    pub shared: u32,
    /// Instructions, each of which uses those before it.
    pub instructions: Vec<Instruction>,
    /// Values that are stored, and where.
    pub stores: Vec<(Store, Value)>,
    /// The element of the state buffer that makes the kernel do nothing when it is not 0.
    pub guard: Option<u32>,
}

impl PartialEq for Program {
    fn eq(&self, other: &Self) -> bool {
        self.named_by_nothing() == other.named_by_nothing()
    }
}

impl Eq for Program {}

impl Hash for Program {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.named_by_nothing().hash(state);
    }
}

/// FNV-1a, of what names a kernel in tuning tables.
pub fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// All of a program but its name.
type Parts<'a> = (&'a [Address], [u32; 2], &'a [Instruction], &'a [(Store, Value)], Option<u32>);

impl Program {
    fn named_by_nothing(&self) -> Parts<'_> {
        (&self.addresses, [self.header, self.shared], &self.instructions, &self.stores, self.guard)
    }

    /// Drops the addresses that no load uses.
    pub fn keep_used_addresses(&mut self) {
        let mut kept: Vec<Address> = Vec::new();
        for instruction in &mut self.instructions {
            let Instruction::Load(Load::Arena { address, .. } | Load::Vector { address, .. }) = instruction else { continue };
            let used = self.addresses[*address as usize];
            let known = kept.iter().position(|other| *other == used);
            *address = known.unwrap_or_else(|| {
                kept.push(used);
                kept.len() - 1
            }) as u32;
        }
        self.addresses = kept;
    }

    /// A hash of what it computes: the same on every machine.
    #[cfg(target_arch = "wasm32")]
    pub fn key(&self) -> u64 {
        fnv(&format!("{:?}{:?}{:?}", self.instructions, self.stores, self.addresses))
    }

    /// Which slots the program uses, and how: what a device needs for its layouts.
    pub fn access(&self) -> [Access; binding::COUNT] {
        let mut access = [Access::Unused; binding::COUNT];
        for instruction in &self.instructions {
            let Instruction::Load(load) = instruction else { continue };
            let slot = match load {
                Load::Arena { .. } => binding::ARENA,
                Load::Vector { .. } => binding::VECTOR_IN,
                Load::Shared(_) | Load::Data(_) => binding::DATA,
                Load::Jacobian(_) => binding::JACOBIAN,
                Load::Given(_) => continue,
            };
            access[slot] = Access::Read;
            if matches!(load, Load::Arena { .. } | Load::Vector { .. }) {
                access[binding::INDEX] = Access::Read;
            }
        }
        for (store, _) in &self.stores {
            match store {
                Store::Column(_) => access[binding::VECTOR_OUT] = Access::ReadWrite,
                Store::Jacobian(_) => access[binding::JACOBIAN] = Access::ReadWrite,
                Store::Tile(_) => {}
            }
        }
        if self.guard.is_some() {
            access[binding::STATE] = Access::Read;
        }
        access
    }
}
