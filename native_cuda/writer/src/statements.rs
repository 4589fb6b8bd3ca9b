//! Statements: structured control flow, stores, barriers, atomics, subgroups.

use crate::expressions::{Scope, name_of};
use crate::{WriteError, unsupported};
use naga::{
    AtomicFunction, Barrier, BinaryOperator, Block, CollectiveOperation, Direction, Expression, GatherMode, Literal, Statement as S,
    SubgroupOperation, SwitchValue, TypeInner,
};

type Expr = naga::Handle<naga::Expression>;

/// What a loop that is written out may have.
const MOST_TURNS: u32 = 16;

/// A loop over numbers below a limit, from what the counter is.
struct Counted<'b> {
    counter: Expr,
    limit: u32,
    step: u32,
    inner: &'b Block,
}

impl Scope<'_, '_> {
    pub fn block(&mut self, block: &Block) -> Result<(), WriteError> {
        block.iter().try_for_each(|statement| self.statement(statement))
    }

    fn nested(&mut self, block: &Block) -> Result<(), WriteError> {
        self.depth += 1;
        let written = self.block(block);
        self.depth -= 1;
        written
    }

    fn statement(&mut self, statement: &S) -> Result<(), WriteError> {
        match statement {
            S::Emit(range) => range.clone().try_for_each(|expr| self.emit(expr))?,
            S::Block(inner) => {
                self.line("{");
                self.nested(inner)?;
                self.line("}");
            }
            S::If { condition, accept, reject } => {
                let condition = self.value(*condition)?;
                self.line(&format!("if ({condition}) {{"));
                self.nested(accept)?;
                if !reject.is_empty() {
                    self.line("} else {");
                    self.nested(reject)?;
                }
                self.line("}");
            }
            S::Switch { selector, cases } => self.switch(*selector, cases)?,
            S::Loop { body, continuing, break_if } => self.repeated(body, continuing, *break_if)?,
            S::Break => self.line("break;"),
            S::Continue => self.line("continue;"),
            S::Return { value: None } => self.line("return;"),
            S::Return { value: Some(value) } => {
                let value = self.value(*value)?;
                self.line(&format!("return {value};"));
            }
            S::ControlBarrier(kind) => self.control_barrier(*kind),
            S::MemoryBarrier(kind) => {
                let fence = if kind.contains(Barrier::STORAGE) { "__threadfence();" } else { "__threadfence_block();" };
                self.line(fence);
            }
            S::Store { pointer, value } => {
                let (place, value) = (self.place(*pointer)?, self.value(*value)?);
                let text =
                    if self.is_atomic(*pointer) { format!("atomic_store(&{place}, {value});") } else { format!("{place} = {value};") };
                self.line(&text);
            }
            S::Atomic { pointer, fun, value, result } => self.atomic(*pointer, fun, *value, *result)?,
            S::WorkGroupUniformLoad { pointer, result } => {
                let place = self.place(*pointer)?;
                self.line("__syncthreads();");
                self.define(*result, &place)?;
                self.line("__syncthreads();");
            }
            S::Call { function, arguments, result } => self.call(*function, arguments, *result)?,
            S::SubgroupBallot { result, predicate } => {
                self.require_whole_warps()?;
                let predicate = predicate.map_or(Ok("true".into()), |predicate| self.value(predicate))?;
                self.define(*result, &format!("{{{{__ballot_sync(whole_warp, {predicate}), 0u, 0u, 0u}}}}"))?;
            }
            S::SubgroupGather { mode, argument, result } => {
                self.require_whole_warps()?;
                self.subgroup_gather(*mode, *argument, *result)?;
            }
            S::SubgroupCollectiveOperation { op, collective_op, argument, result } => {
                self.require_whole_warps()?;
                self.subgroup_operation(*op, *collective_op, *argument, *result)?;
            }
            other => return Err(unsupported(format!("the statement {other:?}"), &self.place)),
        }
        Ok(())
    }

    fn control_barrier(&mut self, kind: Barrier) {
        if kind == Barrier::SUB_GROUP {
            self.line("__syncwarp();");
        } else {
            // It orders memory of the workgroup and of the device within the workgroup, as WGSL's barriers do.
            self.line("__syncthreads();");
        }
    }

    fn switch(&mut self, selector: Expr, cases: &[naga::SwitchCase]) -> Result<(), WriteError> {
        let selector = self.value(selector)?;
        self.line(&format!("switch ({selector}) {{"));
        for case in cases {
            let label = match case.value {
                SwitchValue::I32(value) => format!("case {value}"),
                SwitchValue::U32(value) => format!("case {value}u"),
                SwitchValue::Default => "default".into(),
            };
            self.line(&format!("{label}: {{"));
            self.nested(&case.body)?;
            self.line(if case.fall_through { "}" } else { "} break;" });
        }
        self.line("}");
        Ok(())
    }

    /// `continuing` runs between two rounds, also after `continue`, and may use what the body computed.
    fn repeated(&mut self, body: &Block, continuing: &Block, break_if: Option<Expr>) -> Result<(), WriteError> {
        if break_if.is_none()
            && let Some(counted) = self.counted(body, continuing)
        {
            return self.unrolled(counted);
        }
        let between = !continuing.is_empty() || break_if.is_some();
        let start = self.out.len();
        if between {
            let first = format!("first_{start}");
            let values = values_of(body);
            self.await_values(&values);
            self.line(&format!("for (bool {first} = true;; {first} = false) {{"));
            self.depth += 1;
            self.line(&format!("if (!{first}) {{"));
            self.nested(continuing)?;
            if let Some(condition) = break_if {
                let condition = self.value(condition)?;
                self.line(&format!("    if ({condition}) break;"));
            }
            self.line("}");
            self.depth -= 1;
            self.declare_awaited(&values, start)?;
        } else {
            self.line("for (;;) {");
        }
        self.nested(body)?;
        self.line("}");
        Ok(())
    }

    /// Whether it is `for (…; i < limit; i += step)` with few turns, as naga writes that.
    fn counted<'b>(&self, body: &'b Block, continuing: &'b Block) -> Option<Counted<'b>> {
        let expressions = &self.function?.0.expressions;
        let done = |block: &'b Block| block.iter().filter(|statement| !matches!(statement, S::Emit(_))).collect::<Vec<_>>();
        let [S::If { condition, accept, reject }, S::Block(inner)] = done(body)[..] else { return None };
        let ([], [S::Break]) = (&accept[..], &reject[..]) else { return None };
        let Expression::Binary { op: BinaryOperator::Less, left, right } = expressions[*condition] else { return None };
        let Expression::Load { pointer: counter } = expressions[left] else { return None };
        let Expression::LocalVariable(_) = expressions[counter] else { return None };
        let [S::Store { pointer, value }] = done(continuing)[..] else { return None };
        let Expression::Binary { op: BinaryOperator::Add, left, right: step } = expressions[*value] else { return None };
        let is_same = *pointer == counter && matches!(expressions[left], Expression::Load { pointer } if pointer == counter);
        let (limit, step) = (self.whole(right)?, self.whole(step)?);
        (is_same && step > 0 && limit / step <= MOST_TURNS).then_some(Counted { counter, limit, step, inner })
    }

    /// A number that is known here.
    fn whole(&self, expression: Expr) -> Option<u32> {
        let literal = match self.function?.0.expressions[expression] {
            Expression::Literal(literal) => literal,
            Expression::Constant(constant) => match self.writer.module.global_expressions[self.writer.module.constants[constant].init] {
                Expression::Literal(literal) => literal,
                _ => return None,
            },
            _ => return None,
        };
        if let Literal::U32(value) = literal { Some(value) } else { None }
    }

    /// In a form that compilers know the length of: arrays that it indexes become registers.
    fn unrolled(&mut self, Counted { counter, limit, step, inner }: Counted) -> Result<(), WriteError> {
        let i = self.place(counter)?;
        self.line("#pragma unroll");
        self.line(&format!("for (; {i} < {limit}u; {i} += {step}u) {{"));
        self.nested(inner)?;
        self.line("}");
        Ok(())
    }

    fn call(&mut self, function: naga::Handle<naga::Function>, arguments: &[Expr], result: Option<Expr>) -> Result<(), WriteError> {
        let writer = self.writer;
        let info = &writer.info[function];
        let mut handed = Vec::new();
        for global in writer.handed(|global| info[global]) {
            let name = writer.global(global);
            let is_storage = matches!(writer.module.global_variables[global].space, naga::AddressSpace::Storage { .. });
            handed.push(if is_storage { format!("{name}, {name}_count") } else { name });
        }
        for &argument in arguments {
            let is_place = matches!(self.inner(argument), TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. });
            handed.push(if is_place { self.place(argument)? } else { self.value(argument)? });
        }
        let call = format!("{}({})", writer.function(function), handed.join(", "));
        match result {
            Some(result) => self.define(result, &call)?,
            None => self.line(&format!("{call};")),
        }
        Ok(())
    }

    fn atomic(&mut self, pointer: Expr, fun: &AtomicFunction, value: Expr, result: Option<Expr>) -> Result<(), WriteError> {
        let (place, value) = (self.place(pointer)?, self.value(value)?);
        let call = match fun {
            AtomicFunction::Add => format!("atomicAdd(&{place}, {value})"),
            AtomicFunction::Subtract => format!("atomic_sub(&{place}, {value})"),
            AtomicFunction::And => format!("atomicAnd(&{place}, {value})"),
            AtomicFunction::ExclusiveOr => format!("atomicXor(&{place}, {value})"),
            AtomicFunction::InclusiveOr => format!("atomicOr(&{place}, {value})"),
            AtomicFunction::Min => format!("atomicMin(&{place}, {value})"),
            AtomicFunction::Max => format!("atomicMax(&{place}, {value})"),
            AtomicFunction::Exchange { compare: None } => format!("atomicExch(&{place}, {value})"),
            AtomicFunction::Exchange { compare: Some(compare) } => {
                let compare = self.value(*compare)?;
                let Some(result) = result else {
                    self.line(&format!("atomicCAS(&{place}, {compare}, {value});"));
                    return Ok(());
                };
                let old = format!("{}_old", name_of(result));
                self.line(&format!("const auto {old} = atomicCAS(&{place}, {compare}, {value});"));
                return self.define(result, &format!("{{{old}, {old} == {compare}}}"));
            }
        };
        match result {
            Some(result) => self.define(result, &call)?,
            None => self.line(&format!("{call};")),
        }
        Ok(())
    }

    /// The exchanges of a warp name all of its 32 lanes, and one that is named and not there is not defined.
    fn require_whole_warps(&self) -> Result<(), WriteError> {
        let invocations = self.writer.invocations;
        if invocations.is_multiple_of(32) {
            return Ok(());
        }
        let what = format!(
            "a subgroup operation in a workgroup of {invocations} invocations, whose last subgroup is not whole \
             (make the workgroup's size a multiple of 32),"
        );
        Err(unsupported(what, &self.place))
    }

    fn subgroup_gather(&mut self, mode: GatherMode, argument: Expr, result: Expr) -> Result<(), WriteError> {
        self.scalar_of_subgroup(argument)?;
        let value = self.value(argument)?;
        let call = match mode {
            GatherMode::BroadcastFirst => format!("__shfl_sync(whole_warp, {value}, 0)"),
            GatherMode::Broadcast(lane) | GatherMode::Shuffle(lane) => format!("__shfl_sync(whole_warp, {value}, {})", self.value(lane)?),
            GatherMode::ShuffleDown(by) => format!("__shfl_down_sync(whole_warp, {value}, {})", self.value(by)?),
            GatherMode::ShuffleUp(by) => format!("__shfl_up_sync(whole_warp, {value}, {})", self.value(by)?),
            GatherMode::ShuffleXor(with) => format!("__shfl_xor_sync(whole_warp, {value}, {})", self.value(with)?),
            GatherMode::QuadBroadcast(lane) => format!("__shfl_sync(whole_warp, {value}, {}, 4)", self.value(lane)?),
            GatherMode::QuadSwap(direction) => {
                let with = match direction {
                    Direction::X => 1,
                    Direction::Y => 2,
                    Direction::Diagonal => 3,
                };
                format!("__shfl_xor_sync(whole_warp, {value}, {with})")
            }
        };
        self.define(result, &call)
    }

    fn subgroup_operation(
        &mut self,
        op: SubgroupOperation,
        how: CollectiveOperation,
        argument: Expr,
        result: Expr,
    ) -> Result<(), WriteError> {
        let ty = self.scalar_of_subgroup(argument)?;
        let value = self.value(argument)?;
        let (combine, neutral) = match op {
            SubgroupOperation::All => ("", "__all_sync"),
            SubgroupOperation::Any => ("", "__any_sync"),
            SubgroupOperation::Add => ("op_add(a, b)", "0"),
            SubgroupOperation::Mul => ("op_mul(a, b)", "1"),
            SubgroupOperation::Min => ("m_min(a, b)", ""),
            SubgroupOperation::Max => ("m_max(a, b)", ""),
            SubgroupOperation::And => ("op_and(a, b)", ""),
            SubgroupOperation::Or => ("op_or(a, b)", ""),
            SubgroupOperation::Xor => ("op_xor(a, b)", ""),
        };
        let f = format!("[]({ty} a, {ty} b) {{ return {combine}; }}");
        let call = match how {
            _ if combine.is_empty() => format!("{neutral}(whole_warp, {value})"),
            CollectiveOperation::Reduce => format!("warp_reduce({value}, {f})"),
            CollectiveOperation::InclusiveScan => format!("warp_scan({value}, {f}, threadIdx.x & 31u)"),
            CollectiveOperation::ExclusiveScan if neutral.is_empty() => {
                return Err(unsupported(format!("an exclusive scan by {op:?}"), &self.place));
            }
            CollectiveOperation::ExclusiveScan => {
                format!("warp_scan_before({value}, {f}, {ty}({neutral}), threadIdx.x & 31u)")
            }
        };
        self.define(result, &call)
    }

    fn scalar_of_subgroup(&self, argument: Expr) -> Result<String, WriteError> {
        match self.inner(argument) {
            TypeInner::Scalar(_) => self.type_name(argument),
            other => Err(unsupported(format!("a subgroup operation on {other:?}"), &self.place)),
        }
    }
}

/// What the statements of a block compute, those inside of them left out: it is known until the block ends.
fn values_of(block: &Block) -> Vec<Expr> {
    let mut values = Vec::new();
    for statement in block.iter() {
        match statement {
            S::Emit(range) => values.extend(range.clone()),
            S::Call { result, .. } | S::Atomic { result, .. } => values.extend(*result),
            S::WorkGroupUniformLoad { result, .. }
            | S::SubgroupBallot { result, .. }
            | S::SubgroupGather { result, .. }
            | S::SubgroupCollectiveOperation { result, .. } => values.push(*result),
            _ => {}
        }
    }
    values
}
