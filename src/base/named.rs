//! Enums whose variants have names on the wire.

/// Declares such an enum. The names are those of `serde` and of `as_str`.
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$of:meta])* $variant:ident = $wire:literal,)+ }) => {
        $(#[$meta])*
        pub enum $name { $($(#[$of])* #[serde(rename = $wire)] $variant,)+ }

        impl $name {
            /// The name on the wire and in records.
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $wire,)+ }
            }
        }
    };
}
pub use named;
