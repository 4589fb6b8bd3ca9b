//! From a program to steps: dead instructions dropped, loads moved to their first use, sin and cos of one operand
//! paired, and every value given a place in the register file.
//!
//! Registers are handed out in one walk over the steps (a linear scan over live ranges; Poletto & Sarkar, "Linear
//! scan register allocation", 1999). Nothing is ever spilled: the file is as large as the most values alive at once,
//! and the point of it all is that this stays within the first-level cache.

use leastwise_program::{Binary, Instruction, Load, Program, Store, Unary, Value};

/// Where the lanes of a value are: the number of a register or, with [`VIEW`] set, of a column view.
pub type Place = u32;

pub const VIEW: Place = 1 << 31;

/// Flag of an output that is the lanes of a target, whose number the other bits are.
pub const TARGET: Place = 1 << 30;

/// What one gather reads from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    Arena,
    Vector,
}

/// A register that holds the same in every lane, filled once a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Uniform {
    Const(f64),
    /// `data[k]`
    Shared(u32),
}

/// A column that operands read straight from memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum View {
    /// Column of the data buffer.
    Data(u32),
    /// Column of the Jacobian's buffer.
    Jacobian(u32),
    /// Lanes that the kernel around the program fills before every block.
    Given(u32),
}

/// One tight loop over the lanes of a block. The output is never the register of an operand.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Step<P = Place> {
    Gather {
        out: P,
        source: Source,
        address: u32,
        component: u32,
    },
    /// A column of the Jacobian's buffer, which this same program writes.
    CopyJacobian {
        out: P,
        target: u32,
    },
    Unary {
        out: P,
        operation: Unary,
        operand: P,
    },
    SinCos {
        sin: P,
        cos: P,
        operand: P,
    },
    Binary {
        out: P,
        operation: Binary,
        operands: [P; 2],
    },
    MulAdd {
        out: P,
        operands: [P; 3],
    },
    /// Condition, then, otherwise.
    Select {
        out: P,
        operands: [P; 3],
    },
    Store {
        target: u32,
        value: P,
    },
}

impl<P: Copy> Step<P> {
    pub fn operands(&self) -> impl Iterator<Item = P> {
        let operands = match *self {
            Self::Gather { .. } | Self::CopyJacobian { .. } => [None; 3],
            Self::Unary { operand, .. } | Self::SinCos { operand, .. } => [Some(operand), None, None],
            Self::Binary { operands: [a, b], .. } => [Some(a), Some(b), None],
            Self::MulAdd { operands, .. } | Self::Select { operands, .. } => operands.map(Some),
            Self::Store { value, .. } => [Some(value), None, None],
        };
        operands.into_iter().flatten()
    }

    pub fn outputs(&self) -> impl Iterator<Item = P> {
        let outputs = match *self {
            Self::SinCos { sin, cos, .. } => [Some(sin), Some(cos)],
            Self::Store { .. } => [None; 2],
            Self::Gather { out, .. }
            | Self::CopyJacobian { out, .. }
            | Self::Unary { out, .. }
            | Self::Binary { out, .. }
            | Self::MulAdd { out, .. }
            | Self::Select { out, .. } => [Some(out), None],
        };
        outputs.into_iter().flatten()
    }

    /// The output of a step that computes one value of others.
    fn only_output(&self) -> Option<P> {
        match *self {
            Self::Unary { out, .. } | Self::Binary { out, .. } | Self::MulAdd { out, .. } | Self::Select { out, .. } => Some(out),
            Self::Gather { .. } | Self::CopyJacobian { .. } | Self::SinCos { .. } | Self::Store { .. } => None,
        }
    }

    fn map<Q>(self, mut place: impl FnMut(P) -> Q) -> Step<Q> {
        match self {
            Self::Gather { out, source, address, component } => Step::Gather { out: place(out), source, address, component },
            Self::CopyJacobian { out, target } => Step::CopyJacobian { out: place(out), target },
            Self::Unary { out, operation, operand } => Step::Unary { out: place(out), operation, operand: place(operand) },
            Self::SinCos { sin, cos, operand } => Step::SinCos { sin: place(sin), cos: place(cos), operand: place(operand) },
            Self::Binary { out, operation, operands } => Step::Binary { out: place(out), operation, operands: operands.map(place) },
            Self::MulAdd { out, operands } => Step::MulAdd { out: place(out), operands: operands.map(place) },
            Self::Select { out, operands } => Step::Select { out: place(out), operands: operands.map(place) },
            Self::Store { target, value } => Step::Store { target, value: place(value) },
        }
    }
}

/// What the interpreter runs.
#[derive(Debug, Default)]
pub struct Allocation {
    /// The first registers, in this order.
    pub uniforms: Vec<Uniform>,
    pub views: Vec<View>,
    /// The columns that are written, each once.
    pub targets: Vec<Store>,
    pub registers: usize,
    pub steps: Vec<Step>,
}

impl Allocation {
    pub fn new(program: &Program) -> Self {
        let Schedule { steps, targets, .. } = Schedule::new(program);
        Self { targets, ..assign(program, &steps) }
    }
}

/// Which instructions a store depends on.
fn live(program: &Program) -> Vec<bool> {
    let mut live = vec![false; program.instructions.len()];
    for (_, value) in &program.stores {
        live[*value as usize] = true;
    }
    for (number, instruction) in program.instructions.iter().enumerate().rev() {
        if !live[number] {
            continue;
        }
        let mut mark = |value: Value| live[value as usize] = true;
        match *instruction {
            Instruction::Const(_) | Instruction::Load(_) => {}
            Instruction::Unary(_, a) => mark(a),
            Instruction::Binary(_, a, b) => [a, b].into_iter().for_each(mark),
            Instruction::MulAdd(a, b, c) | Instruction::Select { condition: a, then: b, otherwise: c } => {
                [a, b, c].into_iter().for_each(mark)
            }
        }
    }
    live
}

/// Whether the program both reads and writes the Jacobian's slot. Then its columns are copied before anything is
/// stored.
pub fn in_place(program: &Program) -> bool {
    let loads = program.instructions.iter().any(|i| matches!(i, Instruction::Load(Load::Jacobian(_))));
    loads && program.stores.iter().any(|(store, _)| matches!(store, Store::Jacobian(_)))
}

/// The sine and the cosine of each value, where the program has them.
fn trigonometry(program: &Program, live: &[bool]) -> Vec<[Option<Value>; 2]> {
    let mut of = vec![[None; 2]; live.len()];
    for (number, instruction) in program.instructions.iter().enumerate().filter(|(number, _)| live[*number]) {
        match *instruction {
            Instruction::Unary(Unary::Sin, operand) => of[operand as usize][0] = Some(number as Value),
            Instruction::Unary(Unary::Cos, operand) => of[operand as usize][1] = Some(number as Value),
            _ => {}
        }
    }
    of
}

/// Steps over values, in the order in which they will run.
pub struct Schedule<'a> {
    program: &'a Program,
    pub steps: Vec<Step<Value>>,
    /// Values that exist already, or that need no step (uniforms and views).
    done: Vec<bool>,
    /// The targets of each value.
    stores: Vec<Vec<u32>>,
    pub targets: Vec<Store>,
}

impl<'a> Schedule<'a> {
    pub fn new(program: &'a Program) -> Self {
        let live = live(program);
        let stores = vec![Vec::new(); program.instructions.len()];
        let mut schedule = Self { program, steps: Vec::new(), done: vec![false; live.len()], stores, targets: Vec::new() };
        for (store, value) in &program.stores {
            let target = schedule.target(*store);
            schedule.stores[*value as usize].push(target);
        }
        let numbered = || program.instructions.iter().copied().enumerate().filter(|(number, _)| live[*number]);
        if in_place(program) {
            for (number, instruction) in numbered() {
                if let Instruction::Load(Load::Jacobian(column)) = instruction {
                    let target = schedule.target(Store::Jacobian(column));
                    schedule.steps.push(Step::CopyJacobian { out: number as Value, target });
                }
            }
        }
        for (number, instruction) in numbered() {
            if view(instruction).is_some() || uniform(instruction).is_some() {
                schedule.finish(number as Value);
            }
        }
        let trigonometry = trigonometry(program, &live);
        for (number, instruction) in numbered() {
            if !schedule.done[number] {
                schedule.compute(number as Value, instruction, &trigonometry);
            }
        }
        // What is stored as it was gathered.
        for (number, _) in numbered() {
            schedule.gather(number as Value);
        }
        schedule
    }

    /// The number of a column that is written.
    fn target(&mut self, store: Store) -> u32 {
        let known = self.targets.iter().position(|target| *target == store);
        known.unwrap_or_else(|| {
            self.targets.push(store);
            self.targets.len() - 1
        }) as u32
    }

    fn compute(&mut self, out: Value, instruction: Instruction, trigonometry: &[[Option<Value>; 2]]) {
        let step = match instruction {
            Instruction::Const(_) | Instruction::Load(_) => return,
            Instruction::Unary(operation @ (Unary::Sin | Unary::Cos), operand) => {
                // The number after the last instruction stands for a result that nobody wants.
                let nobody = self.done.len() as Value;
                let [sin, cos] = trigonometry[operand as usize].map(|twin| twin.filter(|twin| !self.done[*twin as usize]));
                let (sin, cos) = if operation == Unary::Sin { (Some(out), cos) } else { (sin, Some(out)) };
                Step::SinCos { sin: sin.unwrap_or(nobody), cos: cos.unwrap_or(nobody), operand }
            }
            Instruction::Unary(operation, operand) => Step::Unary { out, operation, operand },
            Instruction::Binary(operation, a, b) => Step::Binary { out, operation, operands: [a, b] },
            Instruction::MulAdd(a, b, c) => Step::MulAdd { out, operands: [a, b, c] },
            Instruction::Select { condition, then, otherwise } => Step::Select { out, operands: [condition, then, otherwise] },
        };
        for operand in step.operands() {
            self.gather(operand);
        }
        self.emit(step);
    }

    /// A gather comes right before its first use.
    fn gather(&mut self, value: Value) {
        if self.done[value as usize] {
            return;
        }
        let (source, address, component) = match self.program.instructions[value as usize] {
            Instruction::Load(Load::Arena { address, component }) => (Source::Arena, address, component),
            Instruction::Load(Load::Vector { address, component }) => (Source::Vector, address, component),
            _ => return,
        };
        self.emit(Step::Gather { out: value, source, address, component });
    }

    fn emit(&mut self, step: Step<Value>) {
        self.steps.push(step);
        for output in step.outputs() {
            self.finish(output);
        }
    }

    /// A value is stored as soon as it is known.
    fn finish(&mut self, value: Value) {
        let Some(done) = self.done.get_mut(value as usize) else { return };
        *done = true;
        for target in std::mem::take(&mut self.stores[value as usize]) {
            self.steps.push(Step::Store { target, value });
        }
    }
}

impl Allocation {
    /// The steps, where a result that is stored right away and never read is computed in its target: a strip that has no lanes past its
    /// end saves the copy.
    pub fn in_targets(&self) -> Vec<Step> {
        let mut steps = Vec::with_capacity(self.steps.len());
        let mut at = 0;
        while let Some(&step) = self.steps.get(at) {
            at += 1;
            let stored = match (step.only_output(), self.steps.get(at)) {
                (Some(out), Some(&Step::Store { target, value })) if out == value => {
                    let mut later = self.steps[at + 1..].iter();
                    let next = later.find(|step| step.operands().chain(step.outputs()).any(|place| place == out));
                    next.is_none_or(|next| !next.operands().any(|place| place == out)).then_some(target)
                }
                _ => None,
            };
            let Some(target) = stored else {
                steps.push(step);
                continue;
            };
            let out = step.only_output();
            // No operand is the output's register.
            steps.push(step.map(|place| if Some(place) == out { TARGET | target } else { place }));
            at += 1;
        }
        steps
    }
}

pub fn uniform(instruction: Instruction) -> Option<Uniform> {
    match instruction {
        Instruction::Const(value) => Some(Uniform::Const(value)),
        Instruction::Load(Load::Shared(k)) => Some(Uniform::Shared(k)),
        _ => None,
    }
}

pub fn view(instruction: Instruction) -> Option<View> {
    match instruction {
        Instruction::Load(Load::Data(k)) => Some(View::Data(k)),
        Instruction::Load(Load::Jacobian(k)) => Some(View::Jacobian(k)),
        Instruction::Load(Load::Given(k)) => Some(View::Given(k)),
        _ => None,
    }
}

/// The linear scan.
fn assign(program: &Program, steps: &[Step<Value>]) -> Allocation {
    // One more than there are values: results that nobody wants.
    let mut places: Vec<Option<Place>> = vec![None; program.instructions.len() + 1];
    let mut last_use = vec![None; places.len()];
    for (time, step) in steps.iter().enumerate() {
        step.operands().for_each(|operand| last_use[operand as usize] = Some(time));
    }
    let mut allocation = Allocation::default();
    let copied = in_place(program);
    for (number, instruction) in program.instructions.iter().enumerate().filter(|(number, _)| last_use[*number].is_some()) {
        places[number] = match (uniform(*instruction), view(*instruction)) {
            (Some(uniform), _) => {
                allocation.uniforms.push(uniform);
                Some(allocation.uniforms.len() as Place - 1)
            }
            (_, Some(View::Jacobian(_))) if copied => None,
            (_, Some(view)) => {
                allocation.views.push(view);
                Some(VIEW | (allocation.views.len() as Place - 1))
            }
            _ => None,
        };
    }
    let permanent = allocation.uniforms.len();
    allocation.registers = permanent;
    let mut free: Vec<Place> = Vec::new();
    let mut freed: Vec<Place> = Vec::new();
    for (time, step) in steps.iter().enumerate() {
        // Outputs first, while the operands still hold their registers: an output is never an operand.
        for output in step.outputs() {
            let register = free.pop().unwrap_or_else(|| {
                allocation.registers += 1;
                allocation.registers as Place - 1
            });
            places[output as usize] = Some(register);
            if last_use[output as usize].is_none() {
                freed.push(register);
            }
        }
        // Every operand was an output of an earlier step, or is uniform or viewed: the program is in SSA order.
        allocation.steps.push(step.map(|value| places[value as usize].expect("an operand comes before its use")));
        for operand in step.operands() {
            let place = places[operand as usize].unwrap_or(VIEW);
            if last_use[operand as usize] == Some(time) && place & VIEW == 0 && place as usize >= permanent && !freed.contains(&place) {
                freed.push(place);
            }
        }
        free.append(&mut freed);
    }
    allocation
}
