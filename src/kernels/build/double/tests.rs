use super::{Globals, rewritten};

/// A function whose statements these are, of reals `a` and `b` and a buffer `v` in slot 5.
fn function(statements: &str) -> Result<String, String> {
    let text = format!("@group(0) @binding(5) var<storage, read_write> v: array<real>;\nfn f(a: real, b: real, i: u32) {{ {statements} }}");
    let mut globals = Globals::default();
    globals.note(&text)?;
    let declarations = rewritten(&text, globals)?;
    let divides = declarations[1].called.contains("divide");
    assert_eq!(divides, statements.contains('/'), "functions that are called are told");
    assert_eq!(declarations[0].text, "@group(0) @binding(5) var<storage,read_write> v: array<f32>;");
    let body = declarations[1].text.strip_prefix("fn f(a: real, b: real, i: u32) {\n").and_then(|text| text.strip_suffix("}"));
    Ok(body.expect("the function").to_string())
}

#[test]
fn operations_are_lines_before_their_statement() {
    for (statement, expected) in [
        ("let c = a + b;", "$+1;a;b\nlet c = real(d_1, e_1);\n"),
        ("let c = a - 0.1;", "$+1;a;(-1e-1),1.4901161e-9\nlet c = real(d_1, e_1);\n"),
        ("let c = a * b - b;", "$*1;a;b\n$+2;1;-b\nlet c = real(d_2, e_2);\n"),
        ("let c = 0.5 * a;", "let c = (a * 5e-1);\n"),
        ("let c = a / b;", "let c = divide(a, b);\n"),
        ("v[i] = a;", "let d_1 = i;\n$>v;5;d_1;a\n"),
        ("v[3] += a;", "$<1;v;5;3u\n$+2;1;a\n$>v;5;3u;2\n"),
        ("if (a == 0.0) { return; }", "if ((a.x == 0.0)) {\nreturn;\n}\n"),
    ] {
        let found = function(statement);
        assert_eq!(found.as_deref(), Ok(expected), "{statement}");
    }
}

#[test]
fn what_has_no_form_is_refused_by_name() {
    for (statement, message) in [
        ("let c = a % b;", "reals have no `%`"),
        ("let c = bitcast<u32>(a);", "the bits of a real are not those of a double-float"),
        ("let c = tanh(a);", "`tanh` has no double-float form"),
        ("let c = a + 1e300;", "1e300 is beyond the range of f32"),
        ("let c = d;", "`d` is not declared"),
        ("for (v[i] = a; false;) { }", "the head of a loop stores to a buffer"),
    ] {
        assert_eq!(function(statement), Err(message.into()), "{statement}");
    }
}
