//! Clusterings on the CPU and on WebGPU.
//!
//! `VK_ICD_FILENAMES=/usr/lib/chromium/vk_swiftshader_icd.json XDG_RUNTIME_DIR=/tmp cargo test --test clusters`

mod corners;
mod methods;
mod published;
mod start;
mod support;
