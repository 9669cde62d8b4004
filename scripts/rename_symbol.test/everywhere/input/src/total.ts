export function total(items: number[]) {
  return items.length; // total
}
