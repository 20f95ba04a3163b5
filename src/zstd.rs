//! Compresses and decompresses streams with zstd. Node.js has no zstd before version 22.15.

use std::io::Write;

use napi::bindgen_prelude::{Buffer, Uint8Array};
use napi_derive::napi;
use zstd::stream::write::{Decoder, Encoder};

use crate::values::thrown;
use forkpoint_engine::error::{Code, Error};

/// The standard level of the zstd tool.
const LEVEL: i32 = 3;

enum Stream {
    Compress(Encoder<'static, Vec<u8>>),
    Decompress(Decoder<'static, Vec<u8>>),
    Ended,
}

/// A stream that is compressed or decompressed.
#[napi]
pub struct NativeZstd {
    stream: Stream,
}

fn failed(error: &std::io::Error) -> napi::Error<&'static str> {
    thrown(Error::new(Code::Corrupt, format!("the compressed data is damaged or cut off: {error}")))
}

#[napi]
impl NativeZstd {
    #[napi(constructor)]
    pub fn new(decompress: bool) -> napi::Result<Self, &'static str> {
        let stream = if decompress {
            Decoder::new(Vec::new()).map(Stream::Decompress)
        } else {
            Encoder::new(Vec::new(), LEVEL).map(Stream::Compress)
        };
        Ok(Self { stream: stream.map_err(|error| failed(&error))? })
    }

    /// Takes bytes in, and returns what is ready.
    #[napi]
    pub fn push(&mut self, bytes: Uint8Array) -> napi::Result<Buffer, &'static str> {
        let out = match &mut self.stream {
            Stream::Compress(encoder) => {
                encoder.write_all(&bytes).map_err(|error| failed(&error))?;
                std::mem::take(encoder.get_mut())
            }
            Stream::Decompress(decoder) => {
                decoder.write_all(&bytes).map_err(|error| failed(&error))?;
                std::mem::take(decoder.get_mut())
            }
            Stream::Ended => Vec::new(),
        };
        Ok(out.into())
    }

    /// Ends the stream, and returns the rest of it.
    #[napi]
    pub fn end(&mut self) -> napi::Result<Buffer, &'static str> {
        let out = match std::mem::replace(&mut self.stream, Stream::Ended) {
            Stream::Compress(encoder) => encoder.finish().map_err(|error| failed(&error))?,
            Stream::Decompress(mut decoder) => {
                decoder.flush().map_err(|error| failed(&error))?;
                decoder.into_inner()
            }
            Stream::Ended => Vec::new(),
        };
        Ok(out.into())
    }
}
