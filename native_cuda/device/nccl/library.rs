//! NCCL's functions, from a library that is loaded when the first communicator is made.
//!
//! cudarc's bindings look for `libnccl.so`; NVIDIA's packages for running programs have `libnccl.so.2` alone.

use cudarc::driver::sys;
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// Names of the library, in the order in which they are tried.
const NAMES: [&str; 2] = ["libnccl.so.2", "libnccl.so"];

/// The oldest version whose communicators have all that is used here, as NCCL writes it: 2.18.
const OLDEST: c_int = 21_800;

/// An integer that is left to NCCL (`NCCL_CONFIG_UNDEF_INT`).
const OPEN: c_int = c_int::MIN;

/// A communicator of NCCL's.
pub type Handle = *mut c_void;

/// Bytes that the ranks of a group have in common.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct UniqueId(pub [u8; 128]);

/// `ncclConfig_t` of version 2.18, with the field of 2.26 that lies where its padding was.
#[repr(C)]
pub struct Config {
    size: usize,
    magic: c_uint,
    version: c_uint,
    blocking: c_int,
    cga_cluster_size: c_int,
    min_ctas: c_int,
    max_ctas: c_int,
    net_name: *const c_char,
    split_share: c_int,
    traffic_class: c_int,
}

impl Config {
    /// A communicator whose calls come back at once, or one whose calls do what they are to do before.
    pub fn new(is_blocking: bool) -> Self {
        Self {
            size: size_of::<Self>(),
            magic: 0xcafe_beef,
            version: OLDEST as c_uint,
            blocking: c_int::from(is_blocking),
            cga_cluster_size: OPEN,
            min_ctas: OPEN,
            max_ctas: OPEN,
            net_name: std::ptr::null(),
            split_share: OPEN,
            traffic_class: OPEN,
        }
    }
}

/// `ncclResult_t`.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status(pub c_int);

impl Status {
    pub const SUCCESS: Self = Self(0);
    pub const UNHANDLED_CUDA_ERROR: Self = Self(1);
    pub const IN_PROGRESS: Self = Self(7);
}

/// `ncclUint8`: messages are copied, so their type does not matter.
pub const BYTES: c_int = 1;

/// The functions that are used.
pub struct Nccl {
    pub get_unique_id: unsafe extern "C" fn(*mut UniqueId) -> Status,
    pub init: unsafe extern "C" fn(*mut Handle, c_int, UniqueId, c_int, *mut Config) -> Status,
    pub all_gather: unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_int, Handle, sys::CUstream) -> Status,
    pub async_error: unsafe extern "C" fn(Handle, *mut Status) -> Status,
    pub finalize: unsafe extern "C" fn(Handle) -> Status,
    pub destroy: unsafe extern "C" fn(Handle) -> Status,
    pub abort: unsafe extern "C" fn(Handle) -> Status,
    error_string: unsafe extern "C" fn(Status) -> *const c_char,
    last_error: unsafe extern "C" fn(Handle) -> *const c_char,
    /// Version, say `2.27.3`.
    pub version: String,
    /// Keeps the functions where they are.
    _library: Library,
}

/// NCCL, or why it can't be used.
pub fn nccl() -> Result<&'static Nccl, String> {
    static LOADED: OnceLock<Result<Nccl, String>> = OnceLock::new();
    LOADED.get_or_init(Nccl::load).as_ref().map_err(Clone::clone)
}

/// NCCL's setting of memory that the driver maps for all ranks, which is left out unless it is asked for: where a communicator ended, the
/// driver's `cuMemUnmap` of it freed a block of the heap twice in five of twelve runs of the tests (NCCL 2.28, driver 580).
const MAPPED: &str = "NCCL_CUMEM_ENABLE";

impl Nccl {
    fn load() -> Result<Self, String> {
        if std::env::var_os(MAPPED).is_none() {
            // SAFETY: nothing is known that reads the environment while engines are opened, besides NCCL.
            unsafe { std::env::set_var(MAPPED, "0") };
        }
        // SAFETY: NCCL's initialisers only prepare the library itself.
        let library = NAMES.iter().find_map(|name| unsafe { Library::new(*name) }.ok()).ok_or_else(|| {
            format!(
                "no NCCL, which GPUs exchange numbers by: the library {} was not found; install NCCL 2, or put its folder into LD_LIBRARY_PATH",
                NAMES[0]
            )
        })?;
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the type of the field is that of the function in nccl.h.
                *unsafe { library.get($name.to_bytes()) }
                    .map_err(|_| format!("NCCL has no function {}: version 2.18 or newer is needed", $name.to_string_lossy()))?
            };
        }
        let get_version: unsafe extern "C" fn(*mut c_int) -> Status = function!(c"ncclGetVersion");
        let mut version = 0;
        // SAFETY: it writes one number.
        unsafe { get_version(&mut version) };
        let name = format!("{}.{}.{}", version / 10_000, version / 100 % 100, version % 100);
        if version < OLDEST {
            return Err(format!("NCCL {name} was found: version 2.18 or newer is needed"));
        }
        Ok(Self {
            get_unique_id: function!(c"ncclGetUniqueId"),
            init: function!(c"ncclCommInitRankConfig"),
            all_gather: function!(c"ncclAllGather"),
            async_error: function!(c"ncclCommGetAsyncError"),
            finalize: function!(c"ncclCommFinalize"),
            destroy: function!(c"ncclCommDestroy"),
            abort: function!(c"ncclCommAbort"),
            error_string: function!(c"ncclGetErrorString"),
            last_error: function!(c"ncclGetLastError"),
            version: name,
            _library: library,
        })
    }

    /// A status in NCCL's words, with what it says of the last error.
    pub fn describe(&self, status: Status, comm: Handle) -> String {
        // SAFETY: both give strings that end with NUL, of which the second may be none.
        let text = |words: *const c_char| {
            if words.is_null() { String::new() } else { unsafe { CStr::from_ptr(words) }.to_string_lossy().trim().to_string() }
        };
        // SAFETY: as above; NCCL takes no communicator here as well as one that is alive.
        let [what, last] = unsafe { [(self.error_string)(status), (self.last_error)(comm)] }.map(text);
        if last.is_empty() { what } else { format!("{what} ({last})") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Offsets are those of nccl.h, on which all versions from 2.18 on agree.
    #[test]
    fn the_configuration_is_laid_out_as_in_c() {
        use std::mem::offset_of;
        let found = [offset_of!(Config, magic), offset_of!(Config, blocking), offset_of!(Config, max_ctas), offset_of!(Config, net_name)];
        assert_eq!(found, [8, 16, 28, 32]);
        assert_eq!((offset_of!(Config, split_share), offset_of!(Config, traffic_class), size_of::<Config>()), (40, 44, 48));
        assert_eq!((size_of::<UniqueId>(), align_of::<UniqueId>()), (128, 1));
    }
}
