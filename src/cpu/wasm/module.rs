//! A module: what it reads and writes, and its bytes.
//!
//! Its one function `run(frame, items)` gives 0, or 1 where an index leads out of its table; nothing is read there. It
//! computes `items` items, [`Module::least`] of them at least. The last vector (or strip) of lanes ends with the last item
//! and so may begin among items that are computed already: they are computed again, to the same bits.

use super::phases::{Phases, calls, slot_bytes};
use super::write::{Body, Writer};
use crate::block::{self, Allocation, LANES, Schedule, Source, Step, View};
use leastwise_program::{Program, Store};
use leastwise_recording::Precision;
use wasm_encoder::{
    CodeSection, EntityType, ExportKind, ExportSection, Function, FunctionSection, ImportSection, MemoryType, TypeSection, ValType,
};

/// Steps at most: compilers take longer than linearly for one function.
pub const MOST_STEPS: usize = 16_000;

/// Vectors that a function holds at most: the thread's stack has to hold them where the processor has no registers for them.
pub const MOST_VECTORS: u32 = 4_096;

/// A gather's way into its table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Gather {
    /// Whether it reads the vector, not the arena.
    pub vector: bool,
    pub address: u32,
    pub column: u32,
    pub stride: u32,
    /// The last component that is read.
    pub last: u32,
}

/// WebAssembly module of one program in one precision.
pub struct Module {
    /// Binary form of the module.
    pub bytes: Vec<u8>,
    /// Items that a call computes at least.
    pub least: u32,
    /// Bytes that a call may write for itself.
    pub scratch: u32,
    /// The columns that are read, and those that are written, as a frame has them.
    pub views: Vec<View>,
    /// Columns that are written, in a frame's order.
    pub targets: Vec<Store>,
    pub(super) gathers: Vec<Gather>,
    /// Columns of indices.
    pub(super) columns: Vec<u32>,
    /// Bytes of a real.
    pub(super) real: u32,
}

impl Module {
    /// The module of a program whose addresses are all used, or why there is none.
    pub fn new(program: &Program, precision: Precision) -> Result<Self, String> {
        if block::in_place(program) {
            return Err("it writes columns that it reads".into());
        }
        let steps = Schedule::new(program).steps;
        if steps.len() > MOST_STEPS {
            return Err(format!("it has {} steps, and modules have {MOST_STEPS} at most", steps.len()));
        }
        let Allocation { views, targets, .. } = Allocation::new(program);
        let mut gathers: Vec<Gather> = Vec::new();
        for step in &steps {
            let Step::Gather { source, address, component, .. } = *step else { continue };
            let vector = source == Source::Vector;
            match gathers.iter_mut().find(|gather| (gather.vector, gather.address) == (vector, address)) {
                Some(known) => known.last = known.last.max(component),
                None => {
                    let leastwise_program::Address { column, stride, .. } = program.addresses[address as usize];
                    gathers.push(Gather { vector, address, column, stride, last: component });
                }
            }
        }
        let mut columns: Vec<u32> = gathers.iter().map(|gather| gather.column).collect();
        columns.sort_unstable();
        columns.dedup();
        let phases = Phases::new(program, &steps);
        let real = precision.bytes() as u32;
        let least = if phases.list.len() > 1 { LANES as u32 } else { 16 / real };
        let scratch = phases.count * slot_bytes(real);
        let module = Self { scratch, gathers, columns, ..Self::bare(views, targets, least, real) };
        let body = Writer::new(&module, program, &phases).body();
        module.finish(body)
    }

    /// A module without code, that neither gathers nor calls.
    pub(super) fn bare(views: Vec<View>, targets: Vec<Store>, least: u32, real: u32) -> Self {
        Self { bytes: Vec::new(), least, scratch: 0, views, targets, gathers: Vec::new(), columns: Vec::new(), real }
    }

    /// The module with its function.
    pub(super) fn finish(mut self, body: Body) -> Result<Self, String> {
        if body.vectors > MOST_VECTORS {
            return Err(format!("it holds {} numbers at once, and modules hold {MOST_VECTORS} at most", body.vectors));
        }
        self.bytes = bytes(body);
        Ok(self)
    }

    /// Items that are enough for a call of a program's module; its own may need fewer, where nobody wants what a function gives.
    pub fn least(program: &Program, precision: Precision) -> u32 {
        if calls(program) { LANES as u32 } else { 16 / precision.bytes() as u32 }
    }
}

/// The functions of a module by number: the imported one that runs [`apply`](super::apply), and its own.
pub(super) const APPLY: u32 = 0;
const RUN: u32 = 1;

/// The function, with what it imports: the engine's memory, and the function that it calls. Not the engine's table: an instance that
/// imports a table lives as long as the table does in V8 before version 12.3 (Node 20), which is as long as the engine's module.
fn bytes(body: Body) -> Vec<u8> {
    let mut types = TypeSection::new();
    types.ty().function([ValType::I32; 2], [ValType::I32]);
    types.ty().function([ValType::I32; 5], []);
    let mut imports = ImportSection::new();
    // What threads share says how far it may grow: at most all that 32 bits address.
    let shared = cfg!(target_feature = "atomics");
    let memory = MemoryType { minimum: 1, maximum: shared.then_some(1 << 16), memory64: false, shared, page_size_log2: None };
    imports.import("engine", "memory", memory);
    imports.import("engine", "apply", EntityType::Function(1));
    let mut functions = FunctionSection::new();
    functions.function(0);
    let mut exports = ExportSection::new();
    exports.export("run", ExportKind::Func, RUN);
    let mut function = Function::new([(body.words, ValType::I32), (body.vectors, ValType::V128)]);
    function.raw(body.code);
    let mut code = CodeSection::new();
    code.function(&function);
    let mut module = wasm_encoder::Module::new();
    module.section(&types).section(&imports).section(&functions).section(&exports).section(&code);
    module.finish()
}
