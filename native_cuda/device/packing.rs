//! Packing of images: every static kernel, compiled for each generation of GPUs, where the package is built. No GPU is needed for it.

use super::compile::{Text, jobs_of, text_of};
use super::images::{self, Architecture, Asked, Entry, Image, Images, Key, Manner};
use super::open::GROUP_SIZE;
use super::{nvrtc, tensor};
use leastwise_kernels::StaticKernel;
use leastwise_recording::{KernelSource, Precision};
use rayon::prelude::*;
use std::collections::HashMap;
use std::path::Path;

/// The first of each generation that NVRTC 12.9 and 13.0 both know: Turing, Ampere, Hopper, and the two of Blackwell. Later GPUs of the same
/// major number run its code.
const ARCHITECTURES: [Architecture; 5] = [(7, 5), (8, 0), (9, 0), (10, 0), (12, 0)];

/// The version of NVRTC that makes images: of CUDA 12, whose code drivers of CUDA 12 and 13 take, and new enough for [`ARCHITECTURES`].
const MAKER: nvrtc::Version = (12, 9);

/// Compiles all static kernels and writes them to a file; gives how many images it has. What this version of NVRTC made before of the same
/// texts is taken from the file that is there.
///
/// # Errors
/// Messages of NVRTC, another version of it than images are made by, and a file that can't be written.
pub fn pack_images(to: &Path) -> Result<usize, String> {
    if !nvrtc::is_present() {
        return Err("no NVRTC: the library libnvrtc was not found; put its folder into LD_LIBRARY_PATH".into());
    }
    let version = nvrtc::version();
    if version != MAKER {
        return Err(format!(
            "this is NVRTC {}.{}, and images are made by {}.{}: put the folder of that libnvrtc.so first in LD_LIBRARY_PATH",
            version.0, version.1, MAKER.0, MAKER.1
        ));
    }
    let before = Images::open(to).ok();
    let mut asked = Vec::new();
    for architecture in ARCHITECTURES {
        asked.extend(texts_for(architecture)?.into_iter().map(|(asked, text)| (architecture, asked, text)));
    }
    let texts: HashMap<(Architecture, Key), (&str, Manner)> =
        asked.iter().map(|(architecture, _, text)| ((*architecture, key(text)), (&text.text[..], text.manner))).collect();
    let made: HashMap<(Architecture, Key), Vec<u8>> = texts
        .into_par_iter()
        .map(|((architecture, key), (text, manner))| {
            let known = before.as_ref().and_then(|before| before.made(version, architecture, key));
            let code = known.map_or_else(|| nvrtc::compiled(text, &nvrtc::options(architecture, manner, version)), Ok)?;
            Ok(((architecture, key), code))
        })
        .collect::<Result<_, String>>()?;
    let entry = |(architecture, asked, text): (Architecture, Asked, Text)| {
        let key = key(&text);
        let Text { entry, parameters, .. } = text;
        Entry { architecture, asked, text: key, image: Image { entry, parameters, code: made[&(architecture, key)].clone() } }
    };
    let entries: Vec<Entry> = asked.into_iter().map(entry).collect();
    let mut bytes = Vec::new();
    let written = images::write(&mut bytes, version, &entries).and_then(|()| std::fs::write(to, &bytes));
    written.map_err(|error| format!("{}: {error}", to.display()))?;
    Ok(entries.len())
}

fn key(text: &Text) -> Key {
    images::key(&text.text, text.manner)
}

/// The texts of all static kernels, in each precision, as a GPU of this architecture asks for them.
fn texts_for(architecture: Architecture) -> Result<Vec<(Asked, Text)>, String> {
    let mut texts = Vec::new();
    for kernel in StaticKernel::ALL {
        let source = KernelSource::of_static(*kernel);
        let own = source.texts().map_err(|error| error.to_string())?;
        for precision in [Precision::F32, Precision::F64] {
            let variants = tensor::variants(&source.name, precision, GROUP_SIZE, architecture);
            for job in jobs_of(&source, &own, &variants) {
                let text = text_of(&job, precision, GROUP_SIZE).map_err(|error| format!("{}: {error}", source.name))?;
                let asked = job.asked(precision, GROUP_SIZE).ok_or("a static kernel is not taken for one")?;
                texts.push((asked, text));
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
        assert_eq!(ampere.iter().filter(|(_, text)| text.manner.specific).count(), 0);
        assert_eq!(hopper.iter().filter(|(_, text)| text.manner.specific).count(), 1);
        assert_eq!(texts_for((7, 5)).expect("all are written").len(), 2 * StaticKernel::ALL.len());
        let asked: HashSet<_> = hopper.iter().map(|(asked, _)| *asked).collect();
        assert_eq!(asked.len(), hopper.len(), "each is asked for by a name of its own");
        let different: HashSet<_> = hopper.iter().map(|(_, text)| key(text)).collect();
        // Kernels of words alone are the same in each precision.
        assert!(different.len() > StaticKernel::ALL.len() * 3 / 2, "{} of {}", different.len(), hopper.len());
    }
}
