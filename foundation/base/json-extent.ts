/** How much a JSON text holds. */
export interface JsonExtent {
  /** Lists and objects inside of each other, at the deepest place. */
  readonly levels: number;
  /** What it costs to parse, roughly: its lists, objects, commas and colons. */
  readonly parts: number;
}

/**
 * Looks through a JSON text without parsing it, which for some megabytes of empty lists or of names takes seconds.
 * Linear; what it says of a text that is no JSON means nothing. Pure.
 */
export function jsonExtent(text: string): JsonExtent {
  let levels = 0;
  let parts = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case 0x22: // "
        at = endOfText(text, at);
        break;
      case 0x5b: // [
      case 0x7b: // {
        parts += 1;
        depth += 1;
        if (depth > levels) levels = depth;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth -= 1;
        break;
      case 0x2c: // ,
      case 0x3a: // :
        parts += 1;
    }
  }
  return { levels, parts };
}

/** Where the text ends that begins at `start`: at the next quotation mark that is not escaped. */
function endOfText(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end;
    while (text.charCodeAt(before - 1) === 0x5c) before -= 1;
    if ((end - before) % 2 === 0) return end;
  }
  return text.length;
}
