//! The digest of all sources that decide what static kernels are compiled of: images of other sources are left aside.

use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

/// Sources below the repository's root. `Cargo.lock` has the version of naga.
const SOURCES: [&str; 6] = ["Cargo.lock", "native_cuda/device", "native_cuda/writer/src", "shaders", "src/kernels", "src/recording"];

/// Endings of sources.
const ENDINGS: [&str; 6] = ["cu", "cuh", "lock", "rs", "toml", "wgsl"];

fn main() {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../..");
    let mut digest = Sha256::new();
    for name in SOURCES {
        assert!(root.join(name).exists(), "{name} is not there: SOURCES names what kernels are made of");
        println!("cargo::rerun-if-changed={}", root.join(name).display());
        add(&root, name, &mut digest);
    }
    println!("cargo::rustc-env=LEASTWISE_KERNEL_SOURCES={:x}", digest.finalize());
}

/// Adds the paths and contents of all sources, in the order of their paths; what editors leave beside them is none.
fn add(root: &Path, name: &str, digest: &mut Sha256) {
    let path = root.join(name);
    if path.is_dir() {
        let entries = fs::read_dir(path).expect("a folder of sources").map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = entries.filter_map(|name| name.into_string().ok()).filter(|name| !name.starts_with('.')).collect();
        names.sort();
        names.iter().for_each(|entry| add(root, &format!("{name}/{entry}"), digest));
    } else if path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known)) {
        let contents = fs::read(path).expect("a source that can be read");
        digest.update(format!("{name}\0{}\0", contents.len()));
        digest.update(contents);
    }
}
