export function greet(name) {
  trace("hello", name); // kept
  return trace(trace(name));
}
