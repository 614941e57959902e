//! Macros for values that are written alike in study files, on command lines and in JSON: enums of
//! words, and texts.

/// Declares an enum whose variants are one word each, with a list of all variants, their words and
/// the way back from a word.
#[macro_export]
macro_rules! named {
    (
        $(#[$about:meta])*
        pub enum $name:ident, $kind:literal { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }
    ) => {
        $(#[$about])*
        pub enum $name {
            $($(#[$doc])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// All variants.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The word for it in study files and on command lines.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.pad(self.name())
            }
        }

        /// The error message lists all words.
        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let mut all = Self::ALL.into_iter();
                all.find(|one| one.name() == text).ok_or_else(|| {
                    let known = Self::ALL.map(Self::name).join(", ");
                    format!("there is no {} `{text}`; there are {known}", $kind)
                })
            }
        }
    };
}

/// Lets serde read and write types as strings, by `Display` and `FromStr`.
#[macro_export]
macro_rules! as_text {
    ($($name:ty),*) => {$(
        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.to_string()
            }
        }

        impl TryFrom<String> for $name {
            type Error = <$name as std::str::FromStr>::Err;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }
    )*};
}

pub(crate) use {as_text, named};
