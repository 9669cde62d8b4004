export function sum(items: number[]) {
  return items.length; // total
}
