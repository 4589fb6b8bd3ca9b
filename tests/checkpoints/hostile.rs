//! Files that are not to be believed.
