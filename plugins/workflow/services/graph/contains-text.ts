/**
 * Needles up to this length are left to the runtime: its search takes time that grows with the text times the needle in the worst case, which is
 * little for short ones.
 */
const SHORT = 16;

/** Whether a text is part of another one, in time that grows with both lengths, whatever they hold (Knuth, Morris and Pratt). */
export function containsText(text: string, needle: string): boolean {
  if (needle.length <= SHORT) return text.includes(needle);
  if (needle.length > text.length) return false;
  const borders = bordersOf(needle);
  let matched = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    while (matched > 0 && needle.charCodeAt(matched) !== unit) matched = borders[matched - 1]!;
    if (needle.charCodeAt(matched) === unit) matched += 1;
    if (matched === needle.length) return true;
  }
  return false;
}

/** For each beginning of a text the length of its longest proper part that it both begins and ends with. */
function bordersOf(text: string): Uint32Array {
  const borders = new Uint32Array(text.length);
  let border = 0;
  for (let index = 1; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    while (border > 0 && text.charCodeAt(border) !== unit) border = borders[border - 1]!;
    if (text.charCodeAt(border) === unit) border += 1;
    borders[index] = border;
  }
  return borders;
}
