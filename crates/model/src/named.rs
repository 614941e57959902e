//! Values written in study files and on command lines as they are in JSON: words of one kind, and texts.

/// An enum whose variants are one word each: all of them, their words, and from a word back.
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
            /// All there are.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// As it is written in study files and on command lines.
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

        /// The error names those that there are.
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

/// Types that stand as text where serde meets them: what they display, and what is read from a string.
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
