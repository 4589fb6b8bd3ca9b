//! The declarations that kernels share: by numbers, each with those that it names.

use crate::text::File;
use std::collections::{BTreeMap, BTreeSet};

/// A shared declaration.
pub struct Shared {
    pub name: String,
    /// Path of its file.
    pub path: String,
    /// Its text and the numbers of what it names, where reals are f32; none if it is there in f64 alone.
    pub single: Option<(String, Vec<usize>)>,
    /// The same in f64, where it is another.
    pub double: Option<(String, Vec<usize>)>,
}

pub struct Library {
    pub declarations: Vec<Shared>,
    /// By file and name.
    numbers: BTreeMap<(String, String), usize>,
}

const PRELUDE: &str = "shared/prelude";
/// Files that see each other without imports, and those that replace declarations of them or of the prelude.
const FUNCTIONS: &str = "functions/";
pub const DOUBLE: &str = "f64/";
/// Functions of bits, which have no meaning in double-floats.
const BITS: &str = "functions/bits";

impl Library {
    /// Of all files but kernels.
    pub fn new(files: &[File]) -> Self {
        let (doubles, singles): (Vec<&File>, Vec<&File>) = files.iter().partition(|file| file.path.starts_with(DOUBLE));
        let mut library = Self { declarations: Vec::new(), numbers: BTreeMap::new() };
        for file in &singles {
            for declaration in &file.declarations {
                library.add(&file.path, &declaration.name);
            }
        }
        for declaration in doubles.iter().flat_map(|file| &file.declarations) {
            if library.replaced(&declaration.name).is_none() {
                library.add("functions/f64", &declaration.name);
            }
        }
        let mut scopes = BTreeMap::new();
        for file in &singles {
            scopes.insert(file.path.clone(), library.scope(file));
        }
        for file in &singles {
            for declaration in &file.declarations {
                let number = library.numbers[&(file.path.clone(), declaration.name.clone())];
                let uses = uses(&scopes[&file.path], &declaration.words, &declaration.name);
                library.declarations[number].single = Some((declaration.text.clone(), uses));
            }
        }
        let scope = library.double_scope();
        for declaration in doubles.iter().flat_map(|file| &file.declarations) {
            let number = library.replaced(&declaration.name).expect("added above");
            library.declarations[number].double = Some((declaration.text.clone(), uses(&scope, &declaration.words, &declaration.name)));
        }
        library
    }

    fn add(&mut self, path: &str, name: &str) {
        let key = (path.to_string(), name.to_string());
        assert!(self.numbers.insert(key, self.declarations.len()).is_none(), "`{path}` declares `{name}` twice");
        self.declarations.push(Shared { name: name.into(), path: path.into(), single: None, double: None });
    }

    fn of_file<'a>(&'a self, path: &'a str) -> impl Iterator<Item = (String, usize)> + 'a {
        self.numbers.iter().filter(move |((of, _), _)| of == path).map(|((_, name), number)| (name.clone(), *number))
    }

    /// What a declaration of `f64/` stands in for.
    fn replaced(&self, name: &str) -> Option<usize> {
        self.double_scope().get(name).copied()
    }

    /// What a text of `f64/` sees: the prelude and the functions.
    fn double_scope(&self) -> BTreeMap<String, usize> {
        let seen = |path: &str| path == PRELUDE || path.starts_with(FUNCTIONS);
        self.numbers.iter().filter(|((path, _), _)| seen(path)).map(|((_, name), number)| (name.clone(), *number)).collect()
    }

    /// What a file sees besides its own declarations, or with them if it is of the library.
    fn scope(&self, file: &File) -> BTreeMap<String, usize> {
        let mut scope: BTreeMap<String, usize> = self.of_file(PRELUDE).collect();
        if file.path.starts_with(FUNCTIONS) {
            scope.extend(self.double_scope());
        }
        for import in &file.imports {
            let before = scope.len();
            scope.extend(self.of_file(import));
            assert!(scope.len() > before, "`{}` imports `{import}`, which is no file of shared declarations", file.path);
        }
        scope.extend(self.of_file(&file.path));
        scope
    }

    /// The numbers of what a kernel's text names.
    ///
    /// # Panics
    /// If it imports what it does not name.
    pub fn roots(&self, kernel: &File) -> Vec<usize> {
        let own: BTreeSet<&str> = kernel.declarations.iter().map(|declaration| &*declaration.name).collect();
        let mut scope = self.scope(kernel);
        scope.retain(|name, _| !own.contains(&**name));
        let named = kernel.declarations.iter().flat_map(|declaration| &declaration.words).cloned().collect();
        let roots = uses(&scope, &named, "");
        for import in &kernel.imports {
            let is_used = roots.iter().any(|root| self.declarations[*root].path == *import);
            assert!(is_used, "`{}` imports `{import}` and names nothing of it", kernel.path);
        }
        roots
    }

    /// The whole module in f32, as naga reads it.
    pub fn module(&self, own: &str, roots: &[usize]) -> String {
        let needed = self.needed(self.of_file(PRELUDE).map(|(_, number)| number).chain(roots.iter().copied()).collect());
        let texts = needed.into_iter().map(|number| self.text(number));
        let texts: Vec<&str> = texts.chain([own]).collect();
        format!("alias real = f32;\nconst group_size: u32 = 64u;\n{}", texts.join("\n"))
    }

    /// Names of what generated kernels call.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        self.declarations.iter().filter(|shared| shared.path.starts_with(FUNCTIONS)).map(|shared| &*shared.name)
    }

    /// Those of operations, which are functions of reals that no other one calls.
    pub fn operations(&self) -> impl Iterator<Item = &str> {
        let all = || self.declarations.iter().filter(|shared| shared.path.starts_with(FUNCTIONS) && shared.path != BITS);
        let called: BTreeSet<usize> = all().filter_map(|shared| shared.single.as_ref()).flat_map(|(_, uses)| uses).copied().collect();
        let numbered = self.declarations.iter().zip(0..).filter(move |(_, number)| !called.contains(number));
        let of_operations = numbered.filter(|(shared, _)| shared.path.starts_with(FUNCTIONS) && shared.path != BITS);
        let has_single = of_operations.filter_map(|(shared, _)| shared.single.as_ref().map(|(text, _)| (&*shared.name, text)));
        has_single.filter(|(_, text)| text.starts_with("fn ")).map(|(name, _)| name)
    }

    /// The text of one of them in f32.
    pub fn function(&self, name: &str) -> &str {
        let (_, number) = self.numbers.iter().find(|((path, of), _)| path.starts_with(FUNCTIONS) && of == name).expect("a function");
        self.text(*number)
    }

    /// A declaration's text in f32.
    pub fn text(&self, number: usize) -> &str {
        &self.declarations[number].single.as_ref().expect("in f32").0
    }

    /// Declarations of these numbers and what they name in turn, but for functions and the prelude.
    pub fn shared(&self, roots: &[usize]) -> BTreeSet<usize> {
        let is_left_out = |number: &usize| {
            let path = &self.declarations[*number].path;
            path == PRELUDE || path.starts_with(FUNCTIONS)
        };
        self.needed(roots.to_vec()).into_iter().filter(|number| !is_left_out(number)).collect()
    }

    /// Declarations and what they name in turn, in f32.
    fn needed(&self, mut open: Vec<usize>) -> BTreeSet<usize> {
        let mut needed: BTreeSet<usize> = BTreeSet::new();
        while let Some(number) = open.pop() {
            if needed.insert(number) {
                open.extend(&self.declarations[number].single.as_ref().expect("in f32").1);
            }
        }
        needed
    }

    /// The numbers of the prelude's declarations.
    pub fn prelude(&self) -> Vec<usize> {
        self.of_file(PRELUDE).map(|(_, number)| number).collect()
    }
}

fn uses(scope: &BTreeMap<String, usize>, named: &BTreeSet<String>, own: &str) -> Vec<usize> {
    let mut used: Vec<usize> = named.iter().filter(|word| *word != own).filter_map(|word| scope.get(word).copied()).collect();
    used.sort_unstable();
    used
}
