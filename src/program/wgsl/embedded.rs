//! Shaders' text as the engine has it: in wasm without its comments, a third of it, which need not cross the network.

/// The text of a file below `shaders/`, whose path is relative to the caller's.
#[macro_export]
macro_rules! shader {
    ($path:expr) => {{
        const TEXT: &str = include_str!($path);
        #[cfg(not(target_arch = "wasm32"))]
        const SHORT: &str = TEXT;
        #[cfg(target_arch = "wasm32")]
        const SHORT: &str = {
            use $crate::wgsl::embedded::without_comments;
            const LEN: usize = without_comments::<0>(TEXT).1;
            const BYTES: [u8; LEN] = without_comments::<LEN>(TEXT).0;
            match std::str::from_utf8(&BYTES) {
                Ok(text) => text,
                Err(_) => panic!("comments begin and end between characters"),
            }
        };
        SHORT
    }};
}
/// The first `N` bytes of a text without `// …`, the spaces before it and lines of nothing else, and how many there are.
/// Lines that are empty to begin with separate declarations, and stay.
pub const fn without_comments<const N: usize>(text: &str) -> ([u8; N], usize) {
    let text = text.as_bytes();
    let (mut short, mut len) = ([0; N], 0);
    let mut at = 0;
    while at < text.len() {
        // A line without its comment: what there is of it, but for spaces at its end.
        let (start, mut end) = (at, at);
        let mut in_comment = false;
        while at < text.len() && text[at] != b'\n' {
            in_comment |= text[at] == b'/' && at + 1 < text.len() && text[at + 1] == b'/';
            if !in_comment && text[at] != b' ' {
                end = at + 1;
            }
            at += 1;
        }
        let has_newline = at < text.len();
        if end > start || !in_comment {
            let mut from = start;
            while from < end {
                if len < N {
                    short[len] = text[from];
                }
                len += 1;
                from += 1;
            }
            if has_newline {
                if len < N {
                    short[len] = b'\n';
                }
                len += 1;
            }
        }
        at += 1;
    }
    (short, len)
}
