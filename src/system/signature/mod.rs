//! Signatures of `ssh-keygen -Y sign`, the file of accepted signers, and codes under a secret key. Pure: nothing is read or started here.
//!
//! The accepted signatures are a subset of those that `ssh-keygen -Y verify` accepts; an undecidable one is refused.

mod code;
mod signers;
mod sshsig;
mod wire;

pub use self::{
    code::{KEY_BYTES, code, is_code_of},
    signers::{Signers, Use},
    sshsig::Signature,
};
