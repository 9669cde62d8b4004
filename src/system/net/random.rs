//! Random bytes that nobody can guess, for keys of connections. Nothing of a run is chosen by them.

use ring::rand::{SecureRandom, SystemRandom};

use base::error::{Code, Error};

/// Random bytes of the system's generator.
pub fn random_bytes<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    let failed = |_| Error::new(Code::Io, "the system has no random bytes");
    SystemRandom::new().fill(&mut bytes).map_err(failed)?;
    Ok(bytes)
}
