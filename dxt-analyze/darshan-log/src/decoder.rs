//! Decompressors of a log's regions behind one interface. At the end of a compressed stream, decompression continues with the next stream.

use crate::header::Compression;

pub(crate) enum Decoder {
    Zlib { inflate: flate2::Decompress, inside: bool },
    Bzip2 { inflate: bzip2::Decompress, inside: bool },
    Raw,
}

impl Decoder {
    pub(crate) fn new(compression: Compression) -> Self {
        match compression {
            Compression::Zlib => Self::Zlib { inflate: flate2::Decompress::new(true), inside: false },
            Compression::Bzip2 => Self::Bzip2 { inflate: bzip2::Decompress::new(false), inside: false },
            Compression::None => Self::Raw,
        }
    }

    /// Returns the name of the compression for error messages.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Zlib { .. } => "zlib",
            Self::Bzip2 { .. } => "bzip2",
            Self::Raw => "uncompressed",
        }
    }

    /// True if the input consumed so far ends within a compressed stream.
    pub(crate) fn inside(&self) -> bool {
        match self {
            Self::Zlib { inside, .. } | Self::Bzip2 { inside, .. } => *inside,
            Self::Raw => false,
        }
    }

    /// Decompresses from `input` to `output`; returns the numbers of bytes consumed and produced. At the end of a compressed stream,
    /// prepares for the next stream.
    pub(crate) fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<(usize, usize), String> {
        match self {
            Self::Zlib { inflate, inside } => {
                let (before_in, before_out) = (inflate.total_in(), inflate.total_out());
                let status = inflate.decompress(input, output, flate2::FlushDecompress::None);
                let done = (inflate.total_in() - before_in, inflate.total_out() - before_out);
                *inside = true;
                match status {
                    Ok(flate2::Status::StreamEnd) => {
                        inflate.reset(true);
                        *inside = false;
                    }
                    Ok(_) => {}
                    Err(error) => return Err(error.to_string()),
                }
                Ok((done.0 as usize, done.1 as usize))
            }
            Self::Bzip2 { inflate, inside } => {
                let (before_in, before_out) = (inflate.total_in(), inflate.total_out());
                let status = inflate.decompress(input, output).map_err(|error| error.to_string())?;
                let done = (inflate.total_in() - before_in, inflate.total_out() - before_out);
                *inside = status != bzip2::Status::StreamEnd;
                if !*inside {
                    *inflate = bzip2::Decompress::new(false);
                }
                Ok((done.0 as usize, done.1 as usize))
            }
            Self::Raw => {
                let length = input.len().min(output.len());
                output[..length].copy_from_slice(&input[..length]);
                Ok((length, length))
            }
        }
    }
}
