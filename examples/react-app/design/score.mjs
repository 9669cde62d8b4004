// Measures the design of the app's source and prints one JSON object.
//
//   node design/score.mjs [app-folder]
//
// Each dimension has places, and a place is flawed or not:
//   hierarchy       every h1 to h6 with a text size class; its size and weight must reach those of its level
//   typography      every font-size and line-height in a style sheet; it must be on the scale
//   colour          every rule with a text colour; its contrast with its background must be 4.5 or more
//   spacing         every margin, padding and gap in a style sheet or a style prop; it must be a multiple of 4 px
//   alignment       every text-, items- and justify- class of a kind that a file uses three times or more;
//                   it must be the one that the file uses most, and what it uses as often as that is right too
//   consistency     every radius, every element with the class btn, and every import that several files share
//   accessibility   every img, nav, input, button and link; it must have a name that says something
//   responsiveness  every width, min-width, max-width and column list; none may be fixed above 480 px
//
// A dimension's score is 10 * (1 - flawed / min(places, 10)), and not below 0. At most ten places count, so
// that a few flaws matter in a large source too. "score" is the mean of the eight. All are rounded to 2 decimals.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

const COUNTED = 10;
const SIZES = [0.75, 0.875, 1, 1.125, 1.25, 1.5, 1.875, 2.25, 3];
const LINE_HEIGHTS = [0, 1, 1.1, 1.25, 1.5, 1.75];
const LEVELS = { h1: 2.25, h2: 1.5, h3: 1.125, h4: 1, h5: 1, h6: 1 };
const VAGUE = /^(|image|img|picture|photo|icon|here|click here|more|read more|link|button)$/i;
const FIXED_FROM = 480;

const app = resolve(process.argv[2] ?? join(dirname(fileURLToPath(import.meta.url)), ".."));
const dimensions = [
  "hierarchy",
  "typography",
  "colour",
  "spacing",
  "alignment",
  "consistency",
  "accessibility",
  "responsiveness",
];
const places = Object.fromEntries(dimensions.map((name) => [name, 0]));
const flaws = [];

function place(dimension, path, line, flaw) {
  places[dimension] += 1;
  if (flaw) flaws.push({ dimension, path, line, says: flaw });
}

function files(folder, end) {
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return files(path, end);
      if (!entry.name.endsWith(end)) return [];
      return [{ path: relative(app, path).split(sep).join("/"), text: readFileSync(path, "utf8") }];
    });
}

const lineAt = (text, offset) => text.slice(0, offset).split("\n").length;

// ---- style sheets -------------------------------------------------------------------------------------------

const rules = [];
for (const { path, text } of files(join(app, "src"), ".css")) {
  const plain = text.replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, " "));
  for (const found of plain.matchAll(/([^{};]+)\{([^{}]*)\}/g)) {
    const start = found.index + found[1].length + 1;
    const declarations = [...found[2].matchAll(/([\w-]+)\s*:\s*([^;]+);?/g)].map((declaration) => ({
      property: declaration[1],
      value: declaration[2].trim(),
      line: lineAt(plain, start + declaration.index),
    }));
    rules.push({ path, selector: found[1].trim(), declarations });
  }
}
const valueOf = (rule, ...names) => rule?.declarations.findLast((each) => names.includes(each.property));
const ruleOf = (selector) => rules.find((rule) => rule.selector === selector);
const classValue = (name, property) => valueOf(ruleOf(`.${name}`), property)?.value;

const variables = new Map();
for (const rule of rules.filter((each) => each.selector === ":root")) {
  for (const { property, value } of rule.declarations) variables.set(property, value);
}
const resolved = (value) => value.replace(/var\((--[\w-]+)\)/g, (_, name) => variables.get(name) ?? "");

// A length in px, or null for what is not fixed.
function pixels(value) {
  const found = /^(-?[\d.]+)(px|rem|em)?$/.exec(value);
  if (!found) return null;
  return found[2] === "rem" || found[2] === "em" ? Number(found[1]) * 16 : Number(found[1]);
}

function luminance(colour) {
  let hex = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(colour)?.[1];
  if (!hex) return null;
  if (hex.length === 3) hex = [...hex].map((digit) => digit + digit).join("");
  const [red, green, blue] = [0, 2, 4].map((at) => {
    const part = parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one, other) {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function spacing(path, line, property, value) {
  const lengths = value.split(/\s+/).map(pixels).filter((length) => length !== null);
  if (lengths.length === 0) return;
  const off = lengths.find((length) => Math.abs(length) % 4 !== 0);
  place("spacing", path, line, off !== undefined && `${property}: ${value} is off the 4 px scale`);
}

function width(path, line, property, value) {
  const fixed = value
    .replace(/minmax\([^)]*\)/g, "")
    .split(/\s+/)
    .reduce((sum, part) => sum + (pixels(part) ?? 0), 0);
  const flaw = property !== "max-width" && fixed > FIXED_FROM;
  place("responsiveness", path, line, flaw && `${property}: ${value} does not fit a narrow screen`);
}

const page = resolved(valueOf(ruleOf("body"), "background-color", "background")?.value ?? "#ffffff");
const radiusNames = [...variables.keys()].filter((name) => name.startsWith("--radius"));
const radii = new Set(radiusNames.map((name) => `var(${name})`));
for (const rule of rules.filter((each) => each.selector !== ":root")) {
  const { path, selector } = rule;
  const text = valueOf(rule, "color");
  if (text) {
    const background = resolved(valueOf(rule, "background-color", "background")?.value ?? page);
    const colour = resolved(text.value);
    if (luminance(colour) !== null && luminance(background) !== null) {
      const ratio = contrast(colour, background);
      const flaw = ratio < 4.5 && `${selector}: ${colour} on ${background} has a contrast of ${ratio.toFixed(2)}`;
      place("colour", path, text.line, flaw);
    }
  }
  for (const { property, value, line } of rule.declarations) {
    if (property === "font-size") {
      const on = SIZES.some((size) => pixels(value) === size * 16);
      place("typography", path, line, !on && `${selector}: font-size ${value} is not on the scale`);
    } else if (property === "line-height") {
      const on = LINE_HEIGHTS.includes(Number(value));
      place("typography", path, line, !on && `${selector}: line-height ${value} is not on the scale`);
    } else if (/^(margin|padding)(-|$)|gap$/.test(property)) {
      spacing(path, line, property, value);
    } else if (/^(min-|max-)?width$|^grid-template-columns$/.test(property)) {
      width(path, line, property, value);
    } else if (property === "border-radius") {
      const flaw = !radii.has(value) && `${selector}: border-radius ${value} is no radius of the theme`;
      place("consistency", path, line, flaw);
    }
  }
}

// ---- components ---------------------------------------------------------------------------------------------

// The end of what begins at `start`: of a string, or of an expression in braces.
function ending(text, start) {
  if (text[start] !== "{") return text.indexOf(text[start], start + 1) + 1;
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    if (text[at] === "{") depth += 1;
    if (text[at] === "}" && (depth -= 1) === 0) return at + 1;
  }
  return text.length;
}

// The elements of a file: name, line, attributes, and for a small one its content.
function elements(text) {
  const all = [];
  for (const open of text.matchAll(/(?<=[\s({>])<([A-Za-z]\w*)(?=[\s/>])/g)) {
    let at = open.index + open[0].length;
    const attributes = {};
    while (at < text.length && text[at] !== ">") {
      const name = /^[A-Za-z][\w-]*/.exec(text.slice(at))?.[0];
      if (!name) {
        at += 1;
        continue;
      }
      const line = lineAt(text, at);
      at += name.length;
      let value = "";
      if (text[at] === "=") {
        const end = ending(text, at + 1);
        value = text.slice(at + 1, end);
        at = end;
      }
      attributes[name] = { value, line };
    }
    const close = text[at - 1] === "/" ? at : text.indexOf(`</${open[1]}>`, at);
    all.push({ name: open[1], line: lineAt(text, open.index), attributes, content: text.slice(at + 1, close) });
  }
  return all;
}

// The class lists of an element. Strings that are compared with something are no classes.
function classLists(element) {
  const value = element.attributes.className?.value ?? "";
  return [...value.matchAll(/([=!]==?\s*)?(["'`])([^"'`]*)\2/g)]
    .filter((found) => !found[1])
    .map((found) => found[3].split(/\s+/).filter(Boolean));
}

const literal = (attribute) => /^\{?["'`]([^"'`]*)["'`]\}?$/.exec(attribute?.value ?? "")?.[1];
const named = (attribute) => attribute !== undefined && !VAGUE.test(literal(attribute) ?? "computed");
const components = files(join(app, "src"), ".tsx").map((file) => ({ ...file, elements: elements(file.text) }));
const imports = new Map();

for (const { path, text, elements: all } of components) {
  const aligned = { text: [], items: [], justify: [] };
  const labels = new Set(all.map((element) => literal(element.attributes.htmlFor)).filter(Boolean));
  for (const element of all) {
    const { name, line, attributes } = element;
    const classLine = attributes.className?.line ?? line;
    const lists = classLists(element);
    const classes = lists.flat();

    if (LEVELS[name]) {
      const size = classes.map((each) => pixels(classValue(each, "font-size") ?? "")).findLast((each) => each !== null);
      const weight = classes.map((each) => classValue(each, "font-weight")).findLast((each) => each !== undefined);
      const small = (size ?? 16) < LEVELS[name] * 16 && `the ${name} is ${size} px, and ${LEVELS[name] * 16} px is due`;
      const light = Number(weight ?? 600) < 600 && `the ${name} has the weight ${weight}, and 600 is due`;
      place("hierarchy", path, classLine, small || light);
    }

    for (const list of lists.filter((each) => each.includes("btn"))) {
      const radius = classValue("btn", "border-radius");
      const odd = list.find((each) => (classValue(each, "border-radius") ?? radius) !== radius);
      place("consistency", path, classLine, odd && `${odd} differs in its radius from the other buttons`);
    }

    for (const each of classes) {
      const found = /^(text|items|justify)-(left|center|right|start|end|between)$/.exec(each);
      if (found) aligned[found[1]].push({ line: classLine, name: each });
    }

    if (name === "img") {
      const flaw = !named(attributes.alt) && `the alt text "${literal(attributes.alt) ?? ""}" says nothing`;
      place("accessibility", path, attributes.alt?.line ?? line, flaw);
    } else if (name === "nav") {
      const flaw = !named(attributes["aria-label"] ?? attributes["aria-labelledby"]) && "the nav has no label";
      place("accessibility", path, line, flaw);
    } else if (name === "input" || name === "select" || name === "textarea") {
      const label = labels.has(literal(attributes.id)) || named(attributes["aria-label"]);
      place("accessibility", path, line, !label && `the ${name} has no label`);
    } else if (name === "button" || name === "a") {
      const content = element.content.replace(/<[^>]*>/g, " ").trim();
      const vague = !named(attributes["aria-label"]) && VAGUE.test(content);
      const flaw = vague && `the ${name} has no name that says what it does`;
      const first = element.content.length - element.content.trimStart().length;
      const below = content && flaw ? element.content.slice(0, first).split("\n").length - 1 : 0;
      place("accessibility", path, line + below, flaw);
    }

    const style = attributes.style;
    for (const found of style?.value.matchAll(/(\w+):\s*(?:"([^"]*)"|([\d.]+))/g) ?? []) {
      const property = found[1].replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      const value = found[2] ?? `${found[3]}px`;
      if (/^(margin|padding)(-|$)|gap$/.test(property)) spacing(path, style.line, property, value);
      if (/^(min-|max-)?width$/.test(property)) width(path, style.line, property, value);
    }
  }

  for (const group of Object.values(aligned)) {
    if (group.length < 3) continue;
    const counts = new Map();
    for (const each of group) counts.set(each.name, (counts.get(each.name) ?? 0) + 1);
    const most = Math.max(...counts.values());
    for (const each of group) {
      const flaw = counts.get(each.name) < most && `${each.name} stands alone among its siblings`;
      place("alignment", path, each.line, flaw);
    }
  }

  for (const found of text.matchAll(/^import \{ ([^}]+) \} from "(\.[^"]+)";$/gm)) {
    const line = lineAt(text, found.index);
    for (const name of found[1].split(",").map((each) => each.trim())) {
      if (!imports.has(name)) imports.set(name, []);
      imports.get(name).push({ path, line, module: found[2].replace(/^.*\//, "") });
    }
  }
}

for (const [name, uses] of imports) {
  if (uses.length < 2) continue;
  const count = (module) => uses.filter((use) => use.module === module).length;
  const best = uses.map((use) => use.module).reduce((one, other) => (count(other) > count(one) ? other : one));
  for (const use of uses) {
    const flaw = use.module !== best && `${name} comes from ${use.module}, and from ${best} elsewhere`;
    place("consistency", use.path, use.line, flaw);
  }
}

// ---- result -------------------------------------------------------------------------------------------------

const round = (value) => Math.round(value * 100) / 100;
const scores = {};
for (const name of dimensions) {
  const flawed = flaws.filter((flaw) => flaw.dimension === name).length;
  scores[name] = round(10 * Math.max(0, 1 - flawed / Math.max(1, Math.min(places[name], COUNTED))));
}
const rank = ({ dimension, path, line, says }) =>
  [dimensions.indexOf(dimension), path, String(line).padStart(6, "0"), says].join("\0");
flaws.sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
const numbers = {};
const listed = flaws.map((flaw) => {
  numbers[flaw.dimension] = (numbers[flaw.dimension] ?? 0) + 1;
  return { id: `${flaw.dimension}-${numbers[flaw.dimension]}`, ...flaw };
});
const mean = dimensions.reduce((sum, name) => sum + scores[name], 0) / dimensions.length;
console.log(JSON.stringify({ score: round(mean), dimensions: scores, flaws: listed }, null, 2));
