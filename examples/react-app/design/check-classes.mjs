// Every class in a className of src/**/*.tsx must be defined in a style sheet below src/.
// Otherwise each unknown class is named as path:line, and the exit code is 1.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const app = resolve(process.argv[2] ?? join(dirname(fileURLToPath(import.meta.url)), ".."));

function files(folder, end) {
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return files(path, end);
      return entry.name.endsWith(end) ? [path] : [];
    });
}

const defined = new Set();
for (const path of files(join(app, "src"), ".css")) {
  const text = readFileSync(path, "utf8").replace(/\/\*[\s\S]*?\*\//g, "");
  for (const [selector] of text.matchAll(/[^{};]+(?=\{)/g)) {
    for (const [, name] of selector.matchAll(/\.([A-Za-z_][\w-]*)/g)) defined.add(name);
  }
}

// The text of a className: a string, or the strings in an expression that are not compared.
function strings(text, start) {
  if (text[start] === '"') {
    return [[start + 1, text.slice(start + 1, text.indexOf('"', start + 1))]];
  }
  let depth = 0;
  let end = start;
  do {
    if (text[end] === "{") depth += 1;
    if (text[end] === "}") depth -= 1;
    end += 1;
  } while (depth > 0 && end < text.length);
  return [...text.slice(start, end).matchAll(/([=!]==?\s*)?(["'`])([^"'`]*)\2/g)]
    .filter((found) => !found[1])
    .map((found) => [start + found.index + 1, found[3].replace(/\$\{[^}]*\}/g, " ")]);
}

let wrong = 0;
for (const path of files(join(app, "src"), ".tsx")) {
  const text = readFileSync(path, "utf8");
  for (const attribute of text.matchAll(/\bclassName=(?=["{])/g)) {
    for (const [offset, list] of strings(text, attribute.index + attribute[0].length)) {
      const line = text.slice(0, offset).split("\n").length;
      for (const name of list.split(/\s+/).filter(Boolean)) {
        if (defined.has(name)) continue;
        console.error(`${relative(app, path)}:${line}: the class "${name}" is not defined in any style sheet`);
        wrong += 1;
      }
    }
  }
}
process.exit(wrong > 0 ? 1 : 0);
