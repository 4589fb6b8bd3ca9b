//! Texts in double-floats: static kernels, the self-check, and the functions that programs call.
//!
//! The build script makes them of `shaders/` (`build/double/`). They hold [operations](crate::operations), which
//! [`module`] writes out in the way in which the device multiplies.

use crate::arithmetic::written_out;
use crate::link::{Text, needed};
use crate::{Access, KernelText, Products, StaticKernel, binding};
use std::hint::black_box;

include!(concat!(env!("OUT_DIR"), "/doubles.rs"));

/// The text of a static kernel, if it has one.
pub fn text_of(kernel: StaticKernel) -> Option<KernelText> {
    // By an address that no optimiser sees through: the table belongs to a part of the module.
    black_box(in_table as fn(StaticKernel) -> Option<KernelText>)(kernel)
}

#[inline(never)]
fn in_table(kernel: StaticKernel) -> Option<KernelText> {
    let Text { text, uses } = KERNELS[kernel as usize]?;
    Some(KernelText { is_double: true, ..KernelText::linked(text, kernel.access(), uses) })
}

/// The text of the self-check: reads binding 4 and writes binding 5.
#[inline(never)]
pub fn check() -> KernelText {
    let mut access = [Access::Unused; binding::COUNT];
    (access[binding::VECTOR_IN], access[binding::VECTOR_OUT]) = (Access::Read, Access::ReadWrite);
    KernelText { is_double: true, ..KernelText::linked(CHECK.text, access, CHECK.uses) }
}

/// A text that was written in double-floats, and the functions that it calls. Other names than the library's are its own.
#[inline(never)]
pub fn generated<'a>(wgsl: &str, access: [Access; binding::COUNT], called: impl Iterator<Item = &'a str>) -> KernelText {
    let number = |name: &str| LIBRARY.iter().position(|known| *known == name);
    let roots: Vec<u16> = called.filter_map(number).map(|number| number as u16).collect();
    KernelText { is_double: true, ..KernelText::linked(wgsl, access, &roots) }
}

/// The whole module of a text in double-floats.
#[inline(never)]
pub fn module(text: &KernelText, products: Products, group_size: u32) -> String {
    format!("{}\n{}", head(group_size), body(text, products))
}

/// What stands before every text: what a real is, the invocations of a workgroup, and the prelude.
#[inline(never)]
pub fn head(group_size: u32) -> String {
    format!("alias real = vec2<f32>;\nconst group_size: u32 = {group_size}u;\n{PRELUDE}")
}

/// The text and the declarations that it needs, without the prelude.
pub fn body(text: &KernelText, products: Products) -> String {
    let declaration = |number: u16| DECLARATIONS.get(usize::from(number));
    let shared = needed(&text.roots, declaration).filter_map(declaration).map(|declaration| declaration.text);
    let texts: Vec<&str> = shared.chain([&*text.wgsl]).collect();
    written_out(&texts.join("\n"), products)
}
