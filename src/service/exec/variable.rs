//! The variables that no call may set: those that make a permitted program run or load something else.
//!
//! Policies permit a program by its name and its first words, and a call must not turn it into another. So whole families of
//! names are refused, except those that are known to be harmless. A policy may pass refused variables on (`[exec] env`), with
//! values from nrv's own environment. It may also permit them for a rule (`env` of `[[exec.allow]]`).

/// Variables of one interpreter or tool.
struct Family {
    /// The program that reads them.
    tool: &'static str,
    /// Their names, between blanks; a `*` matches any text.
    refused: &'static str,
    /// The ones that a call may set all the same.
    allowed: &'static str,
    /// Their effect.
    reason: &'static str,
}

/// Names that nrv sets itself: no rule permits them.
const OWN: &[&str] = &["PWD", "TMPDIR"];

const LOADS: &str = "it loads what they name";
const STARTS: &str = "it starts what they name";
const STEERS: &str = "it takes options from them, with which it runs or loads something else";
const CONFIGURES: &str = "it takes settings from where they lead, which name programs";

const fn family(tool: &'static str, refused: &'static str, allowed: &'static str, reason: &'static str) -> Family {
    Family { tool, refused, allowed, reason }
}

/// All of them, sorted by tool.
const FAMILIES: &[Family] = &[
    family(
        ".NET",
        "ASPNETCORE_HOSTINGSTARTUPASSEMBLIES COMPLUS_* CORECLR_* COR_* CUSTOMAFTER* CUSTOMBEFORE* DIRECTORYBUILD* \
         DIRECTORYPACKAGES* DOTNET* MONO_* MSBUILD* NUGET_*",
        "DOTNET_CLI_TELEMETRY_OPTOUT DOTNET_CLI_UI_LANGUAGE DOTNET_ENVIRONMENT DOTNET_NOLOGO \
         DOTNET_SKIP_FIRST_TIME_EXPERIENCE",
        LOADS,
    ),
    family(
        "any program",
        "*_ASKPASS *_BIN *_BROWSER *_CMD *_COMMAND *_EDITOR *_EXEC *_EXECUTABLE *_EXECUTABLE_PATH *_HOOK *_HOOKS \
         *_INTERPRETER *_LAUNCHER *_LIBRARY_PATH *_LINKER *_MODULES_PATH *_MODULE_PATH *_PAGER *_PLUGIN *_PLUGINS \
         *_PLUGIN_DIR *_PLUGIN_PATH *_PRELOAD *_PROGRAM *_RSH *_RUNNER *_SHELL *_SSH *_SSH_COMMAND *_STARTUP *_WRAPPER \
         ASKPASS BROWSER DISPLAY_MANAGER EDITOR HELPBROWSER MAILER MANPAGER PAGER SHELL TERMINAL TERMINAL_EMULATOR \
         VISUAL",
        "",
        "programs start or load what they name",
    ),
    family(
        "any program with options in a variable",
        "*OPTS *_CONFIG_DIR *_CONFIG_FILE *_CONFIG_HOME *_CONFIG_PATH *_HOME *_OPTIONS *_RCFILE",
        "",
        "programs take options and settings from them, and with those they run or load something else",
    ),
    family("awk", "AWKLIBPATH AWKPATH GAWK_*", "", LOADS),
    family(
        "C and C++ toolchains",
        "*CFLAGS *CPPFLAGS *CXXFLAGS *FFLAGS *LDFLAGS *_AR *_CC *_CXX *_LD *_PKG_CONFIG* *_RANLIB ADDR2LINE AR AR_* AS \
         CC CCACHE_* CCC_OVERRIDE_OPTIONS CC_* CLANG_* COMPILER_PATH CPATH CPLUS_INCLUDE_PATH CPP CPPFLAGS CXX CXX_* \
         C_INCLUDE_PATH DISTCC* F77 FC GCC_* LD LDSHARED LIBRARY_PATH NM NVCC* OBJCOPY OBJC_INCLUDE_PATH OBJDUMP \
         PKG_CONFIG* RANLIB RANLIB_* STRIP",
        "",
        "they name compilers, linkers and what those load",
    ),
    family(
        "cloud and container tools",
        "ANSIBLE_* AWS_CA_BUNDLE AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE BUILDKIT_* CLOUDSDK_* CONTAINERS_* \
         DOCKER_CLI_* DOCKER_CONFIG DOCKER_HOST HELM_* KUBE* PACKER_* TERRAFORM_* TF_CLI_* TF_DATA_DIR TF_PLUGIN_* \
         VAGRANT_*",
        "",
        CONFIGURES,
    ),
    family(
        "CMake and Meson",
        "CMAKE_* CPACK_* CTEST_* MESON* NINJA NINJAFLAGS",
        "CMAKE_BUILD_PARALLEL_LEVEL CMAKE_COLOR_DIAGNOSTICS CTEST_OUTPUT_ON_FAILURE CTEST_PARALLEL_LEVEL",
        STARTS,
    ),
    family("curl and wget", "CURL_HOME SYSTEM_WGETRC WGETRC", "", CONFIGURES),
    family("debuggers", "DEBUGINFOD_* GDB* LLDB_* STRACE_* VALGRIND_*", "", STEERS),
    family("Deno", "DENO_*", "DENO_NO_UPDATE_CHECK", LOADS),
    family("Emacs", "ALTERNATE_EDITOR EMACS*", "", LOADS),
    family("Erlang and Elixir", "ELIXIR_* ERL_* ESCRIPT_* HEX_* MIX_* REBAR*", "MIX_ENV", STEERS),
    family(
        "Git",
        "GIT_*",
        "GIT_AUTHOR_DATE GIT_AUTHOR_EMAIL GIT_AUTHOR_NAME GIT_COMMITTER_DATE GIT_COMMITTER_EMAIL GIT_COMMITTER_NAME",
        "it takes its repository, its configuration and the programs that it starts from them",
    ),
    family(
        "Go",
        "CGO_* GCCGO* GOAUTH GOBIN GOCACHE GOCACHEPROG GOENV GOFLAGS GOINSECURE GOMODCACHE GONOPROXY GONOSUMDB \
         GOPACKAGESDRIVER GOPATH GOPRIVATE GOPROXY GOROOT* GOSUMDB GOTMPDIR GOTOOLCHAIN GOTOOLDIR GOVCS GOWORK",
        "CGO_ENABLED",
        STARTS,
    ),
    family("grep", "ACKRC ACK_* GREP_OPTIONS RIPGREP_CONFIG_PATH", "", STEERS),
    family(
        "Java and what runs on it",
        "ANT_* CATALINA_* CLASSPATH CLOJURE* GRADLE_* GROOVY_* JAVA* JDK_* JPDA_* JRE_HOME KOTLIN* LEIN_* M2_HOME \
         MAVEN_* MVN* SBT_* SCALA* _JAVA_*",
        "",
        LOADS,
    ),
    family("Julia", "JULIA_*", "JULIA_NUM_THREADS", LOADS),
    family("less", "LESS LESS*", "LESSCHARSET", STARTS),
    family("Lua", "LUAROCKS_* LUA_*", "", LOADS),
    family(
        "make",
        "ACLOCAL* AUTOCONF AUTOMAKE BMAKE* CONFIG_SHELL CONFIG_SITE GNUMAKEFLAGS LEX LIBTOOL* M4PATH MAKE MAKEFILES \
         MAKEFLAGS MAKESHELL MAKE_* MFLAGS YACC",
        "",
        STEERS,
    ),
    family(
        "Node and its package managers",
        "BUN_* COREPACK_* ELECTRON_* ESBUILD_* NODE_* NPM_* NVM_* PNPM_* TSX_* TS_NODE_* VOLTA_* YARN_*",
        "NODE_DEBUG NODE_DISABLE_COLORS NODE_ENV NODE_NO_WARNINGS NODE_PENDING_DEPRECATION",
        LOADS,
    ),
    family("nrv itself", "NRV_*", "", "they say what nrv obeys"),
    family(
        "other languages",
        "CABAL_* CAML* CHEZ* CRYSTAL_* DART_* FLUTTER_* GHC* GUILE_* NIMBLE* OCAML* OCTAVE_* OPAM* PLTADDONDIR PLTCOLLECTS PUB_CACHE \
         RACKET* SBCL* STACK_ROOT STACK_YAML SWIFT_* TCLLIBPATH TCL_* ZIG_*",
        "",
        LOADS,
    ),
    family("Perl", "PERL*", "PERL_BADLANG PERL_HASH_SEED PERL_PERTURB_KEYS", LOADS),
    family("PHP", "COMPOSER* PHPRC PHP_*", "COMPOSER_NO_INTERACTION PHP_CS_FIXER_IGNORE_ENV", CONFIGURES),
    family(
        "Python and its tools",
        "CONDA_* COVERAGE_PROCESS_START COVERAGE_RCFILE IPYTHONDIR JUPYTER_* MYPYPATH MYPY_* PDM_* PIPENV_* PIPX_* \
         PIP_* POETRY_* PYENV_* PYLINTRC PYTEST_* PYTHON* RUFF_* TOX_* UV_* VIRTUALENV_* VIRTUAL_ENV* \
         __PYVENV_LAUNCHER__",
        "PYTEST_CURRENT_TEST PYTHONASYNCIODEBUG PYTHONCOERCECLOCALE PYTHONDEBUG PYTHONDEVMODE PYTHONDONTWRITEBYTECODE \
         PYTHONFAULTHANDLER PYTHONHASHSEED PYTHONINTMAXSTRDIGITS PYTHONIOENCODING PYTHONMALLOC PYTHONNODEBUGRANGES \
         PYTHONNOUSERSITE PYTHONOPTIMIZE PYTHONSAFEPATH PYTHONTRACEMALLOC PYTHONUNBUFFERED PYTHONUTF8 PYTHONVERBOSE \
         PYTHON_COLORS PYTHON_CPU_COUNT PYTHON_GIL",
        LOADS,
    ),
    family("R", "RENV_* RSTUDIO_* R_*", "R_DEFAULT_DEVICE", LOADS),
    family("Ruby", "BUNDLE* GEMRC GEM_* IRBRC PRYRC RAKE* RBENV_* RUBY* RVM_*", "", LOADS),
    family(
        "Rust",
        "*RUSTFLAGS CARGO* CLIPPY_* RUSTC* RUSTDOC* RUSTFLAGS RUSTFMT RUSTUP* RUST_GDB RUST_LLDB SCCACHE_*",
        "CARGO_BUILD_JOBS CARGO_HTTP_TIMEOUT CARGO_INCREMENTAL CARGO_LOG CARGO_NET_OFFLINE CARGO_NET_RETRY \
         CARGO_TARGET_DIR CARGO_TERM_* RUSTC_LOG",
        STARTS,
    ),
    family(
        "shells",
        "ASDF_* BASH BASHOPTS BASH_* CDPATH DIRENV_* ENV FCEDIT FISH_* FPATH HISTFILE IFS INPUTRC KSH_* MISE_* NULLCMD \
         PROMPT PROMPT_COMMAND PS0 PS1 PS2 PS4 READNULLCMD RPROMPT RTX_* SHELLOPTS STARSHIP_* ZDOTDIR ZSH*",
        "",
        "a shell runs, or takes functions and settings from, what they name",
    ),
    family("SQL clients", "MYSQL_HOME PGSERVICEFILE PGSYSCONFDIR PSQLRC PSQL_* SQLITE_HISTORY", "", CONFIGURES),
    family("ssh and sudo", "BORG_* CVS_* HGEDITOR HGMERGE HGRCPATH RESTIC_* RSYNC_* SSH_* SUDO_* SVN_*", "", STARTS),
    family("tar and compressors", "BZIP* GZIP TAR_* UNZIP* XZ_* ZIP ZIPOPT ZSTD_*", "", STEERS),
    family("TeX", "LUAINPUTS TEXINPUTS* TEXMF*", "", CONFIGURES),
    family(
        "the home and the folders of settings",
        "APPDATA HOME LOCALAPPDATA USERPROFILE XDG_*",
        "",
        "git, package managers and shells take settings from there, which name programs",
    ),
    family(
        "the loader and the C library",
        "ASAN_* DYLD_* GCONV_PATH GETCONF_DIR GLIBC_TUNABLES HOSTALIASES LD_* LOCALDOMAIN LOCPATH LSAN_* MALLOC_TRACE \
         MSAN_* NIS_PATH NLSPATH RESOLV_HOST_CONF RES_OPTIONS SEGFAULT_OUTPUT_NAME TSAN_* UBSAN_*",
        "",
        "it takes code, or what steers it, from them",
    ),
    family("the search for programs", "MANPATH PATH", "", "they say which programs are started"),
    family("the terminal's library", "FONTCONFIG_* NCURSES_* TERMCAP TERMINFO* TERMPATH", "", LOADS),
    family(
        "toolkits of windows",
        "DBUS_* GDK_* GIO_* GI_TYPELIB_PATH GSETTINGS_* GST_* GS_LIB GS_OPTIONS GTK* LIBGL_* MAGICK_* QML* QT_* VK_*",
        "",
        LOADS,
    ),
    family(
        "transport security",
        "CURL_CA_BUNDLE GNUPGHOME GNUTLS_* KRB5* NSS_* OPENSSL_* PKCS11_* REQUESTS_CA_BUNDLE SSLKEYLOGFILE SSL_CERT_*",
        "",
        "it loads modules from where they lead, trusts what is there, or writes its keys to it",
    ),
    family("Vim", "EXINIT GVIMINIT MYVIMRC NVIM* VIM VIMINIT VIMRUNTIME", "", STARTS),
];

/// The reason that a call can't set a variable: its reader and its effect; none if it may.
///
/// Case does not matter: some programs read their variables in any case.
pub(super) fn refusal(name: &str, permitted: &[String]) -> Option<String> {
    let name = name.to_ascii_uppercase();
    if OWN.contains(&name.as_str()) {
        return Some("nrv sets it".to_owned());
    }
    if permitted.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
        return None;
    }
    let is_one_of = |patterns: &str| patterns.split_whitespace().any(|pattern| covers(pattern, &name));
    // One family may allow a name that another one refuses only by its ending.
    if FAMILIES.iter().any(|family| is_one_of(family.allowed)) {
        return None;
    }
    let family = FAMILIES.iter().find(|family| is_one_of(family.refused))?;
    Some(format!("it is one of the variables of {}, and {}", family.tool, family.reason))
}

/// True if the name matches the pattern, which has at most one `*` at each end.
fn covers(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(rest), Some(_)) => rest.strip_suffix('*').is_some_and(|part| name.contains(part)),
        (Some(end), None) => name.ends_with(end),
        (None, Some(start)) => name.starts_with(start),
        (None, None) => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refuses(names: &str) {
        for name in names.split_whitespace() {
            assert!(refusal(name, &[]).is_some(), "{name}");
        }
    }

    #[track_caller]
    fn allows(names: &str) {
        for name in names.split_whitespace() {
            assert_eq!(refusal(name, &[]), None, "{name}");
        }
    }

    /// The families as the documentation has them.
    fn page() -> String {
        let names =
            |names: &str| names.split_whitespace().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ");
        let row = |family: &Family| {
            format!("| {} | {} | {} | {} |\n", family.tool, names(family.refused), names(family.allowed), family.reason)
        };
        let rows: String = FAMILIES.iter().map(row).collect();
        format!("| Variables of | Refused | Allowed all the same | Because |\n|---|---|---|---|\n{rows}")
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the page is compared with, or blessed from, the list")]
    fn the_page_has_the_families() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protected.md");
        let (text, page) = (std::fs::read_to_string(file).unwrap(), page());
        let at = text.find("| Variables of |").unwrap();
        if std::env::var_os("NRV_BLESS").is_some() {
            std::fs::write(file, format!("{}{page}", &text[..at])).unwrap();
        } else {
            assert!(text[at..] == page, "docs/protected.md is old; run the tests with NRV_BLESS=1");
        }
    }

    #[test]
    fn the_families_are_sorted_and_each_name_stands_once_in_its_family() {
        assert!(FAMILIES.is_sorted_by_key(|family| family.tool.to_lowercase()));
        for family in FAMILIES {
            for names in [family.refused, family.allowed] {
                let names: Vec<&str> = names.split_whitespace().collect();
                assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "{names:?}");
                assert!(names.iter().all(|name| *name == name.to_uppercase() && *name != "*"), "{names:?}");
            }
        }
    }

    /// A useless exception would go unnoticed otherwise.
    #[test]
    fn what_a_family_allows_it_would_refuse() {
        for family in FAMILIES {
            let is_refused = |name: &str| family.refused.split_whitespace().any(|pattern| covers(pattern, name));
            for name in family.allowed.split_whitespace() {
                assert!(is_refused(name.trim_end_matches('*')), "{name} of {}", family.tool);
            }
        }
    }

    #[test]
    fn variables_that_only_inform_are_allowed() {
        allows(
            "CI DEBUG FORCE_COLOR GITHUB_SHA LANG LC_ALL NODE_ENV NO_COLOR RUST_BACKTRACE RUST_LOG SOURCE_DATE_EPOCH TERM TZ",
        );
        allows(
            "CARGO_INCREMENTAL CARGO_NET_OFFLINE CARGO_TARGET_DIR CARGO_TERM_COLOR CARGO_TERM_PROGRESS_WHEN RUST_TEST_THREADS",
        );
        allows(
            "PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING PYTHONUTF8 PYTEST_CURRENT_TEST",
        );
        allows(
            "CGO_ENABLED GOARCH GOMAXPROCS GOOS MIX_ENV RAILS_ENV PORT HOST DATABASE_URL API_KEY GEMINI_API_KEY COLUMNS USER",
        );
        allows(
            "GIT_AUTHOR_NAME GIT_COMMITTER_DATE DOTNET_NOLOGO JULIA_NUM_THREADS CMAKE_BUILD_PARALLEL_LEVEL HTTP_PROXY A ab_c",
        );
    }

    #[test]
    fn python_loads_nothing_that_a_call_names() {
        refuses(
            "PYTHONPATH PYTHONSTARTUP PYTHONHOME PYTHONINSPECT PYTHONUSERBASE PYTHONBREAKPOINT PYTHONWARNINGS PYTHONPLATLIBDIR",
        );
        refuses(
            "PYTHONEXECUTABLE PYTHONPYCACHEPREFIX PYTHON_PRESITE PIP_INDEX_URL UV_PYTHON POETRY_HOME VIRTUAL_ENV PYTEST_ADDOPTS",
        );
        refuses("PYTEST_PLUGINS COVERAGE_PROCESS_START MYPYPATH PYTHONCASEOK");
    }

    #[test]
    fn node_loads_nothing_that_a_call_names() {
        refuses(
            "NODE_PATH NODE_OPTIONS NODE_EXTRA_CA_CERTS npm_config_script_shell NPM_CONFIG_USERCONFIG Npm_Config_x YARN_RC_FILENAME",
        );
        refuses("BUN_CONFIG DENO_DIR ELECTRON_RUN_AS_NODE TS_NODE_PROJECT ESBUILD_BINARY_PATH");
    }

    #[test]
    fn ruby_perl_lua_and_php_load_nothing_that_a_call_names() {
        refuses("RUBYLIB RUBYOPT RUBYSHELL BUNDLE_GEMFILE BUNDLER_VERSION GEM_PATH GEM_HOME RAKEOPT IRBRC");
        refuses("PERL5LIB PERL5OPT PERLLIB PERL5DB PERL5SHELL PERL_MB_OPT PERL_MM_OPT PERLIO");
        refuses("LUA_PATH LUA_PATH_5_4 LUA_CPATH LUA_INIT LUA_INIT_5_3 PHPRC PHP_INI_SCAN_DIR COMPOSER_HOME");
    }

    #[test]
    fn the_machines_of_java_net_and_erlang_load_nothing_that_a_call_names() {
        refuses(
            "CLASSPATH JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS JAVA_OPTS JAVA_HOME MAVEN_OPTS MAVEN_ARGS GRADLE_OPTS SBT_OPTS",
        );
        refuses(
            "DOTNET_STARTUP_HOOKS DOTNET_ADDITIONAL_DEPS DOTNET_ROOT COMPlus_EnableDiagnostics CORECLR_PROFILER_PATH COR_PROFILER",
        );
        refuses(
            "CustomAfterMicrosoftCommonTargets MSBuildExtensionsPath NUGET_PACKAGES ERL_AFLAGS ERL_LIBS ELIXIR_ERL_OPTIONS",
        );
    }

    #[test]
    fn r_julia_and_other_languages_load_nothing_that_a_call_names() {
        refuses(
            "R_PROFILE R_PROFILE_USER R_ENVIRON R_LIBS R_HOME JULIA_LOAD_PATH JULIA_DEPOT_PATH OCAMLLIB GHCRTS TCLLIBPATH AWKPATH",
        );
        refuses("AWKLIBPATH GUILE_LOAD_PATH TEXINPUTS");
    }

    #[test]
    fn go_rust_and_c_build_with_no_tool_that_a_call_names() {
        refuses("GOFLAGS GOENV GOROOT GOPATH GOPROXY GOTOOLCHAIN CGO_CFLAGS CGO_LDFLAGS GOCACHE");
        refuses(
            "RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTDOC RUSTDOCFLAGS RUSTFLAGS CARGO CARGO_HOME RUSTUP_TOOLCHAIN RUSTUP_HOME",
        );
        refuses(
            "CARGO_BUILD_RUSTC CARGO_BUILD_RUSTC_WRAPPER CARGO_BUILD_RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_ALIAS_TEST",
        );
        refuses(
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER CARGO_PROFILE_DEV_RUSTFLAGS",
        );
        refuses(
            "MAKEFLAGS GNUMAKEFLAGS MAKEFILES MFLAGS CC CXX LD AR CFLAGS CPPFLAGS LDFLAGS TARGET_CC CC_x86_64_unknown_linux_gnu",
        );
        refuses(
            "CMAKE_TOOLCHAIN_FILE CMAKE_CXX_COMPILER_LAUNCHER COMPILER_PATH GCC_EXEC_PREFIX LIBRARY_PATH CPATH C_INCLUDE_PATH",
        );
        refuses("PKG_CONFIG_PATH CCACHE_PREFIX DISTCC_SSH");
    }

    #[test]
    fn shells_and_tools_take_no_settings_that_a_call_names() {
        refuses(
            "BASH_ENV ENV SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND ZDOTDIR IFS FPATH CDPATH BASH_LOADABLES_PATH BASH_FUNC_ls%% SHELL",
        );
        refuses(
            "HOME XDG_CONFIG_HOME XDG_DATA_DIRS GIT_CONFIG_COUNT GIT_SSH_COMMAND SSH_ASKPASS SUDO_ASKPASS LESS LESSOPEN MANPAGER",
        );
        refuses(
            "BROWSER EDITOR VISUAL PAGER TAR_OPTIONS GREP_OPTIONS RSYNC_RSH RIPGREP_CONFIG_PATH FZF_DEFAULT_COMMAND CHROME_BIN",
        );
        refuses("VIMINIT EXINIT KUBECONFIG AWS_CONFIG_FILE PSQLRC CURL_HOME WGETRC HGRCPATH DBUS_SESSION_BUS_ADDRESS");
    }

    #[test]
    fn the_loader_and_libraries_load_nothing_that_a_call_names() {
        refuses(
            "PATH LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES GLIBC_TUNABLES GCONV_PATH LOCPATH NLSPATH",
        );
        refuses(
            "TERMINFO TERMINFO_DIRS TERMCAP OPENSSL_CONF OPENSSL_MODULES SSLKEYLOGFILE SSL_CERT_FILE QT_PLUGIN_PATH GTK_MODULES",
        );
        refuses("GIO_EXTRA_MODULES GST_PLUGIN_PATH NRV_TRUSTED_PATHS PWD TMPDIR");
    }

    #[test]
    fn a_rule_permits_what_it_names_but_not_what_nrv_sets() {
        let permitted = ["PYTHONPATH".to_owned(), "PWD".to_owned()];
        assert_eq!(refusal("PYTHONPATH", &permitted), None);
        assert!(refusal("PYTHONHOME", &permitted).is_some());
        assert_eq!(refusal("PWD", &permitted).as_deref(), Some("nrv sets it"));
    }
}
