//! WGSL files: what they import and declare.

use std::collections::BTreeSet;
use std::path::Path;

/// A file of `shaders/`.
pub struct File {
    /// Below `shaders/`, without an ending: `pcg/update`.
    pub path: String,
    /// The first paragraph of its comment.
    pub summary: String,
    /// Paths of the files whose declarations it names.
    pub imports: Vec<String>,
    pub declarations: Vec<Declaration>,
    /// The comments of fields and constants, by the name that follows or precedes them on its line.
    comments: Vec<(String, String)>,
}

/// A declaration of a module, without comments and indentation.
pub struct Declaration {
    pub name: String,
    pub text: String,
    /// The identifiers in it.
    pub words: BTreeSet<String>,
}

impl File {
    pub fn read(shaders: &Path, path: String) -> Self {
        let text = std::fs::read_to_string(shaders.join(&path).with_extension("wgsl")).expect("a file of shaders/");
        assert!(!text.contains("/*"), "`{path}`: comments are lines");
        let imports = text.lines().filter_map(|line| line.strip_prefix("#import ")).map(|name| name.trim().to_string()).collect();
        let header = text.lines().take_while(|line| line.starts_with("//")).map(|line| line[2..].trim());
        let summary = header.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
        let code: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).map(code_of).filter(|line| !line.is_empty()).collect();
        Self { path, summary, imports, declarations: declarations(&code.join("\n")), comments: comments(&text) }
    }

    /// All declarations.
    pub fn code(&self) -> String {
        self.declarations.iter().map(|declaration| &*declaration.text).collect::<Vec<_>>().join("\n")
    }

    /// The comment of a field or constant: in the lines before it, or behind it.
    pub fn comment(&self, name: &str) -> &str {
        self.comments.iter().find(|(of, _)| of == name).map_or("", |(_, comment)| comment)
    }
}

/// A line without its comment and indentation.
fn code_of(line: &str) -> &str {
    line.split("//").next().unwrap_or("").trim()
}

fn comments(text: &str) -> Vec<(String, String)> {
    let (mut found, mut above) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let code = code_of(line);
        let comment = line.split_once("//").map(|(_, comment)| comment.trim());
        match (code, comment) {
            ("", Some(comment)) => above.push(comment),
            _ => {
                let behind: Vec<&str> = comment.into_iter().collect();
                let lines = if above.is_empty() { behind } else { std::mem::take(&mut above) };
                let name = code.strip_prefix("const ").unwrap_or(code).split(':').next().unwrap_or("");
                if !lines.is_empty() && is_identifier(name) {
                    found.push((name.to_string(), lines.join(" ")));
                }
                above.clear();
            }
        }
    }
    found
}

fn is_identifier(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

pub fn words(code: &str) -> BTreeSet<String> {
    code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty()).map(String::from).collect()
}

/// What stands at the top of a module: up to a `;`, or to the brace that closes it.
fn declarations(code: &str) -> Vec<Declaration> {
    let (mut found, mut depth, mut start) = (Vec::new(), 0, 0);
    for (place, c) in code.char_indices() {
        match c {
            '{' | '(' => depth += 1,
            '}' | ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 && matches!(c, ';' | '}') {
            let text = code[start..=place].trim().to_string();
            found.push(Declaration { name: name_of(&text), words: words(&text), text });
            start = place + 1;
        }
    }
    assert!(code[start..].trim().is_empty(), "a declaration without an end: {}", &code[start..]);
    found
}

/// The name that a declaration gives: that behind its keyword, attributes before it and a variable's space left out.
pub fn name_of(declaration: &str) -> String {
    const KEYWORDS: [&str; 5] = ["fn", "struct", "const", "alias", "var"];
    let mut rest = declaration;
    while let Some(attribute) = rest.strip_prefix('@') {
        let name_end = attribute.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(attribute.len());
        rest = attribute[name_end..].trim_start();
        if rest.starts_with('(') {
            rest = rest.split_once(')').expect("an attribute has an end").1.trim_start();
        }
    }
    let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    assert!(KEYWORDS.contains(&&rest[..end]), "no declaration: {declaration}");
    rest = rest[end..].trim_start();
    if rest.starts_with('<') {
        rest = rest.split_once('>').expect("a space has an end").1.trim_start();
    }
    rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or("").to_string()
}
