//! WGSL's words and symbols, without its comments.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Name,
    Number,
    Symbol,
    End,
}

#[derive(Clone, Copy, Debug)]
pub struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    /// The byte where it begins.
    pub start: usize,
}

/// Longer ones first. `>` is always by itself, since it may close a template: see [`Tokens::is_joined`].
const SYMBOLS: [&str; 18] = ["<<=", "->", "==", "!=", "<=", "&&", "||", "<<", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "++", "--"];

/// The tokens of a text, and which comes next.
pub struct Tokens<'a> {
    list: Vec<Token<'a>>,
    pub at: usize,
}

impl<'a> Tokens<'a> {
    pub fn new(text: &'a str) -> Self {
        let (mut list, mut at) = (Vec::new(), 0);
        while let Some(first) = text[at..].chars().next() {
            let rest = &text[at..];
            let length = |of: &dyn Fn(char) -> bool| rest.find(|c: char| !of(c)).unwrap_or(rest.len());
            let (kind, len) = match first {
                _ if first.is_whitespace() => {
                    at += first.len_utf8();
                    continue;
                }
                _ if rest.starts_with("//") => {
                    at += rest.find('\n').unwrap_or(rest.len());
                    continue;
                }
                'a'..='z' | 'A'..='Z' | '_' => (Kind::Name, length(&|c| c.is_ascii_alphanumeric() || c == '_')),
                '0'..='9' => (Kind::Number, number(rest)),
                _ => {
                    (Kind::Symbol, SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)).map_or(first.len_utf8(), |symbol| symbol.len()))
                }
            };
            list.push(Token { kind, text: &rest[..len], start: at });
            at += len;
        }
        Self { list, at: 0 }
    }

    /// The token so many after the next.
    pub fn ahead(&self, by: usize) -> Token<'a> {
        self.list.get(self.at + by).copied().unwrap_or(Token { kind: Kind::End, text: "", start: usize::MAX })
    }

    pub fn peek(&self) -> &'a str {
        self.ahead(0).text
    }

    pub fn take(&mut self) -> Token<'a> {
        let token = self.ahead(0);
        self.at += 1;
        token
    }

    /// Takes the next token if it is this one.
    pub fn takes(&mut self, text: &str) -> bool {
        let is = self.peek() == text;
        self.at += usize::from(is);
        is
    }

    pub fn expect(&mut self, text: &str) -> Result<(), String> {
        if self.takes(text) { Ok(()) } else { Err(format!("`{text}` was expected before `{}`", self.peek())) }
    }

    pub fn name(&mut self) -> Result<&'a str, String> {
        match self.take() {
            Token { kind: Kind::Name, text, .. } => Ok(text),
            other => Err(format!("a name was expected instead of `{}`", other.text)),
        }
    }

    /// Goes on behind the next one of these.
    pub fn skip_past(&mut self, text: &str) {
        while !self.takes(text) && self.take().kind != Kind::End {}
    }

    /// Goes on behind the next block in braces.
    pub fn skip_block(&mut self) {
        self.skip_past("{");
        let mut depth = 1;
        while depth > 0 {
            match self.take() {
                Token { text: "{", .. } => depth += 1,
                Token { text: "}", .. } => depth -= 1,
                Token { kind: Kind::End, .. } => return,
                _ => {}
            }
        }
    }

    /// Whether two tokens from here on are `>` right before the other one.
    pub fn is_joined(&self, second: &str) -> bool {
        let (first, next) = (self.ahead(0), self.ahead(1));
        first.text == ">" && next.text == second && next.start == first.start + 1
    }
}

/// The bytes of a number with its suffix.
fn number(text: &str) -> usize {
    if text.starts_with("0x") {
        return text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    }
    let bytes = text.as_bytes();
    let mut len = 0;
    while len < bytes.len() {
        let continues = match bytes[len] {
            b'0'..=b'9' | b'.' | b'e' | b'u' | b'i' | b'f' => true,
            b'+' | b'-' => bytes[len - 1] == b'e',
            _ => false,
        };
        if !continues {
            break;
        }
        len += 1;
    }
    len
}
