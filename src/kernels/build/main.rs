//! Reads `shaders/` and writes what the crate includes: shared declarations, kernels, and types of their arguments and bindings.

mod double;
mod doubles;
mod generate;
mod kernel;
mod library;
#[path = "../operations.rs"]
mod operations;
mod text;

use std::path::{Path, PathBuf};
use text::File;

/// Folders whose files are no kernels, at any depth.
const SHARED: [&str; 4] = ["shared", "functions", "state", "f64"];
/// Folders that are read otherwise.
const ELSEWHERE: [&str; 2] = ["cuda", "double"];

fn main() {
    let shaders = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../../shaders");
    println!("cargo::rerun-if-changed={}", shaders.display());
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=operations.rs");
    let mut paths = Vec::new();
    find(&shaders, &shaders, &mut paths);
    paths.sort();
    let files = paths.into_iter().map(|path| File::read(&shaders, path));
    let (shared, kernels): (Vec<File>, Vec<File>) = files.partition(|file| file.path.split('/').any(|part| SHARED.contains(&part)));
    let library = library::Library::new(&shared);
    let states: Vec<&File> = shared.iter().filter(|file| file.path.starts_with("state/")).collect();
    let kernels: Vec<_> = kernels.iter().map(|file| kernel::Kernel::new(file, &library)).collect();
    let doubles = doubles::Doubles::new(|path| File::read(&shaders, path.into()), &library, &kernels);
    let out = PathBuf::from(std::env::var("OUT_DIR").expect("cargo sets it"));
    std::fs::write(out.join("kernels.rs"), generate::code(&library, &states, &kernels)).expect("a folder to write to");
    std::fs::write(out.join("doubles.rs"), doubles.code()).expect("a folder to write to");
}

/// The paths of all shaders, below the root and without endings.
fn find(root: &Path, folder: &Path, paths: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder of shaders").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            if !ELSEWHERE.iter().any(|name| entry.ends_with(name)) {
                find(root, &entry, paths);
            }
        } else if entry.extension().is_some_and(|ending| ending == "wgsl") {
            let path = entry.with_extension("");
            let parts = path.strip_prefix(root).expect("below the root").iter().map(|part| part.to_str().expect("a plain name"));
            paths.push(parts.collect::<Vec<_>>().join("/"));
        }
    }
}
