//! Operations between double-floats, written out where they stand.
//!
//! Calls would be shorter, but compilers of shaders write them out themselves, in time that grows with the square of their
//! number. So every operation is a few `let`s before the statement that it is in, each sealed against reassociation and
//! contraction. In the head of a loop, where nothing can stand before, functions of `shaders/double/arithmetic.wgsl` are called.
//!
//! Errors are those of Hida, Li & Bailey (2001) and of Joldes, Muller & Popescu ("Tight and rigorous error bounds for basic
//! building blocks of double-word arithmetic", ACM Trans. Math. Softw. 44, 2017): a few 2⁻⁴⁸ of the result, of a sum of |a| + |b|.

use crate::operations::{MARK, Parts, plane};
use std::fmt::{Result, Write};

/// How the rounding error of a product of `f32`s is found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Products {
    /// `fma` rounds once.
    Fma,
    /// By halves of 12 bits, whose products are exact (Dekker 1971; the first half is cut off, which overflows nowhere).
    Halves,
}

/// A text whose [operations](crate::operations) are WGSL.
pub fn written_out(text: &str, products: Products) -> String {
    let mut out = String::with_capacity(8 * text.len());
    for line in text.lines() {
        // Writing to a string cannot fail.
        let _ = match line.strip_prefix(MARK) {
            Some(operation) => write_operation(operation, products, &mut out),
            None => writeln!(out, "{line}"),
        };
    }
    out
}

/// The operation of a line, behind its mark.
fn write_operation(line: &str, products: Products, out: &mut String) -> Result {
    let symbol = line.chars().next().unwrap_or_default();
    let fields: Vec<&str> = line[symbol.len_utf8()..].split(';').collect();
    let field = |number: usize| fields.get(number).copied().unwrap_or_default();
    let (n, a, b) = (field(0), field(1), field(2));
    match symbol {
        '+' => add(n, &operand(a), &operand(b), out),
        '*' => multiply(n, &operand(a), &operand(b), products, out),
        's' => {
            let error = two_sum(&format!("d_{n}"), n, a, b, out)?;
            writeln!(out, "let e_{n} = {error};")
        }
        'q' => quick_sum(n, a, b, out),
        'p' => {
            let error = two_product(&format!("d_{n}"), n, a, b, products, out)?;
            writeln!(out, "let e_{n} = {error};")
        }
        '=' => writeln!(out, "let d_{n} = {};", sealed(a)),
        '<' => {
            let (buffer, plane, place) = (a, plane(b.parse().unwrap_or_default()), field(3));
            writeln!(out, "let d_{n} = {buffer}[{place}];\nlet e_{n} = select({buffer}[{place} + {plane}], 0.0, {plane} == 0u);")
        }
        _ => {
            let (buffer, plane, place, Parts { high, low }) = (n, plane(a.parse().unwrap_or_default()), b, operand(field(3)));
            writeln!(out, "{buffer}[{place}] = {high};\nif ({plane} != 0u) {{ {buffer}[{place} + {plane}] = {low}; }}")
        }
    }
}

fn operand(text: &str) -> Parts {
    if let Some((high, low)) = text.split_once(',') {
        return Parts::new(high, low);
    }
    if let Some(positive) = text.strip_prefix('-') {
        return operand(positive).negative();
    }
    if text.starts_with(|c: char| c.is_ascii_digit()) { Parts::of_number(text) } else { Parts::of_name(text) }
}

/// An `f32` that nothing is known of.
fn sealed(text: &str) -> String {
    format!("bitcast<f32>(bitcast<u32>({text}) ^ params.zero)")
}

/// a + b as `s`; gives its rounding error (Knuth).
fn two_sum(s: &str, n: &str, a: &str, b: &str, out: &mut String) -> std::result::Result<String, std::fmt::Error> {
    writeln!(out, "let {s} = {};\nlet p_{n} = {};", sealed(&format!("{a} + {b}")), sealed(&format!("{s} - {a}")))?;
    let left = sealed(&format!("{a} - {}", sealed(&format!("{s} - p_{n}"))));
    Ok(sealed(&format!("{left} + {}", sealed(&format!("{b} - p_{n}")))))
}

/// The same and its rounding error for |a| ≥ |b| (Dekker).
fn quick_sum(n: &str, a: &str, b: &str, out: &mut String) -> Result {
    writeln!(out, "let d_{n} = {};", sealed(&format!("{a} + {b}")))?;
    writeln!(out, "let e_{n} = {};", sealed(&format!("{b} - {}", sealed(&format!("d_{n} - {a}")))))
}

/// The sum of `s_n` and two low parts, which are small.
fn finish(n: &str, low: &str, more: &str, out: &mut String) -> Result {
    writeln!(out, "let b_{n} = {};", sealed(&format!("{low} + {more}")))?;
    quick_sum(n, &format!("s_{n}"), &format!("b_{n}"), out)
}

/// a·b as `p`; gives its rounding error.
fn two_product(p: &str, n: &str, a: &str, b: &str, products: Products, out: &mut String) -> std::result::Result<String, std::fmt::Error> {
    writeln!(out, "let {p} = {};", sealed(&format!("{a} * {b}")))?;
    if products == Products::Fma {
        return Ok(sealed(&format!("fma({a}, {b}, -{p})")));
    }
    let names = |first: char, second: char| (format!("{first}_{n}"), format!("{second}_{n}"));
    let ((a_first, a_second), (b_first, b_second)) = (names('u', 'v'), names('w', 'z'));
    for (x, first, second) in [(a, &a_first, &a_second), (b, &b_first, &b_second)] {
        writeln!(out, "let {first} = bitcast<f32>(bitcast<u32>({x}) & (0xfffff000u ^ params.zero));")?;
        writeln!(out, "let {second} = {};", sealed(&format!("{x} - {first}")))?;
    }
    let product = |left: &str, right: &str| sealed(&format!("{left} * {right}"));
    let mut error = sealed(&format!("{} - {p}", product(&a_first, &b_first)));
    for (left, right) in [(&a_first, &b_second), (&a_second, &b_first), (&a_second, &b_second)] {
        error = sealed(&format!("{error} + {}", product(left, right)));
    }
    Ok(error)
}

fn add(n: &str, a: &Parts, b: &Parts, out: &mut String) -> Result {
    let low = match (a.is_single(), b.is_single()) {
        (true, true) => return write_operation(&format!("s{n};{};{}", a.high, b.high), Products::Fma, out),
        (false, true) => a.low.clone(),
        (true, false) => b.low.clone(),
        (false, false) => sealed(&format!("{} + {}", a.low, b.low)),
    };
    let error = two_sum(&format!("s_{n}"), n, &a.high, &b.high, out)?;
    finish(n, &error, &low, out)
}

fn multiply(n: &str, a: &Parts, b: &Parts, products: Products, out: &mut String) -> Result {
    let cross = |single: bool, x: &str, y: &str| (!single).then(|| sealed(&format!("{x} * {y}")));
    let low = match (cross(b.is_single(), &a.high, &b.low), cross(a.is_single(), &a.low, &b.high)) {
        (None, None) => return write_operation(&format!("p{n};{};{}", a.high, b.high), products, out),
        (Some(one), None) | (None, Some(one)) => one,
        (Some(left), Some(right)) => sealed(&format!("{left} + {right}")),
    };
    let error = two_product(&format!("s_{n}"), n, &a.high, &b.high, products, out)?;
    finish(n, &error, &low, out)
}
