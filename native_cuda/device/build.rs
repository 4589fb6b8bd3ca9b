//! The digest of all sources that decide what static kernels are compiled of: images of other sources are left aside.

use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

/// Sources below the repository's root. `Cargo.lock` has the version of naga.
const SOURCES: [&str; 6] = ["Cargo.lock", "native_cuda/device", "native_cuda/writer/src", "shaders", "src/kernels", "src/recording"];

fn main() {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../..");
    let mut digest = Sha256::new();
    for name in SOURCES {
        let path = root.join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        add(&path, &mut digest);
    }
    println!("cargo::rustc-env=LEASTWISE_KERNEL_SOURCES={:x}", digest.finalize());
}

/// Adds the names and contents of all files, in the order of their names.
fn add(path: &Path, digest: &mut Sha256) {
    if path.is_dir() {
        let entries = fs::read_dir(path).expect("a folder of sources").map(|entry| entry.expect("an entry").path());
        let mut paths: Vec<PathBuf> = entries.collect();
        paths.sort();
        paths.iter().for_each(|path| add(path, digest));
        return;
    }
    let name = path.file_name().expect("a file has a name").to_string_lossy();
    let contents = fs::read(path).expect("a source that can be read");
    digest.update(format!("{name}\0{}\0", contents.len()));
    digest.update(contents);
}
