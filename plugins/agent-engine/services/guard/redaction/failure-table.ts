/**
 * How much of `text` still stands when, after its first n characters, the next does not follow: the failure function of
 * Knuth, Morris and Pratt, by which a text is found in a stream without going back.
 */
export function failureTable(text: string): number[] {
  const table = [0, 0];
  for (let length = 2; length <= text.length; length += 1) {
    let kept = table[length - 1]!;
    while (kept > 0 && text[kept] !== text[length - 1]) kept = table[kept]!;
    table.push(text[kept] === text[length - 1] ? kept + 1 : 0);
  }
  return table;
}
