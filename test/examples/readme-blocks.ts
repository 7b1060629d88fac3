/** A fenced block of a Markdown file. */
export interface Block {
  /** The second-level heading above it. */
  readonly section: string;
  /** `bash`, `json`, `ts` … */
  readonly language: string;
  /**
   * What the fence says after the language: `run`, `start`, `setup`, `output`, `printed`, `file=<path>`, `from=<path>`,
   * `skip=<why>`.
   */
  readonly marks: readonly string[];
  readonly text: string;
  /** Of its fence, from 1. */
  readonly line: number;
}

/** The fenced blocks of a Markdown text, in order. */
export function readBlocks(markdown: string): readonly Block[] {
  const blocks: Block[] = [];
  let section = '';
  let open: { language: string; marks: string[]; line: number; lines: string[] } | undefined;
  for (const [index, line] of markdown.split('\n').entries()) {
    if (open === undefined && line.startsWith('## ')) section = line.slice(3);
    // Fences in lists are indented.
    const fence = /^ *```(.*)$/.exec(line)?.[1];
    if (fence === undefined) open?.lines.push(line);
    else if (open === undefined) {
      const [language = '', ...marks] = fence.split(' ');
      open = { language, marks, line: index + 1, lines: [] };
    } else {
      const { lines, ...opened } = open;
      blocks.push({ ...opened, section, text: lines.join('\n') });
      open = undefined;
    }
  }
  return blocks;
}

/** The value of the mark `<name>=<value>`. */
export function markOf({ marks }: Block, name: string): string | undefined {
  return marks.find((mark) => mark.startsWith(`${name}=`))?.slice(name.length + 1);
}

/**
 * True when a text has the form of `shown`: `…` stands for anything inside a line, and a line that is nothing but `…`
 * for any number of lines.
 */
export function looksLike(text: string, shown: string): boolean {
  const pattern = shown
    .trim()
    .split('\n')
    .map((line) => (line === '…' ? '(?:.*\n)*?.*' : line.split('…').map(RegExp.escape).join('.*')))
    .join('\n');
  return new RegExp(`^${pattern}$`).test(text.replaceAll('\r', '').trim());
}

/**
 * True when a JSON value has the form of `shown`: the same members, with `…` in a string standing for anything. Only
 * that `created` is a number is looked at.
 */
export function hasForm(value: unknown, shown: unknown): boolean {
  if (typeof shown === 'string') return typeof value === 'string' && looksLike(value, shown);
  if (typeof shown !== 'object' || shown === null) return value === shown;
  if (typeof value !== 'object' || value === null || Array.isArray(value) !== Array.isArray(shown))
    return false;
  const members = Object.entries(shown);
  const given = value as Record<string, unknown>;
  if (Object.keys(given).length !== members.length) return false;
  return members.every(([name, form]) =>
    name === 'created' ? typeof given[name] === 'number' : hasForm(given[name], form),
  );
}
