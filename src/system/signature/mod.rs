//! Signatures of `ssh-keygen -Y sign`, and the file of accepted signers. Pure: nothing is read or started here.
//!
//! The accepted signatures are a subset of those that `ssh-keygen -Y verify` accepts; an undecidable one is refused.

mod signers;
mod sshsig;
mod wire;

pub use self::{
    signers::{Signers, Use},
    sshsig::Signature,
};
