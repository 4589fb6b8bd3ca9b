//! A kernel's interface, as naga reads it: its arguments and bindings.

use crate::library::Library;
use crate::text::File;
use naga::{AddressSpace, Module, Scalar, StorageAccess, TypeInner};

pub struct Kernel<'a> {
    pub file: &'a File,
    /// Its module but for shared declarations.
    pub text: String,
    /// The numbers of the shared declarations that it names.
    pub roots: Vec<usize>,
    pub arguments: Vec<Field>,
    pub bindings: Vec<Binding>,
}

/// A field of `struct Args`.
pub struct Field {
    pub name: String,
    /// Its first word among the arguments.
    pub word: u32,
    /// The name and the fields of its structure, if it is one.
    pub inner: Option<(String, Vec<Field>)>,
}

pub struct Binding {
    pub name: String,
    pub slot: u32,
    pub writes: bool,
    /// True for `u32`s.
    pub words: bool,
}

/// Words of arguments, as `Params` has room for.
pub const WORDS: u32 = 12;

impl<'a> Kernel<'a> {
    pub fn new(file: &'a File, library: &Library) -> Self {
        let path = &file.path;
        let mut texts: Vec<&str> = file.declarations.iter().map(|declaration| &*declaration.text).collect();
        let has_arguments = file.declarations.iter().any(|declaration| declaration.name == "Args");
        if !has_arguments {
            texts.insert(0, "struct Args { none: u32 }");
        }
        let (text, roots) = (texts.join("\n"), library.roots(file));
        let whole = library.module(&text, &roots);
        let module = naga::front::wgsl::parse_str(&whole).unwrap_or_else(|error| panic!("`{path}`: {}", error.emit_to_string(&whole)));
        let arguments = if has_arguments { arguments(&module, path) } else { Vec::new() };
        let bindings = bindings(&module, path);
        Self { file, text, roots, arguments, bindings }
    }
}

fn arguments(module: &Module, path: &str) -> Vec<Field> {
    let (_, args) = module.types.iter().find(|(_, ty)| ty.name.as_deref() == Some("Args")).expect("declared");
    let TypeInner::Struct { span, .. } = &args.inner else { panic!("`{path}`: `Args` is no structure") };
    assert!(span / 4 <= WORDS, "`{path}`: arguments of {} words, {WORDS} fit", span / 4);
    fields(module, &args.inner, 0, path)
}

fn fields(module: &Module, inner: &TypeInner, first: u32, path: &str) -> Vec<Field> {
    let TypeInner::Struct { members, .. } = inner else { panic!("`{path}`: an argument is no `u32` and no structure of them") };
    let field = |member: &naga::StructMember| {
        let (name, word) = (member.name.clone().expect("a member has a name"), first + member.offset / 4);
        let ty = &module.types[member.ty];
        let inner = match ty.inner {
            TypeInner::Scalar(Scalar::U32) => None,
            _ => Some((ty.name.clone().expect("a structure has a name"), fields(module, &ty.inner, word, path))),
        };
        Field { name, word, inner }
    };
    members.iter().map(field).collect()
}

fn bindings(module: &Module, path: &str) -> Vec<Binding> {
    let mut bindings: Vec<Binding> = Vec::new();
    for (_, variable) in module.global_variables.iter() {
        let (Some(place), AddressSpace::Storage { access }) = (&variable.binding, variable.space) else { continue };
        let name = variable.name.clone().expect("a variable has a name");
        let TypeInner::Array { base, .. } = module.types[variable.ty].inner else { panic!("`{path}`: `{name}` is no array") };
        let words = match module.types[base].inner.scalar() {
            Some(Scalar::U32) => true,
            Some(Scalar::F32) => false,
            other => panic!("`{path}`: `{name}` has elements of {other:?}"),
        };
        bindings.push(Binding { name, slot: place.binding, writes: access.contains(StorageAccess::STORE), words });
    }
    bindings.sort_by_key(|binding| binding.slot);
    assert!(bindings.windows(2).all(|pair| pair[0].slot < pair[1].slot), "`{path}`: two bindings of a slot");
    bindings
}
