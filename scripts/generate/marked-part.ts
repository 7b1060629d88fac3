/**
 * The text with other content between the comments `<!-- <name>:start -->` and `<!-- <name>:end -->`. Throws an Error
 * naming the file where they are missing.
 */
export function replaceMarked(file: string, name: string, text: string, content: string): string {
  const [first, last] = [`<!-- ${name}:start -->`, `<!-- ${name}:end -->`];
  const start = text.indexOf(first);
  const end = text.indexOf(last);
  if (start < 0 || end < start) throw new Error(`${file} needs the markers ${first} and ${last}`);
  return `${text.slice(0, start + first.length)}\n${content}\n${text.slice(end)}`;
}

/** A row of a Markdown table. */
export function tableRow(...cells: string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
}
