//! NVRTC: CUDA C++ to machine code.

use super::images::{Architecture, Manner};
use cudarc::nvrtc::{result, sys};
use std::ffi::{CStr, CString};

/// Major and minor number.
pub(super) type Version = (i32, i32);

/// True if the library is there.
pub(super) fn is_present() -> bool {
    // SAFETY: it only tries to open a library.
    unsafe { sys::is_culib_present() }
}

/// The library's version; it must be there.
pub(super) fn version() -> Version {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: it writes two numbers.
    unsafe { sys::nvrtcVersion(&mut major, &mut minor) };
    (major, minor)
}

/// The architectures that the library compiles for, in ascending order; none where it can't say, as before 11.2.
pub(super) fn supported() -> Vec<Architecture> {
    if version() < (11, 2) {
        return Vec::new();
    }
    let mut count = 0;
    // SAFETY: the first writes one number, the second as many as the first said.
    let numbers = unsafe {
        if sys::nvrtcGetNumSupportedArchs(&mut count) != sys::nvrtcResult::NVRTC_SUCCESS {
            return Vec::new();
        }
        let mut numbers = vec![0; count.max(0) as usize];
        if sys::nvrtcGetSupportedArchs(numbers.as_mut_ptr()) != sys::nvrtcResult::NVRTC_SUCCESS {
            return Vec::new();
        }
        numbers
    };
    numbers.into_iter().map(|number| (number / 10, number % 10)).collect()
}

/// Options for code of an architecture. Code that is specific to one runs on no later one. In exact code no product and sum become one
/// operation, as they do by default: that is what a text asks for by its function `opaque`. Declarations of textures and of CUDA's
/// runtime, which no kernel names, take a third of the time of reading a small text: they are left out where NVRTC can, from 12.4 on.
pub(super) fn options((major, minor): Architecture, manner: Manner, version: Version) -> Vec<String> {
    let suffix = if manner.specific { "a" } else { "" };
    let mut options = vec![format!("--gpu-architecture=sm_{major}{minor}{suffix}"), "--std=c++20".into(), "--diag-suppress=177".into()];
    options.extend(manner.exact.then(|| "--fmad=false".into()));
    options.extend((version >= (12, 4)).then(|| "--minimal".into()));
    options
}

/// The first architecture for which parameters may be said to stay where the driver puts them.
const VOLTA: Architecture = (7, 0);

/// A text as NVRTC takes it for an architecture: for older ones it refuses to be told that parameters stay where they are.
pub(super) fn text_for(architecture: Architecture, text: String) -> String {
    if architecture < VOLTA { text.replace("__grid_constant__ ", "") } else { text }
}

/// Machine code for one architecture.
pub(super) fn compiled(source: &str, options: &[String]) -> Result<Vec<u8>, String> {
    let text = CString::new(source).map_err(|_| "the text has a NUL".to_string())?;
    let program = result::create_program(&text, Some(c"kernel.cu")).map_err(|error| format!("NVRTC: {error:?}"))?;
    // SAFETY: the program was just made; it is destroyed once, at the end.
    unsafe {
        let outcome = result::compile_program(program, options);
        let made = match outcome {
            Ok(()) => image(program),
            Err(error) => {
                let log = result::get_program_log(program)
                    .map_or_else(|_| String::new(), |log| CStr::from_ptr(log.as_ptr()).to_string_lossy().into_owned());
                Err(format!("NVRTC: {error:?}\n{}", log.trim()))
            }
        };
        let _ = result::destroy_program(program);
        made
    }
}

/// SAFETY: `program` was compiled for a real architecture.
unsafe fn image(program: sys::nvrtcProgram) -> Result<Vec<u8>, String> {
    let mut size = 0;
    // SAFETY: the buffer is as long as NVRTC says.
    unsafe {
        sys::nvrtcGetCUBINSize(program, &mut size).result().map_err(|error| format!("NVRTC: {error:?}"))?;
        let mut image = vec![0u8; size];
        sys::nvrtcGetCUBIN(program, image.as_mut_ptr().cast()).result().map_err(|error| format!("NVRTC: {error:?}"))?;
        Ok(image)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minimal_is_asked_of_versions_that_have_it() {
        let versions = [(12, 3), (12, 4), (12, 9), (13, 0), (11, 8), (0, 0)];
        let having = versions.map(|version| options((9, 0), Manner::default(), version).contains(&"--minimal".to_string()));
        assert_eq!(having, [false, true, true, true, false, false]);
    }

    #[test]
    fn texts_for_older_gpus_say_nothing_that_these_lack() {
        let text = "void kernel(const __grid_constant__ Params params)";
        assert_eq!(text_for((6, 1), text.into()), "void kernel(const Params params)");
        assert_eq!(text_for((7, 0), text.into()), text);
    }

    #[test]
    fn options_say_architecture_and_manner() {
        let plain = options((9, 0), Manner::default(), (12, 0));
        assert_eq!(plain, ["--gpu-architecture=sm_90", "--std=c++20", "--diag-suppress=177"]);
        let both = options((10, 0), Manner { specific: true, exact: true }, (12, 0));
        assert_eq!((&both[0][..], &both[3][..]), ("--gpu-architecture=sm_100a", "--fmad=false"));
    }
}
