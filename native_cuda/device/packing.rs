//! Packing of images: every static kernel, compiled for each generation of GPUs, where the package is built. No GPU is needed for it.

use super::compile::{jobs_of, text_of};
use super::images::{self, Architecture, Images, Key, Manner};
use super::{nvrtc, tensor};
use leastwise_kernels::StaticKernel;
use leastwise_recording::{KernelSource, Precision};
use rayon::prelude::*;
use std::collections::HashMap;
use std::path::Path;

/// The first of each generation that NVRTC 12.9 and 13.0 both know: Turing, Ampere, Hopper, and the two of Blackwell. Later GPUs of the same
/// major number run its code.
const ARCHITECTURES: [Architecture; 5] = [(7, 5), (8, 0), (9, 0), (10, 0), (12, 0)];

/// Threads of a workgroup, unless a device is told to have fewer.
const GROUP_SIZE: u32 = 256;

/// Compiles all static kernels and writes them to a file; gives how many images it has. What this version of NVRTC made before of the same
/// texts is taken from the file that is there.
///
/// # Errors
/// What NVRTC says, and why a file can't be written.
pub fn pack_images(to: &Path) -> Result<usize, String> {
    if !nvrtc::is_present() {
        return Err("no NVRTC: the library libnvrtc was not found; put its folder into LD_LIBRARY_PATH".into());
    }
    let version = nvrtc::version();
    let before = Images::open(to).ok();
    let mut texts = HashMap::new();
    for architecture in ARCHITECTURES {
        for (text, manner) in texts_for(architecture)? {
            texts.insert((architecture, images::key(&text, manner)), (text, manner));
        }
    }
    let mut made: Vec<(Architecture, Key, Vec<u8>)> = texts
        .into_par_iter()
        .map(|((architecture, key), (text, manner))| {
            let known = before.as_ref().and_then(|before| before.made(version, architecture, key));
            let image = known.map_or_else(|| nvrtc::compiled(&text, &nvrtc::options(architecture, manner, version)), Ok)?;
            Ok((architecture, key, image))
        })
        .collect::<Result<_, String>>()?;
    made.sort_unstable_by_key(|(architecture, key, _)| (*architecture, *key));
    let mut bytes = Vec::new();
    let written = images::write(&mut bytes, version, &made).and_then(|()| std::fs::write(to, &bytes));
    written.map_err(|error| format!("{}: {error}", to.display()))?;
    Ok(made.len())
}

/// The texts of all static kernels, in each precision, as a GPU of this architecture asks for them.
fn texts_for(architecture: Architecture) -> Result<Vec<(String, Manner)>, String> {
    let mut texts = Vec::new();
    for kernel in StaticKernel::ALL {
        let source = KernelSource::of_static(*kernel);
        let own = source.texts().map_err(|error| error.to_string())?;
        for precision in [Precision::F32, Precision::F64] {
            let variants = tensor::variants(&source.name, precision, GROUP_SIZE, architecture);
            for job in jobs_of(&source, &own, &variants) {
                let text = text_of(&job, precision, GROUP_SIZE).map_err(|error| format!("{}: {error}", source.name))?;
                texts.push((text.text, text.manner));
            }
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_static_kernel_is_packed_in_both_precisions() {
        let ampere = texts_for((8, 0)).expect("all are written");
        let hopper = texts_for((9, 0)).expect("all are written");
        // `assign` in f32 has two that stand in for it; what they are, the architecture says.
        assert_eq!((ampere.len(), hopper.len()), (2 * StaticKernel::ALL.len() + 2, ampere.len()));
        assert_eq!(ampere.iter().filter(|(_, manner)| manner.specific).count(), 0);
        assert_eq!(hopper.iter().filter(|(_, manner)| manner.specific).count(), 1);
        assert_eq!(texts_for((7, 5)).expect("all are written").len(), 2 * StaticKernel::ALL.len());
        let different: HashSet<_> = hopper.iter().map(|(text, manner)| images::key(text, *manner)).collect();
        // Kernels of words alone are the same in each precision.
        assert!(different.len() > StaticKernel::ALL.len() * 3 / 2, "{} of {}", different.len(), hopper.len());
    }
}
