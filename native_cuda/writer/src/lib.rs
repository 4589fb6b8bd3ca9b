//! WGSL → CUDA C++, over naga's intermediate form.
//!
//! A compute entry point becomes an `extern "C" __global__` function. Storage buffers are a pointer and a number of
//! elements each, in the order of their bindings; uniform buffers are passed by value, as WGSL lays them out. What WGSL
//! defines and C++ leaves open (division by 0, shifts, conversions, overflow, access out of range, memory that nobody
//! wrote) is defined by `wgsl.cuh`, of which what a kernel needs stands in front, or written out.
//!
//! ```
//! use wgsl_cuda::{Options, translate};
//!
//! let wgsl = "
//!     @group(0) @binding(0) var<storage, read_write> values: array<f32>;
//!     @compute @workgroup_size(64)
//!     fn double(@builtin(global_invocation_id) at: vec3u) { values[at.x] *= 2.0; }
//! ";
//! let kernel = translate(wgsl, "double", Options::default())?;
//! assert_eq!((kernel.name.as_str(), kernel.workgroup_size), ("kernel_double", [64, 1, 1]));
//! assert!(kernel.source.contains("__global__"));
//! # Ok::<(), wgsl_cuda::TranslateError>(())
//! ```

mod expressions;
mod preamble;
mod statements;
mod types;

use expressions::Scope;
use naga::valid::{Capabilities, GlobalUse, ModuleInfo, ValidationFlags, Validator};
use naga::{AddressSpace, Binding, BuiltIn, EntryPoint, Function, GlobalVariable, Handle, Module, ShaderStage, StorageAccess, TypeInner};
use std::fmt::Write;
use types::Types;

/// What the writer can't write, and where it met it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message above a variant says what it is, and what its fields are")]
pub enum WriteError {
    #[error("the module has no compute entry point \"{0}\"")]
    NoEntryPoint(String),
    #[error("{place}: {what} has no counterpart in the CUDA kernels that this writer makes")]
    Unsupported { what: String, place: String },
    #[error("{place}: {what} has a size or stride in WGSL that C++ would not give it; store scalars, or vectors of 2 or 4")]
    Layout { what: String, place: String },
}

/// How much of what WGSL promises is spelled out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Indices are kept within their array. Off only for kernels that tests have shown to stay inside.
    pub bounds_checks: bool,
    /// Workgroup memory begins as 0. Off only for kernels that write before they read.
    pub zero_workgroup_memory: bool,
    /// WGSL functions that are CUDA's: their name, and the function of the same arguments that is called in their place.
    pub library: &'static [(&'static str, &'static str)],
}

impl Default for Options {
    fn default() -> Self {
        Self { bounds_checks: true, zero_workgroup_memory: true, library: &[] }
    }
}

/// A parameter of the kernel, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Parameter {
    /// A uniform buffer of so many bytes, by value.
    Uniform {
        /// Binding in the text.
        binding: u32,
        /// Size of the block.
        bytes: u32,
    },
    /// A pointer, then the number of elements as `u32`. The pointer is to room for one element at least, also where the number is 0:
    /// what is out of range goes there.
    Storage {
        /// Binding in the text.
        binding: u32,
        /// True if the kernel writes there.
        writes: bool,
        /// Bytes of an element.
        element_bytes: u32,
    },
}

/// A kernel as CUDA C++.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernel {
    /// Without the parts of WGSL that C++ lacks.
    pub source: String,
    /// What the `__global__` function is called.
    pub name: String,
    /// Its parameters, in order.
    pub parameters: Vec<Parameter>,
    /// Threads of a block.
    pub workgroup_size: [u32; 3],
}

impl Kernel {
    /// Text for NVRTC: the source, behind the part of `wgsl.cuh` that it names.
    pub fn text(&self) -> String {
        format!("{}\n{}", preamble::preamble(&self.source), self.source)
    }

    /// The same under another name, which profilers show; what is no letter, digit or underscore becomes one.
    pub fn named(mut self, name: &str) -> Self {
        let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let name = format!("leastwise_{name}");
        self.source = self.source.replacen(&format!(" {}(", self.name), &format!(" {name}("), 1);
        self.name = name;
        self
    }
}

/// Threads that a block can have, on every GPU.
const MOST_INVOCATIONS: u32 = 1024;

/// Writes the compute entry point `entry` of a validated module.
pub fn write(module: &Module, info: &ModuleInfo, entry: &str, options: Options) -> Result<Kernel, WriteError> {
    let found = module.entry_points.iter().position(|point| point.name == entry && point.stage == ShaderStage::Compute);
    let number = found.ok_or_else(|| WriteError::NoEntryPoint(entry.into()))?;
    let point = &module.entry_points[number];
    let types = Types::new(module)?;
    if point.workgroup_size_overrides.is_some() {
        return Err(unsupported("a workgroup size that is overridable (write it as numbers)".into(), entry));
    }
    let invocations: u64 = point.workgroup_size.iter().map(|&size| u64::from(size)).product();
    let invocations = u32::try_from(invocations)
        .ok()
        .filter(|&count| count <= MOST_INVOCATIONS)
        .ok_or_else(|| unsupported(format!("a workgroup of {invocations} invocations (CUDA has {MOST_INVOCATIONS} at most)"), entry))?;
    let mut writer = Writer { module, info, types, options, invocations, out: String::new() };
    let declarations = writer.types.declarations()?;
    writer.out.push_str(&declarations);
    writer.constants()?;
    let used = |handle: Handle<GlobalVariable>| !info.get_entry_point(number)[handle].is_empty();
    writer.shared_memory(&used)?;
    let functions = called(module, &point.function);
    for &handle in &functions {
        writer.device_function(handle)?;
    }
    let parameters = writer.entry_point(point, number)?;
    Ok(Kernel { source: writer.out, name: kernel_name(entry), parameters, workgroup_size: point.workgroup_size })
}

fn kernel_name(entry: &str) -> String {
    format!("kernel_{entry}")
}

/// The functions that `from` calls, directly or not, callees first (naga's arena has them in that order).
fn called(module: &Module, from: &Function) -> Vec<Handle<Function>> {
    let mut reached = vec![false; module.functions.len()];
    let mut open: Vec<&naga::Block> = vec![&from.body];
    while let Some(block) = open.pop() {
        for statement in block.iter() {
            use naga::Statement as S;
            match statement {
                S::Call { function, .. } if !std::mem::replace(&mut reached[function.index()], true) => {
                    open.push(&module.functions[*function].body);
                }
                S::Block(inner) => open.push(inner),
                S::If { accept, reject, .. } => open.extend([accept, reject]),
                S::Switch { cases, .. } => open.extend(cases.iter().map(|case| &case.body)),
                S::Loop { body, continuing, .. } => open.extend([body, continuing]),
                _ => {}
            }
        }
    }
    module.functions.iter().map(|(handle, _)| handle).filter(|handle| reached[handle.index()]).collect()
}

/// A C++ name that no keyword and no other name is.
fn named(prefix: char, number: usize, name: Option<&String>) -> String {
    let plain: String = name.map_or(String::new(), |name| name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect());
    format!("{prefix}{number}_{plain}")
}

pub(crate) struct Writer<'a> {
    pub module: &'a Module,
    pub info: &'a ModuleInfo,
    pub types: Types<'a>,
    pub options: Options,
    /// Of a workgroup of the entry point.
    pub invocations: u32,
    pub out: String,
}

impl<'a> Writer<'a> {
    pub fn global(&self, handle: Handle<GlobalVariable>) -> String {
        named('g', handle.index(), self.module.global_variables[handle].name.as_ref())
    }

    pub fn function(&self, handle: Handle<Function>) -> String {
        named('f', handle.index(), self.module.functions[handle].name.as_ref())
    }

    fn constants(&mut self) -> Result<(), WriteError> {
        let module = self.module;
        for (handle, constant) in module.constants.iter() {
            let scope = Scope::of_module(self);
            let value = scope.constant_expression(constant.init)?;
            let (ty, name) = (self.types.name(constant.ty)?, named('c', handle.index(), constant.name.as_ref()));
            let _ = writeln!(self.out, "static __device__ constexpr {ty} {name} = {value};");
        }
        Ok(())
    }

    /// Workgroup variables stand outside of functions, so that those which are called see them.
    fn shared_memory(&mut self, used: &dyn Fn(Handle<GlobalVariable>) -> bool) -> Result<(), WriteError> {
        for (handle, variable) in self.module.global_variables.iter().filter(|(handle, _)| used(*handle)) {
            match variable.space {
                AddressSpace::WorkGroup => {
                    let (ty, name) = (self.types.name(variable.ty)?, self.global(handle));
                    let _ = writeln!(self.out, "__shared__ {ty} {name};");
                }
                AddressSpace::Private | AddressSpace::Uniform | AddressSpace::Storage { .. } => {}
                space => return Err(unsupported(format!("a variable in address space {space:?}"), &self.global(handle))),
            }
        }
        Ok(())
    }

    /// The globals that a function and all that it calls use and that it must be handed.
    pub fn handed(&self, uses: impl Fn(Handle<GlobalVariable>) -> GlobalUse) -> Vec<Handle<GlobalVariable>> {
        let all = self.module.global_variables.iter();
        all.filter(|(handle, variable)| variable.space != AddressSpace::WorkGroup && !uses(*handle).is_empty())
            .map(|(handle, _)| handle)
            .collect()
    }

    /// How a handed global is declared as a parameter of a device function.
    fn handed_parameter(&self, handle: Handle<GlobalVariable>) -> Result<String, WriteError> {
        let variable = &self.module.global_variables[handle];
        let name = self.global(handle);
        Ok(match variable.space {
            AddressSpace::Storage { access } => self.storage_parameter(handle, access)?,
            AddressSpace::Uniform => format!("const {}& {name}", self.types.name(variable.ty)?),
            _ => format!("{}& {name}", self.types.name(variable.ty)?),
        })
    }

    fn storage_parameter(&self, handle: Handle<GlobalVariable>, access: StorageAccess) -> Result<String, WriteError> {
        let name = self.global(handle);
        let (element, _) = self.types.stored_element(self.module.global_variables[handle].ty, &name)?;
        let constant = if access.contains(StorageAccess::STORE) || access.contains(StorageAccess::ATOMIC) { "" } else { "const " };
        Ok(format!("{constant}{element}* __restrict__ {name}, const u32 {name}_count"))
    }

    fn device_function(&mut self, handle: Handle<Function>) -> Result<(), WriteError> {
        let function = &self.module.functions[handle];
        let info = &self.info[handle];
        let result = function.result.as_ref().map_or(Ok("void".into()), |result| self.types.name(result.ty))?;
        let mut parameters = Vec::new();
        for global in self.handed(|global| info[global]) {
            parameters.push(self.handed_parameter(global)?);
        }
        for (number, argument) in function.arguments.iter().enumerate() {
            parameters.push(format!("{} {}", self.types.argument(argument.ty)?, named('a', number, argument.name.as_ref())));
        }
        let name = self.function(handle);
        let _ = writeln!(self.out, "\n__device__ __forceinline__ {result} {name}({}) {{", parameters.join(", "));
        let known = |&&(wgsl, _): &&(&str, &str)| function.name.as_deref() == Some(wgsl);
        if let Some((_, cuda)) = self.options.library.iter().find(known) {
            let arguments = function.arguments.iter().enumerate().map(|(number, argument)| named('a', number, argument.name.as_ref()));
            let arguments: Vec<String> = arguments.collect();
            let _ = writeln!(self.out, "    return {cuda}({});\n}}", arguments.join(", "));
            return Ok(());
        }
        let mut scope = Scope::of_function(self, function, info, name);
        scope.locals()?;
        scope.block(&function.body)?;
        let text = scope.finish();
        self.out.push_str(&text);
        self.out.push_str("}\n");
        Ok(())
    }

    fn entry_point(&mut self, point: &EntryPoint, number: usize) -> Result<Vec<Parameter>, WriteError> {
        let module = self.module;
        let info = self.info.get_entry_point(number);
        let (mut bound, mut private) = (Vec::new(), Vec::new());
        for handle in self.handed(|global| info[global]) {
            let variable = &module.global_variables[handle];
            match (&variable.binding, variable.space) {
                (Some(place), _) => bound.push((place.group, place.binding, handle)),
                (None, _) => private.push(handle),
            }
        }
        bound.sort_by_key(|&(group, binding, _)| (group, binding));
        let (mut parameters, mut texts) = (Vec::new(), Vec::new());
        for (_, binding, handle) in bound {
            let variable = &module.global_variables[handle];
            let name = self.global(handle);
            match variable.space {
                AddressSpace::Uniform => {
                    texts.push(format!("const __grid_constant__ {} {name}", self.types.name(variable.ty)?));
                    parameters.push(Parameter::Uniform { binding, bytes: self.types.size(variable.ty) });
                }
                AddressSpace::Storage { access } => {
                    texts.push(self.storage_parameter(handle, access)?);
                    let (_, element_bytes) = self.types.stored_element(variable.ty, &name)?;
                    let writes = access.contains(StorageAccess::STORE) || access.contains(StorageAccess::ATOMIC);
                    parameters.push(Parameter::Storage { binding, writes, element_bytes });
                }
                space => return Err(unsupported(format!("a bound variable in address space {space:?}"), &name)),
            }
        }
        let name = kernel_name(&point.name);
        let threads = self.invocations;
        let _ = writeln!(self.out, "\nextern \"C\" __global__ void __launch_bounds__({threads}) {name}({}) {{", texts.join(", "));
        let _ = writeln!(self.out, "    const u32 local_index = threadIdx.x;");
        for (number, argument) in point.function.arguments.iter().enumerate() {
            let to = named('a', number, argument.name.as_ref());
            let ty = self.types.name(argument.ty)?;
            match (&argument.binding, &module.types[argument.ty].inner) {
                (Some(Binding::BuiltIn(builtin)), _) => {
                    let value = built_in(*builtin, point.workgroup_size)?;
                    let _ = writeln!(self.out, "    const {ty} {to} = {value};");
                }
                (None, TypeInner::Struct { members, .. }) => {
                    let mut values = Vec::new();
                    for member in members {
                        let Some(Binding::BuiltIn(builtin)) = member.binding else {
                            return Err(unsupported("an input that is not built in".into(), &name));
                        };
                        values.push(built_in(builtin, point.workgroup_size)?);
                    }
                    let _ = writeln!(self.out, "    const {ty} {to} = {};", self.types.composed(argument.ty, &values)?);
                }
                _ => return Err(unsupported("an input that is not built in".into(), &name)),
            }
        }
        self.zero_shared_memory(number, threads)?;
        let mut scope = Scope::of_function(self, &point.function, info, name);
        for handle in private {
            scope.private(handle)?;
        }
        scope.locals()?;
        scope.block(&point.function.body)?;
        let text = scope.finish();
        self.out.push_str(&text);
        self.out.push_str("}\n");
        Ok(parameters)
    }

    fn zero_shared_memory(&mut self, number: usize, threads: u32) -> Result<(), WriteError> {
        let info = self.info.get_entry_point(number);
        let shared = self.module.global_variables.iter();
        let shared: Vec<_> = shared
            .filter(|(handle, variable)| variable.space == AddressSpace::WorkGroup && !info[*handle].is_empty())
            .map(|(handle, variable)| (handle, variable.ty))
            .collect();
        if shared.is_empty() || !self.options.zero_workgroup_memory {
            return Ok(());
        }
        for (handle, ty) in shared {
            let (name, words) = (self.global(handle), self.types.size(ty) / 4);
            let _ = writeln!(self.out, "    for (u32 i = local_index; i < {words}u; i += {threads}u) ((u32*)&{name})[i] = 0u;");
        }
        let _ = writeln!(self.out, "    __syncthreads();");
        Ok(())
    }
}

/// A built-in input. Workgroups are launched flat: `threadIdx.x` is the local index.
fn built_in(builtin: BuiltIn, [x, y, z]: [u32; 3]) -> Result<String, WriteError> {
    let local = format!("local_index % {x}u, local_index / {x}u % {y}u, local_index / {}u", x * y);
    let groups = "blockIdx.x, blockIdx.y, blockIdx.z";
    Ok(match builtin {
        BuiltIn::GlobalInvocationId => {
            format!("op_add(op_mul(vec_of<u32>({groups}), vec_of<u32>({x}u, {y}u, {z}u)), vec_of<u32>({local}))")
        }
        BuiltIn::LocalInvocationId => format!("vec_of<u32>({local})"),
        BuiltIn::LocalInvocationIndex => "local_index".into(),
        BuiltIn::WorkGroupId => format!("vec_of<u32>({groups})"),
        BuiltIn::NumWorkGroups => "vec_of<u32>(gridDim.x, gridDim.y, gridDim.z)".into(),
        BuiltIn::WorkGroupSize => format!("vec_of<u32>({x}u, {y}u, {z}u)"),
        BuiltIn::SubgroupSize => "32u".into(),
        BuiltIn::SubgroupInvocationId => "(local_index & 31u)".into(),
        BuiltIn::SubgroupId => "(local_index >> 5)".into(),
        BuiltIn::NumSubgroups => format!("{}u", (x * y * z).div_ceil(32)),
        other => return Err(unsupported(format!("the built-in {other:?}"), "an entry point")),
    })
}

pub(crate) fn unsupported(what: String, place: &str) -> WriteError {
    WriteError::Unsupported { what, place: place.into() }
}

/// Reads, validates and writes WGSL; the error is for people, with the line that is wrong.
pub fn translate(wgsl: &str, entry: &str, options: Options) -> Result<Kernel, TranslateError> {
    let module = naga::front::wgsl::parse_str(wgsl).map_err(|error| TranslateError::Invalid(error.emit_to_string(wgsl)))?;
    let capabilities =
        Capabilities::FLOAT64 | Capabilities::SHADER_INT64 | Capabilities::SUBGROUP | Capabilities::SHADER_FLOAT16_IN_FLOAT32;
    let mut validator = Validator::new(ValidationFlags::all(), capabilities);
    validator.subgroup_stages(naga::valid::ShaderStages::COMPUTE).subgroup_operations(naga::valid::SubgroupOperationSet::all());
    let info = validator.validate(&module).map_err(|error| TranslateError::Invalid(error.emit_to_string(wgsl)))?;
    Ok(write(&module, &info, entry, options)?)
}

/// Why WGSL text has no CUDA kernel.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message above a variant says what it is, and what its fields are")]
pub enum TranslateError {
    #[error("not valid WGSL:\n{0}")]
    Invalid(String),
    #[error(transparent)]
    Write(#[from] WriteError),
}
