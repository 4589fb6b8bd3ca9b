//! Kernels: WGSL to CUDA C++ to a function on the GPU.
//!
//! What NVRTC made is kept on disk under the hash of the whole text, the architecture and NVRTC's version; the text lies
//! beside it and decides, not its hash. A cache that can't be written or read costs time, nothing else.

use super::double::{CUDA, in_double};
use crate::device::{DeviceError, KernelId, KernelSource, KernelText, Precision};
use cudarc::driver::{result, sys};
use cudarc::nvrtc::{result as nvrtc, sys as nvrtc_sys};
use rayon::prelude::*;
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::path::PathBuf;
use wgsl_cuda::{Options, Parameter, TranslateError};

const PRELUDE: &str = include_str!("../../../shaders/prelude.wgsl");

pub(super) struct Kernels {
    compiler: Compiler,
    list: Vec<Kernel>,
    /// By the whole text: equality decides, not a hash.
    known: HashMap<Vec<KernelText>, KernelId>,
}

/// From WGSL to machine code. Knows no GPU, only its architecture.
struct Compiler {
    architecture: (i32, i32),
    /// NVRTC's version.
    version: String,
    cache: Option<PathBuf>,
}

pub(super) struct Kernel {
    pub name: String,
    /// One after the other: as many as the source has texts.
    pub parts: Vec<Part>,
}

pub(super) struct Part {
    module: sys::CUmodule,
    pub function: sys::CUfunction,
    pub parameters: Vec<Parameter>,
}

// SAFETY: handles of the driver may be used from any thread that the context is bound to.
unsafe impl Send for Part {}

/// A kernel's text on its way to the GPU.
struct Compiled {
    image: Vec<u8>,
    parameters: Vec<Parameter>,
    entry: String,
}

impl Kernels {
    pub fn new(architecture: (i32, i32), version: &str) -> Self {
        let compiler = Compiler { architecture, version: version.into(), cache: cache_folder() };
        Self { compiler, list: Vec::new(), known: HashMap::new() }
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn get(&self, id: KernelId) -> Result<&Kernel, DeviceError> {
        self.list.get(id.0 as usize).ok_or_else(|| DeviceError::Invalid("a kernel of another device".into()))
    }

    pub fn load(&mut self, sources: &[KernelSource], precision: Precision, group_size: u32) -> Result<Vec<KernelId>, DeviceError> {
        let mut wanted: Vec<&KernelSource> = Vec::new();
        for source in sources {
            if !self.known.contains_key(&source.texts) && !wanted.iter().any(|other| other.texts == source.texts) {
                wanted.push(source);
            }
        }
        let texts: Vec<(&KernelSource, &KernelText)> =
            wanted.iter().flat_map(|source| source.texts.iter().map(move |text| (*source, text))).collect();
        let compiler = &self.compiler;
        let compiled: Result<Vec<Compiled>, DeviceError> =
            texts.par_iter().map(|(source, text)| compiler.compile(&source.name, text, precision, group_size)).collect();
        let mut compiled = compiled?.into_iter();
        for source in wanted {
            let mut parts = Vec::new();
            for made in compiled.by_ref().take(source.texts.len()) {
                parts.push(loaded(&source.name, made)?);
            }
            self.known.insert(source.texts.clone(), KernelId(self.list.len() as u32));
            self.list.push(Kernel { name: source.name.clone(), parts });
        }
        Ok(sources.iter().map(|source| self.known[&source.texts]).collect())
    }

    /// Unloads every module. Nothing may be in flight.
    pub fn unload(&mut self) {
        for part in self.list.drain(..).flat_map(|kernel| kernel.parts) {
            // SAFETY: the module is this kernel's own, and its function is not used any more.
            let _ = unsafe { result::module::unload(part.module) };
        }
    }
}

impl Compiler {
    fn compile(&self, name: &str, text: &KernelText, precision: Precision, group_size: u32) -> Result<Compiled, DeviceError> {
        let refused = |message: String| DeviceError::Kernel { kernel: name.into(), message };
        let kernel = written(&text.wgsl, precision, group_size).map_err(|error| refused(error.to_string()))?;
        let source = kernel.text();
        let image = match self.cached(&source) {
            Some(image) => image,
            None => {
                let image = compiled(&source, self.architecture).map_err(refused)?;
                self.keep(&source, &image);
                image
            }
        };
        Ok(Compiled { image, parameters: kernel.parameters, entry: kernel.name })
    }

    fn files(&self, source: &str) -> Option<[PathBuf; 2]> {
        let (major, minor) = self.architecture;
        let stem = format!("{:016x}-sm_{major}{minor}-nvrtc{}", fnv1a(source.as_bytes()), self.version);
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

/// A module's text, without the prelude, as CUDA C++.
pub fn written(wgsl: &str, precision: Precision, group_size: u32) -> Result<wgsl_cuda::Kernel, TranslateError> {
    let single = format!("alias real = f32;\nconst group_size: u32 = {group_size}u;\n{PRELUDE}\n{wgsl}");
    let (wgsl, library) = if precision == Precision::F64 { (in_double(&single), CUDA) } else { (single, &[][..]) };
    // Only kernels of ours come here; over every one the tests have run under a checker of memory. Whose indices come from users,
    // problems have checked these.
    wgsl_cuda::translate(&wgsl, "main", Options { library, bounds_checks: false, zero_workgroup_memory: false })
}

fn loaded(name: &str, compiled: Compiled) -> Result<Part, DeviceError> {
    let refused = |error: result::DriverError| DeviceError::Kernel { kernel: name.into(), message: super::failed(error).to_string() };
    let entry = CString::new(compiled.entry).expect("a name of a function has no NUL");
    // SAFETY: the image is NVRTC's, and outlives the call.
    unsafe {
        let module = result::module::load_data(compiled.image.as_ptr().cast()).map_err(refused)?;
        let function = result::module::get_function(module, entry).map_err(refused)?;
        Ok(Part { module, function, parameters: compiled.parameters })
    }
}

/// Machine code for one architecture.
fn compiled(source: &str, (major, minor): (i32, i32)) -> Result<Vec<u8>, String> {
    let text = CString::new(source).map_err(|_| "the text has a NUL".to_string())?;
    let program = nvrtc::create_program(&text, Some(c"kernel.cu")).map_err(|error| format!("NVRTC: {error:?}"))?;
    let options = [format!("--gpu-architecture=sm_{major}{minor}"), "--std=c++20".into(), "--diag-suppress=177".into()];
    // SAFETY: the program was just made; it is destroyed once, at the end.
    unsafe {
        let outcome = nvrtc::compile_program(program, &options);
        let made = match outcome {
            Ok(()) => image(program),
            Err(error) => {
                let log = nvrtc::get_program_log(program)
                    .map_or_else(|_| String::new(), |log| CStr::from_ptr(log.as_ptr()).to_string_lossy().into_owned());
                Err(format!("NVRTC: {error:?}\n{}", log.trim()))
            }
        };
        let _ = nvrtc::destroy_program(program);
        made
    }
}

/// SAFETY: `program` was compiled for a real architecture.
unsafe fn image(program: nvrtc_sys::nvrtcProgram) -> Result<Vec<u8>, String> {
    let mut size = 0;
    // SAFETY: the buffer is as long as NVRTC says.
    unsafe {
        nvrtc_sys::nvrtcGetCUBINSize(program, &mut size).result().map_err(|error| format!("NVRTC: {error:?}"))?;
        let mut image = vec![0u8; size];
        nvrtc_sys::nvrtcGetCUBIN(program, image.as_mut_ptr().cast()).result().map_err(|error| format!("NVRTC: {error:?}"))?;
        Ok(image)
    }
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
