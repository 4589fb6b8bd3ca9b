//! The part of `wgsl.cuh` that a kernel names. NVRTC's front end works for one kernel at a time, whatever the number of threads, and on the
//! whole file for as long as on a small kernel.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

const WHOLE: &str = include_str!("wgsl.cuh");

/// Declaration or directive at the outermost level of the file.
struct Item {
    text: String,
    /// None of directives, types of one word and vectors, which always stay.
    name: Option<String>,
}

struct Items {
    all: Vec<Item>,
    /// Overloads and specialisations have one name.
    of_name: HashMap<String, Vec<usize>>,
}

static ITEMS: LazyLock<Items> = LazyLock::new(|| {
    let all = items(WHOLE);
    let mut of_name: HashMap<String, Vec<usize>> = HashMap::new();
    for (place, item) in all.iter().enumerate() {
        if let Some(name) = &item.name {
            of_name.entry(name.clone()).or_default().push(place);
        }
    }
    Items { all, of_name }
});

/// The items that this text names, and those that they name, in the order of the file.
pub fn preamble(source: &str) -> String {
    let Items { all, of_name } = &*ITEMS;
    let mut named = HashSet::new();
    let mut texts = vec![source];
    texts.extend(all.iter().filter(|item| item.name.is_none()).map(|item| &item.text[..]));
    while let Some(text) = texts.pop() {
        for word in words(text) {
            if let Some(places) = of_name.get(word)
                && named.insert(word)
            {
                texts.extend(places.iter().map(|&place| &all[place].text[..]));
            }
        }
    }
    let is_kept = |item: &&Item| item.name.as_deref().is_none_or(|name| named.contains(name));
    all.iter().filter(is_kept).fold(String::new(), |text, item| text + &item.text + "\n")
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

fn items(text: &str) -> Vec<Item> {
    let mut items = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.is_empty() || line.starts_with("//") {
            continue;
        }
        if line.starts_with("LW_") {
            let uses = line.split_inclusive(')').map(str::trim).filter(|text| !text.is_empty());
            items.extend(uses.map(|text| Item { text: text.into(), name: Some(defined(text)) }));
            continue;
        }
        let mut item = line.to_string();
        while is_open(&item) {
            let Some(next) = lines.next() else { break };
            item = item + "\n" + next;
        }
        let name = name_of(&item).map(String::from);
        items.push(Item { text: item, name });
    }
    items
}

/// True where an item goes on in the next line.
fn is_open(item: &str) -> bool {
    if item.starts_with('#') {
        return item.ends_with('\\');
    }
    item.matches('{').count() > item.matches('}').count()
}

/// The function that the use of a macro defines.
fn defined(text: &str) -> String {
    let mut words = words(text);
    match (words.next(), words.next()) {
        (Some("LW_REAL1"), Some(name)) => format!("m_{name}"),
        (_, name) => name.unwrap_or_default().into(),
    }
}

fn name_of(item: &str) -> Option<&str> {
    let last_word = |text| words(text).last();
    if let Some(definition) = item.strip_prefix("#define ") {
        return words(definition).next();
    }
    if item.starts_with('#') || item.starts_with("typedef ") || item.contains(" struct alignas(") {
        return None;
    }
    if let Some((_, structure)) = item.split_once(" struct ") {
        return words(structure).next();
    }
    item.split_once(['(', '=']).and_then(|(head, _)| last_word(head))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_of_the_file_is_an_item_of_its_name() {
        let all = &ITEMS.all;
        let kept: usize = all.iter().map(|item| words(&item.text).map(str::len).sum::<usize>()).sum();
        let whole: String = WHOLE.lines().filter(|line| !line.starts_with("//")).collect::<Vec<_>>().join("\n");
        assert_eq!(kept, words(&whole).map(str::len).sum::<usize>());
        assert!(all.len() > 200, "{} items", all.len());
        for name in [
            "op_add",
            "m_cos",
            "m_dot",
            "Convert",
            "whole_warp",
            "warp_scan",
            "over_one_plus",
            "within",
            "LW_MAP1",
            "Mat",
            "splat",
            "vec_of",
        ] {
            assert!(ITEMS.of_name.contains_key(name), "{name}");
        }
        let always: Vec<&str> = all.iter().filter(|item| item.name.is_none()).map(|item| item.text.lines().next().unwrap()).collect();
        assert!(always.iter().all(|line| line.starts_with(['#', 't'])), "{always:?}");
    }

    #[test]
    fn what_a_kernel_names_stays_with_what_that_names() {
        let text = preamble("f32 y = m_distance(a, b);");
        for part in [
            "m_length",
            "m_sqrt",
            "LW_REAL1(sqrt, sqrtf, sqrt)",
            "m_dot",
            "LW_MAP2(op_sub)",
            "#define LW_MAP2(",
            "splat",
            "struct alignas(",
        ] {
            assert!(text.contains(part), "{part}");
        }
        for part in ["m_cos", "warp_scan", "Convert", "half_of", "m_determinant"] {
            assert!(!text.contains(part), "{part}");
        }
        assert!(preamble("").len() < 800, "{}", preamble(""));
    }
}
