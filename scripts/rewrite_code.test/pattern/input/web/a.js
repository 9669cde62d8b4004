export function greet(name) {
  log("hello", name); // kept
  return log(log(name));
}
