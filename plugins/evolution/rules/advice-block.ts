import type { Suggestion } from './suggestions.ts';

/** The first line of the block. */
export const ADVICE_BEGINS = '[experience of this agent with tasks like this one]';
/** The last line of the block. */
export const ADVICE_ENDS = '[end of experience]';
/** Characters of the block at most, its delimiters included. */
export const MAX_ADVICE = 6_000;

/**
 * The suggestions as a block for the system prompt, or the empty text for none. All words are the gateway's own, except
 * for the names of tools, as the model calls them; a tool without a name is left out. Pure.
 *
 * @param nameOf the name by which the model calls the tool with a ref: `[a-zA-Z0-9_-]{1,64}`
 */
export function adviceBlock(
  suggestions: readonly Suggestion[],
  nameOf: (component: string) => string | undefined,
): string {
  const lines: string[] = [];
  let left = MAX_ADVICE - ADVICE_BEGINS.length - ADVICE_ENDS.length - 1;
  for (const { kind, component } of suggestions) {
    const name = nameOf(component);
    if (name === undefined || !TOOL_NAME.test(name)) continue;
    const line = SENTENCES[kind](name);
    left -= line.length + 1;
    if (left < 0) break;
    lines.push(line);
  }
  return lines.length === 0 ? '' : [ADVICE_BEGINS, ...lines, ADVICE_ENDS].join('\n');
}

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

const SENTENCES: Readonly<Record<Suggestion['kind'], (name: string) => string>> = {
  prefer: (name) => `- Use ${name}: it has worked well for such tasks.`,
  try: (name) => `- Try ${name} first: what was used before has often failed for such tasks.`,
  avoid: (name) => `- Avoid ${name}: it has mostly failed for such tasks.`,
};
