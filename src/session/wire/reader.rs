//! Reader of what crosses as words and reals. It refuses what is cut short or has more than it says.

use leastwise_error::Error;

/// Structures inside each other, at most.
const MAX_DEPTH: u32 = 16;

/// A value that can be read from the words that come next.
pub trait Read<'a>: Sized {
    fn read(from: &mut Reader<'a>) -> Result<Self, Error>;
}

/// Words that are not read yet, and the reals and names that they speak of.
pub struct Reader<'a> {
    /// Name of what is read, for messages: "a term".
    what: &'static str,
    words: &'a [u32],
    reals: &'a [f64],
    /// The first of the longest lists of reals, if it is not among them.
    longest: Option<&'a [f64]>,
    names: std::str::SplitTerminator<'a, char>,
    depth: u32,
}

impl<'a> Reader<'a> {
    /// `names` have a NUL after each.
    pub fn new(what: &'static str, words: &'a [u32], reals: &'a [f64], names: &'a str) -> Self {
        Self { what, words, reals, longest: None, names: names.split_terminator('\0'), depth: 0 }
    }

    /// The same with a list of reals that crossed by itself: the first of its length.
    pub fn with_longest(self, longest: Option<&'a [f64]>) -> Self {
        Self { longest, ..self }
    }

    pub fn read<T: Read<'a>>(&mut self) -> Result<T, Error> {
        T::read(self)
    }

    pub fn word(&mut self) -> Result<u32, Error> {
        let (&word, rest) = self.words.split_first().ok_or_else(|| self.incomplete())?;
        self.words = rest;
        Ok(word)
    }

    pub fn reals(&mut self, count: u32) -> Result<&'a [f64], Error> {
        if let Some(longest) = self.longest.take_if(|longest| longest.len() == count as usize) {
            return Ok(longest);
        }
        let (reals, rest) = self.reals.split_at_checked(count as usize).ok_or_else(|| self.incomplete())?;
        self.reals = rest;
        Ok(reals)
    }

    pub fn is_over(&self) -> bool {
        self.words.is_empty() && self.reals.is_empty() && self.longest.is_none()
    }

    /// Refuses what is left.
    pub fn finish(&self) -> Result<(), Error> {
        if self.is_over() { Ok(()) } else { Err(self.incomplete()) }
    }

    pub fn incomplete(&self) -> Error {
        Error::InvalidOption(format!("{} crossed incompletely", self.what))
    }

    /// Refusal of a number that stands for nothing.
    pub fn unknown(&self, number: u32) -> Error {
        Error::InvalidOption(format!("{} crossed with the number {number}, which stands for nothing", self.what))
    }
}

impl Read<'_> for u32 {
    fn read(from: &mut Reader) -> Result<Self, Error> {
        from.word()
    }
}

impl Read<'_> for bool {
    fn read(from: &mut Reader) -> Result<Self, Error> {
        match from.word()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(from.unknown(other)),
        }
    }
}

impl Read<'_> for f64 {
    fn read(from: &mut Reader) -> Result<Self, Error> {
        Ok(from.reals(1)?[0])
    }
}

impl<'a> Read<'a> for &'a str {
    fn read(from: &mut Reader<'a>) -> Result<Self, Error> {
        from.names.next().ok_or_else(|| from.incomplete())
    }
}

impl<'a> Read<'a> for &'a [u32] {
    fn read(from: &mut Reader<'a>) -> Result<Self, Error> {
        let length = from.word()? as usize;
        let (list, rest) = from.words.split_at_checked(length).ok_or_else(|| from.incomplete())?;
        from.words = rest;
        Ok(list)
    }
}

impl<'a> Read<'a> for &'a [f64] {
    fn read(from: &mut Reader<'a>) -> Result<Self, Error> {
        let length = from.word()?;
        from.reals(length)
    }
}

impl<'a, T: Read<'a>> Read<'a> for Vec<T> {
    fn read(from: &mut Reader<'a>) -> Result<Self, Error> {
        // Every element has a word, so the end of a length that is too large is near.
        (0..from.word()?).map(|_| from.read()).collect()
    }
}

impl<'a, T: Read<'a>> Read<'a> for Option<T> {
    fn read(from: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(if from.read()? { Some(from.read()?) } else { None })
    }
}

impl<'a, T: Read<'a>> Read<'a> for Box<T> {
    fn read(from: &mut Reader<'a>) -> Result<Self, Error> {
        from.depth += 1;
        if from.depth > MAX_DEPTH {
            return Err(Error::InvalidOption(format!("{} is made of more than {MAX_DEPTH} others inside each other", from.what)));
        }
        let read = from.read()?;
        from.depth -= 1;
        Ok(Box::new(read))
    }
}
