//! Runs what the writer emits: compiled for the CPU behind `host/cuda.h`.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;
use wgsl_cuda::{Kernel, Options, Parameter, translate};

pub fn written(wgsl: &str, options: Options) -> Kernel {
    translate(wgsl, "main", options).unwrap_or_else(|error| panic!("{error}\n{wgsl}"))
}

/// Plays a kernel over workgroups with these buffers, in the order of their bindings, and gives them back. A uniform buffer is
/// a buffer like the others here.
pub fn play(name: &str, kernel: &Kernel, groups: [u32; 3], buffers: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let file = |ending: &str| folder.join(format!("{name}{ending}"));
    let header = include_str!("../host/cuda.h").replace("#pragma once\n", "");
    let mut text = format!("{header}\n#include <cstdio>\n{}\nint main(int, char** files) {{\n", kernel.text());
    let _ = writeln!(text, "    FILE* input = fopen(files[1], \"rb\");");
    for (number, buffer) in buffers.iter().enumerate() {
        let _ = writeln!(text, "    alignas(32) static uint32_t b{number}[{}];", buffer.len().max(1));
        let _ = writeln!(text, "    if (fread(b{number}, 4, {0}, input) != {0}) return 1;", buffer.len());
    }
    let arguments: Vec<String> = (kernel.parameters.iter().zip(buffers).enumerate())
        .map(|(number, (parameter, buffer))| match parameter {
            Parameter::Uniform { .. } => format!("*reinterpret_cast<decltype(first_argument(kernel_main))*>(b{number})"),
            Parameter::Storage { element_bytes, .. } => format!("Bytes{{b{number}}}, {}u", buffer.len() as u32 * 4 / element_bytes),
        })
        .collect();
    let [x, y, z] = groups;
    let threads: u32 = kernel.workgroup_size.iter().product();
    let _ = writeln!(text, "    launch({{{x}, {y}, {z}}}, {threads}, [] {{ {}({}); }});", kernel.name, arguments.join(", "));
    let _ = writeln!(text, "    FILE* output = fopen(files[2], \"wb\");");
    for (number, buffer) in buffers.iter().enumerate() {
        let _ = writeln!(text, "    fwrite(b{number}, 4, {}, output);", buffer.len());
    }
    text.push_str("    fclose(output);\n    return 0;\n}\n");
    let helpers = "struct Bytes { void* at; template <class T> operator T*() const { return static_cast<T*>(at); } };\n\
        template <class R, class A, class... B> A first_argument(R (*)(A, B...));\n\
        template <class A> struct Plain { using Type = A; };\n";
    let text = text.replacen("int main(", &format!("{helpers}int main("), 1);
    std::fs::write(file(".cpp"), text).expect("a program is written");
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "g++".into());
    let compiled = Command::new(&compiler)
        .args(["-std=c++20", "-O1", "-ffp-contract=off", "-pthread", "-o"])
        .args([file(""), file(".cpp")])
        .output()
        .unwrap_or_else(|error| panic!("these tests need a C++ compiler ({compiler}; set CXX for another): {error}"));
    assert!(compiled.status.success(), "{name}: {}", String::from_utf8_lossy(&compiled.stderr));
    let input: Vec<u8> = buffers.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
    std::fs::write(file(".in"), input).expect("input is written");
    let ran = Command::new(file("")).args([file(".in"), file(".out")]).status().expect("the program runs");
    assert!(ran.success(), "{name}: {ran}");
    let output = std::fs::read(file(".out")).expect("output is there");
    let mut words = output.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
    buffers.iter().map(|buffer| words.by_ref().take(buffer.len()).collect()).collect()
}
