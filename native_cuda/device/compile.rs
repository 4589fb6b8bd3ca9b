//! Kernels: WGSL to CUDA C++ to a function on the GPU.
//!
//! Whoever asks for kernels gets their numbers at once. Those that a recording names are compiled in the background, all at the same time,
//! before it is played, and loaded by the first one who asks for them afterwards.
//!
//! Static kernels have `images` that come with the package. What NVRTC made is kept on disk under the hash of the whole text, the
//! architecture and NVRTC's version; the text lies beside it and decides, not its hash. A cache that can't be written or read costs time,
//! nothing else.

use super::background::Jobs;
use super::images::{self, Architecture, Asked, Image, Images, Manner};
use super::nvrtc;
use super::tensor::{self, Variant};
use cudarc::driver::{DriverError, result, sys};
use leastwise_kernels::{Real, StaticKernel};
use leastwise_recording::{DeviceError, Interface, KernelId, KernelKey, KernelSource, KernelText, Precision, Signal, Structure};
use std::collections::{BTreeSet, HashMap};
use std::ffi::{CStr, CString};
use std::path::PathBuf;
use std::sync::Arc;
use wgsl_cuda::{Options, Parameter, TranslateError};

/// Functions of WGSL text in f32 that CUDA's or those of `wgsl.cuh` stand in for. The hardware has powers of 2, reciprocals and extremes
/// that know NaN: an exponential is 8 instructions instead of 26, and no quotient has a branch for special cases.
const BUILT_IN_SINGLE: &[(&str, &str)] =
    &[("exponential", "expf"), ("extreme_max", "larger_or_nan"), ("extreme_min", "smaller_or_nan"), ("over_one_plus", "over_one_plus")];

/// Functions of WGSL text in f64 that are CUDA's.
const BUILT_IN_DOUBLE: &[(&str, &str)] = &[("expm1", "expm1"), ("log1p", "log1p"), ("cube_root", "cbrt"), ("error_function", "erf")];

pub(super) struct Kernels {
    compiler: Arc<Compiler>,
    list: Vec<State>,
    /// Of all of the list, whatever becomes of them.
    interfaces: Vec<Interface>,
    /// Equality decides, not a hash.
    known: HashMap<KernelKey, KernelId>,
    compiling: Vec<Compiling>,
}

enum State {
    /// No recording has needed it so far.
    Asked(KernelSource),
    Compiling,
    Ready(Kernel),
    Refused(DeviceError),
}

/// Kernels that a recording needed, and a job for each of their texts.
struct Compiling {
    kernels: Vec<Begun>,
    jobs: Jobs<Compiled>,
}

impl Compiling {
    /// True if one of these is among them.
    fn has(&self, kernels: &BTreeSet<KernelId>) -> bool {
        self.kernels.iter().any(|begun| kernels.contains(&begun.id))
    }
}

/// A kernel on its way.
struct Begun {
    id: KernelId,
    source: KernelSource,
    texts: usize,
    variants: Vec<Variant>,
}

/// What is to be compiled.
pub(super) struct Job {
    name: String,
    text: KernelText,
    /// CUDA C++ that takes what the text takes, in its place.
    tensor: Option<Variant>,
    /// The static kernel that it is for, and its number among this one's jobs.
    of: Option<(StaticKernel, usize)>,
}

impl Job {
    /// The image that is asked for, if there may be one.
    pub fn asked(&self, precision: Precision, group_size: u32) -> Option<Asked> {
        self.of.map(|(kernel, part)| Asked { kernel, precision, group_size, part })
    }
}

/// A job's CUDA C++.
pub(super) struct Text {
    pub text: String,
    pub manner: Manner,
    pub parameters: Vec<Parameter>,
    pub entry: String,
}

/// From WGSL to machine code. Knows no GPU, only its architecture.
struct Compiler {
    precision: Precision,
    group_size: u32,
    architecture: Architecture,
    /// Shared memory that a workgroup can have.
    shared_bytes: u32,
    /// NVRTC's version.
    version: nvrtc::Version,
    /// Images that came with the package, and for which architectures the GPU takes them.
    images: Option<(&'static Images, Vec<Architecture>)>,
    cache: Option<PathBuf>,
}

pub(super) struct Kernel {
    /// One after the other: as many as the source has texts.
    pub parts: Vec<Part>,
    /// What may stand in for it, the best first.
    pub variants: Vec<(Variant, Part)>,
}

pub(super) struct Part {
    module: sys::CUmodule,
    pub function: sys::CUfunction,
    pub parameters: Vec<Parameter>,
}

// SAFETY: handles of the driver may be used from any thread that the context is bound to.
unsafe impl Send for Part {}

/// A kernel on its way to the GPU.
struct Compiled {
    image: Image,
    origin: Origin,
    /// Whether launches say how much shared memory it has.
    is_tensor: bool,
}

/// Origin of machine code: what may be damaged, or too new for the driver, can be made anew.
enum Origin {
    /// It came with the package.
    Packed(Job),
    /// It was kept on disk. What NVRTC compiles, the options first, in a comment; and these.
    Kept(String, Vec<String>),
    /// NVRTC just made it.
    Made,
}

impl Kernels {
    /// The context is bound to this thread.
    pub fn new(precision: Precision, group_size: u32, architecture: Architecture, shared_bytes: u32) -> Result<Self, DriverError> {
        let (version, images, cache) = (nvrtc::version(), images_for(architecture)?, cache_folder());
        let compiler = Arc::new(Compiler { precision, group_size, architecture, shared_bytes, version, images, cache });
        Ok(Self { compiler, list: Vec::new(), interfaces: Vec::new(), known: HashMap::new(), compiling: Vec::new() })
    }

    pub fn interface(&self, id: KernelId) -> Option<&Interface> {
        self.interfaces.get(id.0 as usize)
    }

    /// A kernel that is ready.
    pub fn get(&self, id: KernelId) -> Result<&Kernel, DeviceError> {
        match self.list.get(id.0 as usize) {
            Some(State::Ready(kernel)) => Ok(kernel),
            Some(State::Refused(error)) => Err(error.clone()),
            Some(State::Asked(_) | State::Compiling) => Err(DeviceError::Invalid("a kernel that is not compiled yet".into())),
            None => Err(DeviceError::Invalid("a kernel of another device".into())),
        }
    }

    /// Numbers of kernels, equal ones of equal sources.
    pub fn ask(&mut self, sources: &[KernelSource]) -> Vec<KernelId> {
        let number = |source: &KernelSource| {
            *self.known.entry(source.key()).or_insert_with(|| {
                self.list.push(State::Asked(source.clone()));
                self.interfaces.push(Interface::of(source));
                KernelId(self.list.len() as u32 - 1)
            })
        };
        sources.iter().map(number).collect()
    }

    /// Begins to compile those that were only asked for; gives how many.
    pub fn begin(&mut self, kernels: &BTreeSet<KernelId>) -> u64 {
        let (mut begun, mut jobs) = (Vec::new(), Vec::new());
        for &id in kernels {
            let Some(state @ State::Asked(_)) = self.list.get_mut(id.0 as usize) else { continue };
            if let State::Asked(source) = std::mem::replace(state, State::Compiling) {
                let texts = match source.texts() {
                    Ok(texts) => texts,
                    Err(error) => {
                        *state = State::Refused(error);
                        continue;
                    }
                };
                let Compiler { precision, group_size, architecture, .. } = *self.compiler;
                let variants = tensor::variants(&source.name, precision, group_size, architecture);
                jobs.extend(jobs_of(&source, &texts, &variants));
                begun.push(Begun { id, source, texts: texts.len(), variants });
            }
        }
        let count = begun.len() as u64;
        if count > 0 {
            let compiler = self.compiler.clone();
            self.compiling.push(Compiling { kernels: begun, jobs: Jobs::begin(jobs, move |job| compiler.compile(job)) });
        }
        count
    }

    /// True if one of these is being compiled, or is to be loaded.
    pub fn is_compiling(&self, kernels: &BTreeSet<KernelId>) -> bool {
        self.compiling.iter().any(|compiling| compiling.has(kernels))
    }

    /// Loads what has been compiled: none when all of these are ready, else what to wait for.
    pub fn compiling(&mut self, kernels: &BTreeSet<KernelId>) -> Result<Option<Signal>, DeviceError> {
        while let Some(place) = self.compiling.iter().position(|compiling| compiling.has(kernels)) {
            if let Some(signal) = self.compiling[place].jobs.running() {
                return Ok(Some(signal));
            }
            let done = self.compiling.remove(place);
            self.load(done);
        }
        kernels.iter().try_for_each(|id| self.get(*id).map(drop))?;
        Ok(None)
    }

    fn load(&mut self, Compiling { kernels, jobs }: Compiling) {
        let mut compiled = jobs.results().into_iter();
        for Begun { id, source, texts, variants } in kernels {
            // All of them, whatever becomes of the first.
            let results: Vec<_> = compiled.by_ref().take(texts + variants.len()).collect();
            let load = |compiled: Compiled| self.compiler.loaded(compiled);
            let parts: Result<Vec<Part>, String> = results.into_iter().map(|result| result.and_then(load)).collect();
            self.list[id.0 as usize] = match parts {
                Ok(mut parts) => {
                    let others = parts.split_off(texts);
                    State::Ready(Kernel { parts, variants: variants.into_iter().zip(others).collect() })
                }
                Err(message) => {
                    // Whoever comes with the same text again shall hear the message again.
                    self.known.remove(&source.key());
                    State::Refused(DeviceError::Kernel { kernel: source.name, message })
                }
            };
        }
    }

    /// Loads CUDA C++ that is no kernel of a recording: a module, and its functions. Whoever asks for it unloads it.
    pub fn load_text<const N: usize>(&self, text: &str, entries: [&CStr; N]) -> Result<(sys::CUmodule, [sys::CUfunction; N]), DeviceError> {
        let refused = |message: String| DeviceError::Kernel { kernel: entries[0].to_string_lossy().into_owned(), message };
        let options = self.compiler.options(Manner::default());
        let source = format!("// {}\n{text}", options.join(" "));
        let cached = self.compiler.cached(&source);
        let kept = cached.is_some();
        let image = cached.map_or_else(|| self.compiler.made(&source, &options), Ok).map_err(refused)?;
        let (module, _) = match module(&image, entries[0]) {
            Err(_) if kept => module(&self.compiler.made(&source, &options).map_err(refused)?, entries[0]),
            other => other,
        }
        .map_err(|error| refused(said(error)))?;
        let mut functions = [std::ptr::null_mut(); N];
        for (function, entry) in functions.iter_mut().zip(entries) {
            // SAFETY: the module was just loaded.
            *function = unsafe { result::module::get_function(module, entry.to_owned()) }.map_err(super::failed)?;
        }
        Ok((module, functions))
    }

    /// Leaves out what is not compiled yet. A process that ends must have no thread in NVRTC.
    pub fn abandon(&mut self) {
        self.compiling.drain(..).for_each(|compiling| compiling.jobs.abandon());
    }

    /// Unloads every module. Nothing may be in flight.
    pub fn unload(&mut self) {
        for state in self.list.drain(..) {
            let State::Ready(kernel) = state else { continue };
            for part in kernel.parts.into_iter().chain(kernel.variants.into_iter().map(|(_, part)| part)) {
                // SAFETY: the module is this kernel's own, and its function is not used any more.
                let _ = unsafe { result::module::unload(part.module) };
            }
        }
    }
}

impl Compiler {
    /// Options of NVRTC.
    fn options(&self, manner: Manner) -> Vec<String> {
        nvrtc::options(self.architecture, manner, self.version)
    }

    fn compile(&self, job: Job) -> Result<Compiled, String> {
        let asked = job.asked(self.precision, self.group_size);
        let packed = self.images.as_ref().zip(asked).and_then(|((images, architectures), asked)| images.find(architectures, &asked));
        match packed {
            Some(image) => Ok(Compiled { image, is_tensor: job.tensor.is_some(), origin: Origin::Packed(job) }),
            None => self.translated(&job),
        }
    }

    /// The same, without images of the package.
    fn translated(&self, job: &Job) -> Result<Compiled, String> {
        let Text { text, manner, parameters, entry } = text_of(job, self.precision, self.group_size)?;
        let text = nvrtc::text_for(self.architecture, text);
        let options = self.options(manner);
        let source = format!("// {}\n{text}", options.join(" "));
        let (code, origin) = match self.cached(&source) {
            Some(code) => (code, Origin::Kept(source, options)),
            None => (self.made(&source, &options)?, Origin::Made),
        };
        Ok(Compiled { image: Image { entry, parameters, code }, origin, is_tensor: job.tensor.is_some() })
    }

    /// A new image, which is kept.
    fn made(&self, source: &str, options: &[String]) -> Result<Vec<u8>, String> {
        let image = nvrtc::compiled(source, options)?;
        self.keep(source, &image);
        Ok(image)
    }

    /// Part of a file looks like all of it: where the driver refuses an image that was kept, a new one is made, which is the same. An image of
    /// the package may not be: it is given up where the driver refuses it, but not for want of memory, say.
    fn loaded(&self, Compiled { image, origin, is_tensor }: Compiled) -> Result<Part, String> {
        let shared_bytes = is_tensor.then_some(self.shared_bytes);
        match (part(&image, shared_bytes), origin) {
            (Err(error), Origin::Packed(job)) if is_of_image(error) => self.translated(&job).and_then(|again| self.loaded(again)),
            (Err(_), Origin::Kept(source, options)) => {
                part(&Image { code: self.made(&source, &options)?, ..image }, shared_bytes).map_err(said)
            }
            (loaded, _) => loaded.map_err(said),
        }
    }

    fn files(&self, source: &str) -> Option<[PathBuf; 2]> {
        let ((major, minor), (of, version)) = (self.architecture, self.version);
        let stem = format!("{:016x}-sm_{major}{minor}-nvrtc{of}.{version}", fnv1a(source.as_bytes()));
        let folder = self.cache.as_ref()?;
        Some([folder.join(format!("{stem}.cu")), folder.join(format!("{stem}.cubin"))])
    }

    fn cached(&self, source: &str) -> Option<Vec<u8>> {
        let [text, image] = self.files(source)?;
        if std::fs::read(text).ok()? != source.as_bytes() {
            return None;
        }
        std::fs::read(image).ok().filter(|image| image.starts_with(b"\x7fELF"))
    }

    /// Under a name of its own first, so that another process never reads half a file; the text comes last.
    fn keep(&self, source: &str, image: &[u8]) {
        let Some([text, binary]) = self.files(source) else { return };
        let write = |to: PathBuf, bytes: &[u8]| {
            let own = to.with_extension(format!("{}.{:?}", std::process::id(), std::thread::current().id()));
            std::fs::write(&own, bytes).and_then(|()| std::fs::rename(&own, &to))
        };
        let _ = write(binary, image).and_then(|()| write(text, source.as_bytes()));
    }
}

/// Jobs for a kernel's texts, and for what may stand in for it, which has the bindings of the first.
pub(super) fn jobs_of(source: &KernelSource, texts: &[KernelText], variants: &[Variant]) -> Vec<Job> {
    let kernel = if let Structure::Static(kernel) = source.structure { Some(kernel).filter(|_| !source.doubles) } else { None };
    let job = |text: &KernelText, name: String, tensor| Job { name, text: text.clone(), tensor, of: None };
    let own = texts.iter().map(|text| job(text, source.name.clone(), None));
    let others = variants.iter().map(|variant| job(&texts[0], format!("{}_tensor", source.name), Some(variant.clone())));
    own.chain(others).enumerate().map(|(part, job)| Job { of: kernel.map(|kernel| (kernel, part)), ..job }).collect()
}

/// CUDA C++ of a job, whatever the architecture.
pub(super) fn text_of(job: &Job, precision: Precision, group_size: u32) -> Result<Text, String> {
    let kernel = written(&job.text, precision, group_size).map_err(|error| error.to_string())?.named(&job.name);
    let text = job.tensor.as_ref().map_or_else(|| kernel.text(), |variant| variant.text.clone());
    // In f32 the text itself holds contraction back.
    let exact = precision == Precision::F64 && text.contains("_opaque(");
    let manner = Manner { specific: job.tensor.as_ref().is_some_and(|variant| variant.is_specific), exact };
    Ok(Text { text, manner, parameters: kernel.parameters, entry: kernel.name })
}

/// The images that come with the package and the architectures of which the driver takes them: one that is older than the NVRTC that made
/// them may refuse all.
fn images_for(architecture: Architecture) -> Result<Option<(&'static Images, Vec<Architecture>)>, DriverError> {
    let Some(Ok(images)) = images::opened() else { return Ok(None) };
    let mut taken = Vec::new();
    for of in images.running_on(architecture) {
        let Some(image) = images.smallest(of) else { continue };
        match part(&image, None) {
            // SAFETY: nothing uses the module.
            Ok(part) => unsafe { result::module::unload(part.module) }.map(|()| taken.push(of))?,
            Err(error) if is_of_image(error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok((!taken.is_empty()).then_some((images, taken)))
}

/// True unless an error says something of the GPU, the context or the system, whatever the image.
fn is_of_image(DriverError(error): DriverError) -> bool {
    use sys::CUresult::*;
    !matches!(
        error,
        CUDA_ERROR_OUT_OF_MEMORY
            | CUDA_ERROR_NOT_INITIALIZED
            | CUDA_ERROR_DEINITIALIZED
            | CUDA_ERROR_INVALID_CONTEXT
            | CUDA_ERROR_CONTEXT_IS_DESTROYED
            | CUDA_ERROR_DEVICE_UNAVAILABLE
            | CUDA_ERROR_ECC_UNCORRECTABLE
            | CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUDA_ERROR_ILLEGAL_ADDRESS
            | CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUDA_ERROR_INVALID_PC
            | CUDA_ERROR_LAUNCH_FAILED
            | CUDA_ERROR_LAUNCH_TIMEOUT
            | CUDA_ERROR_MISALIGNED_ADDRESS
            | CUDA_ERROR_OPERATING_SYSTEM
            | CUDA_ERROR_SYSTEM_NOT_READY
            | CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
    )
}

fn said(error: DriverError) -> String {
    super::failed(error).to_string()
}

/// A module as CUDA C++.
pub fn written(text: &KernelText, precision: Precision, group_size: u32) -> Result<wgsl_cuda::Kernel, TranslateError> {
    let (real, library) = match precision {
        Precision::F64 => (Real::F64, BUILT_IN_DOUBLE),
        Precision::F32 if !text.is_double => (Real::F32, BUILT_IN_SINGLE),
        Precision::F32 | Precision::F32x2 => (Real::F32, &[][..]),
    };
    let wgsl = text.module(real, group_size);
    // Only kernels of ours come here. The static ones and random programs were run under a checker of memory (`memcheck` of
    // `npm run kit`); indices that come from users, problems have checked.
    wgsl_cuda::translate(&wgsl, "main", Options { library, bounds_checks: false, zero_workgroup_memory: false })
}

/// Loads a kernel; `shared_bytes` of shared memory are those that its launches may ask for, if they do.
fn part(image: &Image, shared_bytes: Option<u32>) -> Result<Part, DriverError> {
    let entry = CString::new(&image.entry[..]).map_err(|_| DriverError(sys::CUresult::CUDA_ERROR_NOT_FOUND))?;
    let (module, function) = module(&image.code, &entry)?;
    if let Some(bytes) = shared_bytes {
        let most = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function was just loaded.
        unsafe { result::function::set_function_attribute(function, most, bytes as i32) }.map_err(|error| unloaded(module, error))?;
    }
    Ok(Part { module, function, parameters: image.parameters.clone() })
}

fn module(image: &[u8], entry: &CStr) -> Result<(sys::CUmodule, sys::CUfunction), DriverError> {
    // SAFETY: the image outlives the call; the driver checks what is in it.
    unsafe {
        let module = result::module::load_data(image.as_ptr().cast())?;
        let function = result::module::get_function(module, entry.to_owned()).map_err(|error| unloaded(module, error))?;
        Ok((module, function))
    }
}

/// Unloads a module that is of no use, and hands on the reason.
fn unloaded(module: sys::CUmodule, error: DriverError) -> DriverError {
    // SAFETY: the module was just loaded; nothing uses it.
    let _ = unsafe { result::module::unload(module) };
    error
}

/// `LEASTWISE_CACHE`, or a folder of the user's caches; none where neither can be made.
fn cache_folder() -> Option<PathBuf> {
    let given = std::env::var_os("LEASTWISE_CACHE").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let folder = given.or_else(|| {
        let caches = std::env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
        let caches = caches.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
        caches.map(|caches| caches.join("leastwise").join("cuda"))
    })?;
    std::fs::create_dir_all(&folder).ok().map(|()| folder)
}

/// Fowler, Noll & Vo's hash.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
