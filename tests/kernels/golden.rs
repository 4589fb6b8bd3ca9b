//! Whole texts, reviewed like code. `LEASTWISE_BLESS=1 cargo test --test kernels golden` writes them anew.

use super::build::{cross_product, rescale, spring};
use leastwise::program::{Program, wgsl};
use std::path::Path;

fn compare(name: &str, program: &Program) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let text = wgsl::write(program);
    if std::env::var_os("LEASTWISE_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(golden == text, "tests/golden/{name} differs; run with LEASTWISE_BLESS=1 and review. It is now:\n{text}");
}

#[test]
fn golden_spring() {
    compare("spring.wgsl", &spring());
}

#[test]
fn golden_cross_product() {
    compare("cross_product.wgsl", &cross_product());
}

#[test]
fn golden_rescale() {
    compare("rescale.wgsl", &rescale());
}
