//! Every static kernel's whole module, read and validated by naga: as the f32 that WebGPU has and as the f64 of CUDA.
//!
//! Naga and Dawn accept different things (barriers behind a branch, for one), so the same texts also go to Dawn: this
//! test writes them to `target/wgsl/`, and the package's tests in Node compile them.

use leastwise::device::{Access, KernelSource, binding};
use leastwise::kernels::{Products, Real, StaticKernel, doubles};
use naga::proc::Layouter;
use naga::valid::{Capabilities, GlobalUse, ModuleInfo, ValidationFlags, Validator};
use naga::{AddressSpace, Module, Scalar, StorageAccess, TypeInner};

/// The module as WebGPU makes it.
fn module(source: &KernelSource, group_size: u32) -> String {
    source.texts().unwrap()[0].module(Real::F32, group_size)
}

fn validated(name: &str, text: &str, capabilities: Capabilities) -> (Module, ModuleInfo) {
    let module = naga::front::wgsl::parse_str(text).unwrap_or_else(|error| panic!("`{name}`: {}", error.emit_to_string(text)));
    let info = Validator::new(ValidationFlags::all(), capabilities).validate(&module);
    let info = info.unwrap_or_else(|error| panic!("`{name}`: {}", error.emit_to_string(text)));
    (module, info)
}

/// Without comments.
fn code(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n")
}

fn every_source() -> impl Iterator<Item = KernelSource> {
    StaticKernel::ALL.iter().map(|kernel| KernelSource::of_static(*kernel))
}

/// The module where reals are double-floats.
fn module_double(source: &KernelSource, group_size: u32, products: Products) -> String {
    doubles::module(&source.clone().in_doubles().texts().unwrap()[0], products, group_size)
}

#[test]
fn kernels_of_solvers_have_double_floats_and_no_others() {
    for kernel in StaticKernel::ALL {
        let source = KernelSource::of_static(*kernel).in_doubles();
        match source.texts() {
            Ok(texts) => assert!(kernel.has_doubles() && texts[0].is_double, "`{}`", source.name),
            Err(error) => {
                let words = format!("`{0}` was refused by the device's compiler: `{0}` has no double-float form", source.name);
                assert_eq!((kernel.has_doubles(), error.to_string()), (false, format!("kernel {words}")));
            }
        }
    }
}

#[test]
fn kernels_of_solvers_are_valid_where_reals_are_double_floats() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/target/wgsl");
    std::fs::create_dir_all(folder).expect("a folder for the modules");
    for source in StaticKernel::ALL.iter().filter(|kernel| kernel.has_doubles()).map(|kernel| KernelSource::of_static(*kernel)) {
        for products in [Products::Fma, Products::Halves] {
            validated(&source.name, &module_double(&source, 64, products), Capabilities::empty());
        }
        let module = module_double(&source, 256, Products::Fma);
        std::fs::write(format!("{folder}/{}.double.wgsl", source.name), module).expect("a module for Dawn");
    }
}

#[test]
fn modules_are_valid_and_dawn_gets_them_too() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/target/wgsl");
    std::fs::create_dir_all(folder).expect("a folder for the modules");
    for source in every_source() {
        for group_size in [1, 64, 256] {
            validated(&source.name, &module(&source, group_size), Capabilities::empty());
        }
        std::fs::write(format!("{folder}/{}.wgsl", source.name), module(&source, 256)).expect("a module is written");
    }
}

#[test]
fn modules_are_valid_in_f64() {
    for source in every_source() {
        let (module, _) = validated(&source.name, &source.texts().unwrap()[0].module(Real::F64, 256), Capabilities::FLOAT64);
        // What looks at bits is the only thing that goes by way of an f32.
        let f32s = module.types.iter().any(|(_, ty)| ty.inner.scalar() == Some(Scalar::F32));
        assert!(!f32s, "`{}`: something stays f32", source.name);
    }
}

#[test]
fn bindings_are_those_of_the_table_and_all_are_used() {
    for source in every_source() {
        let name = &source.name;
        let (module, info) = validated(name, &module(&source, 256), Capabilities::empty());
        assert_eq!(module.entry_points.len(), 1, "`{name}`");
        assert_eq!(module.entry_points[0].name, "main", "`{name}`");
        let mut declared = [Access::Unused; binding::COUNT];
        for (handle, variable) in module.global_variables.iter() {
            let Some(place) = variable.binding else { continue };
            assert_eq!(place.group, 0, "`{name}`");
            let slot = place.binding as usize;
            if slot == 0 {
                assert_eq!(variable.space, AddressSpace::Uniform, "`{name}`: params");
                continue;
            }
            let AddressSpace::Storage { access } = variable.space else { panic!("`{name}`, binding {slot}: {:?}", variable.space) };
            let used = info.get_entry_point(0)[handle];
            let writes = access.contains(StorageAccess::STORE);
            assert_eq!(used.contains(GlobalUse::WRITE), writes, "`{name}`, binding {slot}: declared to be written, or written");
            assert!(writes || used.contains(GlobalUse::READ), "`{name}`, binding {slot}: declared and not used");
            assert_eq!(declared[slot], Access::Unused, "`{name}`, binding {slot}: declared twice");
            declared[slot] = if writes { Access::ReadWrite } else { Access::Read };
            // Reals and indices never share a buffer, and nothing is padded: a vec3 would be.
            let TypeInner::Array { base, .. } = module.types[variable.ty].inner else { panic!("`{name}`, binding {slot}: no array") };
            let scalar = module.types[base].inner.scalar();
            // Places along an axis of a tensor are numbers of its own kind.
            let expected = match variable.name.as_deref() {
                Some("places") if name.starts_with("tensor_") => Scalar::F32,
                // Elements of int32s are words.
                Some("keys" | "sorted" | "x" | "results") if name.starts_with("tensor_") && name.ends_with("_words") => Scalar::U32,
                Some("rows" | "lists" | "found") if name.starts_with("graph_") => Scalar::U32,
                Some("incidence" | "map" | "table" | "board" | "places") => Scalar::U32,
                _ => Scalar::F32,
            };
            let padded = matches!(module.types[base].inner, TypeInner::Vector { size: naga::VectorSize::Tri, .. });
            assert!(!padded && scalar == Some(expected), "`{name}`, binding {slot}");
        }
        assert_eq!(declared, source.access(), "`{name}`");
        let storage = declared.iter().filter(|access| **access != Access::Unused).count();
        assert!(storage <= 8, "`{name}`: {storage} storage buffers, where WebGPU promises 8");
    }
}

/// What every WebGPU device has of workgroup memory; in f64 it is twice as much, of which CUDA has 48 KiB.
#[test]
fn workgroup_memory_is_what_every_device_has() {
    let mut most = 0;
    for source in every_source() {
        for group_size in [16, 32, 64, 128, 256] {
            let (module, info) = validated(&source.name, &module(&source, group_size), Capabilities::empty());
            let mut layouter = Layouter::default();
            layouter.update(module.to_ctx()).expect("a module that is valid");
            let shared = module.global_variables.iter().filter(|(_, variable)| variable.space == AddressSpace::WorkGroup);
            let used = shared.filter(|(handle, _)| !info.get_entry_point(0)[*handle].is_empty());
            let bytes: u32 = used.map(|(_, variable)| layouter[variable.ty].size).sum();
            assert!(bytes <= 16 << 10, "`{}`: {bytes} bytes in workgroups of {group_size}", source.name);
            most = most.max(bytes);
        }
    }
    assert_eq!(most, 16 << 10, "attention takes all");
}

#[test]
fn words_that_no_kernel_may_have_are_absent() {
    for kernel in StaticKernel::ALL {
        let source = KernelSource::of_static(*kernel);
        let text = code(&module(&source, 256));
        let path = format!("{}/shaders/{}.wgsl", env!("CARGO_MANIFEST_DIR"), kernel.path());
        let reads_singles = *kernel == StaticKernel::SearchDecode;
        let kernel = code(&std::fs::read_to_string(path).expect("a shader"));
        for word in
            ["atomic", "enable", "requires", "subgroup", "f16", "frexp", "ldexp", "pack2x", "pack4x", "quantize", "vec3<real>", "array<f32"]
        {
            assert!(!text.contains(word), "`{}` has `{word}`", source.name);
        }
        // Numbers of exact codes are f32 in files, whatever reals are: they are read in one place.
        let singles = if reads_singles { 1 } else { 0 };
        for word in ["f32", "bitcast"] {
            assert_eq!(kernel.matches(word).count(), singles, "`{}` has `{word}`", source.name);
        }
        // `1.0f` is no f64. A hexadecimal number may end in f.
        let numbers = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '_').filter(|word| {
            let word = word.strip_prefix('.').unwrap_or(word);
            word.starts_with(|c: char| c.is_ascii_digit()) && !word.starts_with("0x")
        });
        for number in numbers {
            assert!(!number.ends_with(['f', 'h']), "`{}` has the literal `{number}`", source.name);
        }
    }
}

/// Room in workgroup memory is a constant in the text of a kernel, and a limit on the host.
#[test]
fn graphs_of_kernels_have_the_limits_of_the_host() {
    use leastwise::anneal::graph::device::{LONGEST, MOST_NEIGHBOURS, MOST_PLACES, WIDEST};
    let choose = include_str!("../shaders/graph/shared/choose.wgsl");
    for (name, value) in [("longest", LONGEST / 4), ("most_neighbours", MOST_NEIGHBOURS as usize), ("most_places", MOST_PLACES)] {
        assert!(choose.contains(&format!("const {name}: u32 = {value}u;")), "{name} is not {value}");
    }
    let slack = leastwise::anneal::graph::device::SLACK;
    assert!(choose.contains(&format!("const slack: real = {slack};")), "slack is not {slack}");
    assert!(include_str!("../shaders/graph/walk.wgsl").contains(&format!("const widest: u32 = {WIDEST}u;")));
    assert!(include_str!("../shaders/graph/link.wgsl").contains(&format!("const kept: u32 = {}u;", 2 * WIDEST)));
}
