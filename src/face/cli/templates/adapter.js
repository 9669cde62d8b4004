#!/usr/bin/env node
// Removes blanks at the ends of lines: an adapter of nrv.
//
// It reads one JSON request on stdin and writes one JSON reply to stdout. `[adapters.NAME]` in `nrv.toml` names it.

const propose = (text) => text.split("\n").map((line) => line.replace(/ +$/, "")).join("\n");

const count = (files) => {
  const lines = files.flatMap((file) => file.text.split("\n"));
  return { blanks: lines.filter((line) => line.endsWith(" ")).length };
};

const { phase, files } = JSON.parse(require("fs").readFileSync(0, "utf8"));
// A file that is not UTF-8 has `b64` in place of `text`; it stays.
const texts = files.filter((file) => "text" in file);
const changed = () => texts.map(({ path, text }) => ({ path, text: propose(text) })).filter((file, i) => file.text !== texts[i].text);
const reply = phase === "propose" ? { files: changed() } : { counts: count(texts) };
process.stdout.write(JSON.stringify(reply));
