//! Signatures of `ssh-keygen -Y sign`, and the file of those whose signatures count. Pure: nothing is read or started here.
//!
//! What is accepted is a part of what `ssh-keygen -Y verify` accepts; what can't be judged for certain is refused.

mod signers;
mod sshsig;
mod wire;

pub use self::{
    signers::{Signers, Use},
    sshsig::Signature,
};
