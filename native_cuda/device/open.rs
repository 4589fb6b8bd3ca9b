//! Finding the driver, NVRTC and a GPU.

use super::images::Architecture;
use super::{CudaDevice, compile::Kernels, glances, graphs, images, landing, nccl_version, nvrtc, staging, waits};
use cudarc::driver::{CudaContext, result, sys};
use leastwise_recording::{Counters, DeviceError, Limits, Precision};
use serde::Serialize;
use std::collections::HashMap;

/// The oldest architecture that the kernels are written for (Pascal: f64 and 32-bit shuffles are fast enough from there on).
const OLDEST: (i32, i32) = (6, 0);

/// Threads of a workgroup, unless a device is told to have fewer.
pub(super) const GROUP_SIZE: u32 = 256;

/// Bytes that a pool of memory begins with: as many as the driver maps at a time.
const FIRST: usize = 1 << 21;

/// What there is on this machine, for messages and diagnostics.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Found {
    /// The driver's CUDA version, say `13.0`.
    pub driver: Option<String>,
    /// The version of NVRTC, which compiles kernels, if its library is there.
    pub nvrtc: Option<String>,
    /// Kernels that came compiled with the package: the NVRTC that made them and compute capabilities, or why the file can't be read. None where
    /// there is none.
    pub images: Option<String>,
    /// cuBLAS, which nothing depends on.
    pub cublas: Option<String>,
    /// The version of NCCL, which several GPUs exchange numbers by, if its library is there.
    pub nccl: Option<String>,
    /// GPUs that the driver lists.
    pub gpus: Vec<Gpu>,
    /// Why CUDA can't be used; none where it can.
    pub missing: Option<String>,
}

/// A GPU that the driver lists.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Gpu {
    /// Ordinal of the GPU for the driver.
    pub index: u32,
    /// Name of the GPU in the driver's words.
    pub name: String,
    /// Compute capability.
    pub architecture: (i32, i32),
    /// Bytes of its memory.
    pub bytes: u64,
}

/// Looks for all that the backend needs or can make use of. Never fails.
pub fn found() -> Found {
    let mut found = Found::default();
    found.missing = look(&mut found).err();
    found.images =
        images::opened().map(|opened| opened.map_or_else(|reason| format!("can't be read: {reason}"), images::Images::description));
    found.cublas = cublas();
    found.nccl = nccl_version().ok().map(String::from);
    found
}

fn look(found: &mut Found) -> Result<(), String> {
    // SAFETY: both only try to open a library.
    if !unsafe { sys::is_culib_present() } {
        return Err("no NVIDIA driver: the library libcuda.so.1 was not found; install the driver of your GPU".into());
    }
    let describe =
        |error: result::DriverError| error.error_string().map_or_else(|_| format!("{error:?}"), |text| text.to_string_lossy().into_owned());
    result::init().map_err(|error| format!("the NVIDIA driver could not be started: {}", describe(error)))?;
    let mut version = 0;
    // SAFETY: it writes one number.
    if unsafe { sys::cuDriverGetVersion(&mut version) } == sys::CUresult::CUDA_SUCCESS {
        found.driver = Some(format!("{}.{}", version / 1000, version % 1000 / 10));
    }
    let count = CudaContext::device_count().map_err(|error| format!("GPUs could not be counted: {}", describe(error)))?;
    for index in 0..count.max(0) as u32 {
        let device = result::device::get(index as i32).map_err(describe)?;
        use sys::CUdevice_attribute_enum as Attribute;
        // SAFETY: `device` was just given by the driver.
        let attribute = |of| unsafe { result::device::get_attribute(device, of) }.map_err(describe);
        let architecture = (
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        );
        let name = result::device::get_name(device).map_err(describe)?;
        // SAFETY: as above.
        let bytes = unsafe { result::device::total_mem(device) }.map_err(describe)? as u64;
        found.gpus.push(Gpu { index, name, architecture, bytes });
    }
    if found.gpus.is_empty() {
        return Err("the NVIDIA driver finds no GPU".into());
    }
    if !nvrtc::is_present() {
        return Err("no NVRTC, which compiles the kernels: the library libnvrtc was not found; install the CUDA toolkit, or put its folder into LD_LIBRARY_PATH".into());
    }
    let (version, supported) = (nvrtc::version(), nvrtc::supported());
    found.nvrtc = Some(format!("{}.{}", version.0, version.1));
    let reason = |gpu: &Gpu| Some(format!("GPU {}, {}, {}", gpu.index, gpu.name, uncompiled(gpu.architecture, &supported, version)?));
    let reasons: Option<Vec<String>> = found.gpus.iter().map(reason).collect();
    reasons.map_or(Ok(()), |reasons| Err(reasons.join("; ")))
}

/// The reason why an NVRTC that compiles for these architectures is of no use for a GPU, if it is none.
fn uncompiled(gpu: Architecture, supported: &[Architecture], version: nvrtc::Version) -> Option<String> {
    let (first, last) = (supported.first()?, supported.last()?);
    (!supported.contains(&gpu)).then(|| {
        format!(
            "has compute capability {}.{}, for which NVRTC {}.{} does not compile: that is for {}.{} to {}.{}; install {} CUDA toolkit, and put \
             its folder of libraries into LD_LIBRARY_PATH",
            gpu.0,
            gpu.1,
            version.0,
            version.1,
            first.0,
            first.1,
            last.0,
            last.1,
            if gpu < *first { "an older" } else { "a newer" },
        )
    })
}

fn cublas() -> Option<String> {
    use cudarc::cublas::sys::{cublasGetProperty, is_culib_present, libraryPropertyType};
    // SAFETY: the first only tries to open a library, and the others write one number each.
    unsafe {
        if !is_culib_present() {
            return None;
        }
        let (mut major, mut minor) = (0, 0);
        cublasGetProperty(libraryPropertyType::MAJOR_VERSION, &mut major);
        cublasGetProperty(libraryPropertyType::MINOR_VERSION, &mut minor);
        Some(format!("{major}.{minor}"))
    }
}

impl CudaDevice {
    /// The GPU with this index (0 is the driver's first).
    pub fn open(index: u32, precision: Precision) -> Result<Self, DeviceError> {
        Self::open_within(index, precision, |own| own)
    }

    /// The same, within limits that are made from its own: it may pretend to have less; more than it has, it never says.
    pub fn open_within(index: u32, precision: Precision, limits: impl FnOnce(Limits) -> Limits) -> Result<Self, DeviceError> {
        let mut found = Found::default();
        look(&mut found).map_err(DeviceError::NoCuda)?;
        let gpu = found.gpus.get(index as usize).ok_or_else(|| {
            DeviceError::NoCuda(format!("there is no GPU {index}: the driver finds {} (0 to {})", found.gpus.len(), found.gpus.len() - 1))
        })?;
        if gpu.architecture < OLDEST {
            let (major, minor) = gpu.architecture;
            return Err(DeviceError::NoCuda(format!(
                "GPU {index}, {}, has compute capability {major}.{minor}; {}.{} or newer is needed",
                gpu.name, OLDEST.0, OLDEST.1
            )));
        }
        if let Some(reason) = uncompiled(gpu.architecture, &nvrtc::supported(), nvrtc::version()) {
            return Err(DeviceError::NoCuda(format!("GPU {index}, {}, {reason}", gpu.name)));
        }
        let refused = |error| DeviceError::NoCuda(format!("GPU {index}, {}: {}", gpu.name, super::failed(error)));
        let context = CudaContext::new(index as usize).map_err(refused)?;
        if !context.has_async_alloc() {
            return Err(DeviceError::NoCuda(format!(
                "GPU {index}, {}: its driver has no memory pools; a newer driver is needed",
                gpu.name
            )));
        }
        // There are no slices of cudarc's to track. Else the first stream of a context would wait for all that is in it, which ends
        // captures of other devices.
        // SAFETY: as was just said.
        unsafe { context.disable_event_tracking() };
        let _apart = graphs::between_captures();
        let stream = context.new_stream().map_err(refused)?;
        // What is freed stays in the pool: problems are made again and again.
        // SAFETY: the pool belongs to the device, and the attribute's value is 64 bits wide; nothing uses the memory.
        unsafe {
            let pool = result::device::get_mem_pool(context.cu_device()).map_err(refused)?;
            let mut keep = u64::MAX;
            let attribute = sys::CUmemPool_attribute_enum::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
            sys::cuMemPoolSetAttribute(pool, attribute, (&raw mut keep).cast()).result().map_err(refused)?;
            // A pool's first memory takes the driver some 9 ms, which no solve shall wait for. Nothing depends on it.
            if let Ok(first) = result::malloc_async(stream.cu_stream(), FIRST) {
                let _ = result::free_async(first, stream.cu_stream());
            }
        }
        // An element's number is 32 bits wide.
        let largest = (u64::from(u32::MAX) * precision.bytes()).min(gpu.bytes);
        let own = Limits {
            binding_bytes: largest,
            buffer_bytes: largest,
            memory_bytes: u64::MAX,
            group_size: GROUP_SIZE,
            groups_per_dimension: 65_535,
            offset_alignment: 64,
            elements_per_lane: 1,
        };
        let limits = own.narrowed(limits(own));
        let shared = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
        let shared_bytes = context.attribute(shared).map_err(refused)?.max(0) as u32;
        Ok(Self {
            name: gpu.name.clone(),
            kernels: Kernels::new(precision, limits.group_size, gpu.architecture, shared_bytes).map_err(refused)?,
            shared_bytes,
            landing: landing::Landing::new(&context).map_err(refused)?,
            glances: glances::Glances::default(),
            staging: staging::Staging::new(&context).map_err(refused)?,
            fences: waits::Fences::new(&context).map_err(refused)?,
            context,
            stream,
            precision,
            limits,
            buffers: HashMap::new(),
            next_buffer: 0,
            graphs: graphs::Graphs::default(),
            paces: Default::default(),
            counters: Counters::default(),
            products: None,
            ranks: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::uncompiled;

    #[test]
    fn gpus_that_nvrtc_does_not_know_are_refused_with_what_to_install() {
        let known = [(7, 5), (8, 0), (9, 0), (12, 1)];
        let said = |gpu| uncompiled(gpu, &known, (13, 0)).unwrap_or_default();
        assert_eq!(said((9, 0)), "");
        assert!(
            said((6, 1)).contains("6.1, for which NVRTC 13.0 does not compile: that is for 7.5 to 12.1; install an older CUDA toolkit")
        );
        assert!(said((13, 0)).contains("install a newer CUDA toolkit"));
        assert_eq!(uncompiled((9, 0), &[], (11, 0)), None, "it can't say");
    }
}
