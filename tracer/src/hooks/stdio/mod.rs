//! C streams. The C library moves bytes between a stream's buffer and the file by calls that cannot be wrapped, so what
//! is seen here is what the program asked of the stream.

mod streams;

pub(super) use streams::STREAMS;
