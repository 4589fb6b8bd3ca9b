//! Kernels: WGSL text to pipelines.
//!
//! A kernel that was asked for has a number, and is compiled when a recording that names it is about to be played: natively on the
//! spot, on the web in the background (see `web`), all kernels of a recording at the same time. Text is made then, not before. Equal kernels are one,
//! whatever their names; kernels of equal access share a bind group layout, and so their bind groups.

#[cfg(target_arch = "wasm32")]
use super::Health;
use super::pool::Block;
use super::{Scopes, WgpuDevice};
use leastwise_kernels::{KernelText, Products, Real, doubles};
use leastwise_recording::{
    Access, Command, DeviceError, Dispatch, Interface, KernelId, KernelKey, KernelSource, Recording, Signal, Structure, binding,
};
use std::collections::HashMap;
#[cfg(target_arch = "wasm32")]
use std::sync::Arc;

type AccessList = [Access; binding::COUNT];

pub(super) struct Kernels {
    group_size: u32,
    products: Products,
    list: Vec<Kernel>,
    /// Equality decides, not a hash.
    known: HashMap<KernelKey, KernelId>,
    layouts: Vec<Layout>,
    layout_of: HashMap<AccessList, usize>,
}

pub(super) struct Kernel {
    pub interface: Interface,
    /// Whether its reals are double-floats.
    pub doubles: bool,
    pub layout: usize,
    state: State,
}

enum State {
    /// Several kernels, one after the other: a recording is played with them in its place.
    Parts(Vec<KernelId>),
    /// No recording has needed it so far.
    Asked(KernelSource),
    #[cfg(target_arch = "wasm32")]
    Compiling(KernelKey, Arc<str>, super::web::Compiling),
    Ready(wgpu::ComputePipeline),
    Refused(DeviceError),
}

struct Layout {
    group: wgpu::BindGroupLayout,
    pipeline: wgpu::PipelineLayout,
}

impl Kernels {
    pub fn new(group_size: u32) -> Self {
        Self {
            group_size,
            products: Products::Halves,
            list: Vec::new(),
            known: HashMap::new(),
            layouts: Vec::new(),
            layout_of: HashMap::new(),
        }
    }

    /// How products of double-floats are made from now on.
    pub fn multiply_by(&mut self, products: Products) {
        self.products = products;
    }

    pub fn get(&self, id: KernelId) -> Result<&Kernel, DeviceError> {
        self.list.get(id.0 as usize).ok_or_else(|| DeviceError::Invalid("a kernel of another device".into()))
    }

    pub fn group_layout(&self, layout: usize) -> &wgpu::BindGroupLayout {
        &self.layouts[layout].group
    }

    /// The whole module.
    fn text(&self, source: &KernelSource) -> Result<String, DeviceError> {
        let [text] = &source.texts()?[..] else {
            let message = "a kernel in parts has no text of its own".into();
            return Err(DeviceError::Kernel { kernel: source.name.clone(), message });
        };
        Ok(match source.doubles {
            true => doubles::module(text, self.products, self.group_size),
            false => text.module(Real::F32, self.group_size),
        })
    }

    fn refused(&self, kernel: &str, doubles: bool, message: &str) -> DeviceError {
        let head = if doubles { doubles::head(self.group_size) } else { KernelText::head(Real::F32, self.group_size) };
        let lines = head.lines().count();
        let message = format!("{}\n(the kernel's own text begins after line {lines})", message.trim());
        DeviceError::Kernel { kernel: kernel.into(), message }
    }

    fn layout(&mut self, device: &wgpu::Device, access: AccessList) -> usize {
        if let Some(known) = self.layout_of.get(&access) {
            return *known;
        }
        let entry = |(slot, ty)| wgpu::BindGroupLayoutEntry { binding: slot, visibility: wgpu::ShaderStages::COMPUTE, ty, count: None };
        let entries: Vec<_> = binding_types(&access).map(entry).collect();
        let group = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries });
        let descriptor = wgpu::PipelineLayoutDescriptor { label: None, bind_group_layouts: &[Some(&group)], immediate_size: 0 };
        let pipeline = device.create_pipeline_layout(&descriptor);
        self.layouts.push(Layout { group, pipeline });
        self.layout_of.insert(access, self.layouts.len() - 1);
        self.layouts.len() - 1
    }

    fn pipeline(&self, device: &wgpu::Device, name: &str, wgsl: &str, layout: usize) -> wgpu::ComputePipeline {
        let source = wgpu::ShaderSource::Wgsl(wgsl.into());
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: Some(name), source });
        device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(name),
            layout: Some(&self.layouts[layout].pipeline),
            module: &module,
            entry_point: Some("main"),
            compilation_options: Default::default(),
            cache: None,
        })
    }

    /// Begins to compile a kernel that was only asked for; whether it was.
    fn begin(&mut self, device: &wgpu::Device, id: KernelId) -> Result<bool, DeviceError> {
        let kernel = self.get(id)?;
        let State::Asked(source) = &kernel.state else { return Ok(false) };
        let (layout, source) = (kernel.layout, source.clone());
        let state = match self.text(&source) {
            Ok(text) => self.begun(device, layout, &source, text),
            Err(error) => State::Refused(error),
        };
        self.list[id.0 as usize].state = self.told_again(&source.key(), state);
        Ok(true)
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn begun(&self, device: &wgpu::Device, layout: usize, source: &KernelSource, text: String) -> State {
        let scopes = Scopes::open(device);
        let pipeline = self.pipeline(device, &source.name, &text, layout);
        match scopes.caught() {
            Some((_, message)) => State::Refused(self.refused(&source.name, source.doubles, &message)),
            None => State::Ready(pipeline),
        }
    }

    #[cfg(target_arch = "wasm32")]
    fn begun(&self, device: &wgpu::Device, _layout: usize, source: &KernelSource, text: String) -> State {
        let compiling = super::web::Compiling::start(device, &source.name, &text, &source.access());
        State::Compiling(source.key(), text.into(), compiling)
    }

    /// Forgets a refused kernel: whoever comes with it again shall hear the message again.
    fn told_again(&mut self, key: &KernelKey, state: State) -> State {
        if let State::Refused(_) = state {
            self.known.remove(key);
        }
        state
    }

    /// Takes over what the browser has compiled. Returns what to wait for if kernel `id` is still on its way.
    #[cfg(target_arch = "wasm32")]
    fn land(&mut self, device: &wgpu::Device, health: &Arc<Health>, id: KernelId) -> Result<Option<Signal>, DeviceError> {
        let kernel = self.get(id)?;
        let State::Compiling(key, text, compiling) = &kernel.state else { return Ok(None) };
        let state = match compiling.outcome() {
            None => return Ok(Some(compiling.signal.clone())),
            Some(Err(message)) => State::Refused(self.refused(&kernel.interface.name, kernel.doubles, &message)),
            // Held until wgpu has asked the browser for the same.
            Some(Ok(_cached)) => {
                let scopes = Scopes::open(device);
                let pipeline = self.pipeline(device, &kernel.interface.name, text, kernel.layout);
                scopes.close(health, |_, message| DeviceError::Invalid(message));
                State::Ready(pipeline)
            }
        };
        let key = key.clone();
        self.list[id.0 as usize].state = self.told_again(&key, state);
        Ok(None)
    }

    /// The pipeline of a kernel that is ready.
    pub fn ready<'a>(&self, kernel: &'a Kernel) -> Result<&'a wgpu::ComputePipeline, DeviceError> {
        match &kernel.state {
            State::Ready(pipeline) => Ok(pipeline),
            State::Refused(error) => Err(error.clone()),
            State::Parts(_) => Err(DeviceError::Invalid(format!("kernel `{}` is played in parts", kernel.interface.name))),
            _ => Err(DeviceError::Invalid(format!("kernel `{}` is not compiled yet", kernel.interface.name))),
        }
    }
}

/// The bind group layout of a kernel: a uniform block at a dynamic offset, and a storage buffer for each slot in use.
pub(super) fn binding_types(access: &AccessList) -> impl Iterator<Item = (u32, wgpu::BindingType)> {
    let uniform = wgpu::BindingType::Buffer {
        ty: wgpu::BufferBindingType::Uniform,
        has_dynamic_offset: true,
        min_binding_size: wgpu::BufferSize::new(size_of::<Block>() as u64),
    };
    let storage = |(slot, access): (usize, &Access)| {
        let read_only = match access {
            Access::Unused => return None,
            Access::Read => true,
            Access::ReadWrite => false,
        };
        let ty = wgpu::BufferBindingType::Storage { read_only };
        Some((slot as u32, wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None }))
    };
    std::iter::once((0, uniform)).chain(access.iter().enumerate().skip(1).filter_map(storage))
}

impl WgpuDevice {
    /// Numbers of kernels; equal ones are one. They are compiled when a recording needs them.
    pub fn kernels(&mut self, sources: &[KernelSource]) -> Result<Vec<KernelId>, DeviceError> {
        self.health.check()?;
        sources.iter().map(|source| self.kernel(source)).collect()
    }

    fn kernel(&mut self, source: &KernelSource) -> Result<KernelId, DeviceError> {
        if source.grade.is_double(self.reals) && !source.doubles {
            return self.kernel(&source.clone().in_doubles());
        }
        let key = source.key();
        if let Some(known) = self.kernels.known.get(&key) {
            return Ok(*known);
        }
        let interface = Interface::of(source);
        let kernel = if source.is_whole() {
            let layout = self.kernels.layout(&self.device, interface.access);
            Kernel { interface, doubles: source.doubles, layout, state: State::Asked(source.clone()) }
        } else {
            let part = |text| KernelSource { structure: Structure::Text(text), ..source.clone() };
            let parts = source.texts()?.into_iter().map(|text| self.kernel(&part(text))).collect::<Result<_, _>>()?;
            Kernel { interface, doubles: false, layout: 0, state: State::Parts(parts) }
        };
        let id = KernelId(self.kernels.list.len() as u32);
        self.kernels.list.push(kernel);
        self.kernels.known.insert(key, id);
        Ok(id)
    }

    /// Whether any kernel is played in parts.
    pub fn has_parts(&self) -> bool {
        self.kernels.list.iter().any(|kernel| matches!(kernel.state, State::Parts(_)))
    }

    /// The recording with the parts of kernels in their place.
    pub fn in_parts(&self, recording: Recording) -> Recording {
        if !self.has_parts() {
            return recording;
        }
        Recording { commands: recording.commands.into_iter().flat_map(|command| self.parts_of(command)).collect() }
    }

    fn parts_of(&self, command: Command) -> Vec<Command> {
        match command {
            Command::Dispatch(dispatch) => match self.kernels.get(dispatch.kernel).map(|kernel| &kernel.state) {
                Ok(State::Parts(parts)) => parts.iter().map(|&kernel| Command::Dispatch(Dispatch { kernel, ..dispatch.clone() })).collect(),
                _ => vec![Command::Dispatch(dispatch)],
            },
            Command::Repeat { body, max, until } => {
                vec![Command::Repeat { body: body.into_iter().flat_map(|command| self.parts_of(command)).collect(), max, until }]
            }
            other => vec![other],
        }
    }

    /// Begins to compile those of the kernels that are not there; what to wait for before all of them are, if anything. A kernel that
    /// the compiler refused is an error.
    pub(super) fn compiling(&mut self, kernels: &[KernelId]) -> Result<Option<Signal>, DeviceError> {
        for &id in kernels {
            self.counters.kernels_created += u64::from(self.kernels.begin(&self.device, id)?);
        }
        #[cfg(target_arch = "wasm32")]
        for &id in kernels {
            if let Some(signal) = self.kernels.land(&self.device, &self.health, id)? {
                return Ok(Some(signal));
            }
        }
        kernels.iter().try_for_each(|id| self.kernels.ready(self.kernels.get(*id)?).map(drop))?;
        Ok(None)
    }

    /// The same of what a recording names.
    pub fn compile(&mut self, recording: &Recording) -> Result<Option<Signal>, DeviceError> {
        self.health.check()?;
        let named = recording.kernels();
        let parts = |id: KernelId| match self.kernels.get(id).map(|kernel| &kernel.state) {
            Ok(State::Parts(parts)) => parts.clone(),
            _ => vec![id],
        };
        let kernels: Vec<KernelId> = named.into_iter().flat_map(parts).collect();
        self.compiling(&kernels)
    }
}
