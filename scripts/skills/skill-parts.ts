/** A fenced block: the text after the opening fence, and the lines between the fences. */
export interface Fence {
  readonly info: string;
  readonly text: string;
  /** In the body, from 1. */
  readonly line: number;
}

/** A call that a worked example makes, and its result according to the text. */
export interface ExampleCall {
  readonly tool: string;
  /** JSON. */
  readonly arguments: string;
  readonly result: string | undefined;
  /** In the body, from 1. */
  readonly line: number;
}

/** The parts of a body that rules look at. */
export interface SkillParts {
  readonly lines: readonly string[];
  readonly headings: readonly string[];
  readonly fences: readonly Fence[];
  /** The lines outside of fences, with the headings. */
  readonly prose: string;
  readonly calls: readonly ExampleCall[];
  /** The line of a fence that is not closed, in the body, from 1. */
  readonly openFence: number | undefined;
}

/** Takes a body apart. Pure. */
export function partsOf(body: string): SkillParts {
  const lines = body.split('\n');
  const fences: Fence[] = [];
  const prose: string[] = [];
  let open: { readonly mark: string; readonly info: string; readonly line: number } | undefined;
  let inside: string[] = [];
  for (const [index, line] of lines.entries()) {
    const fence = /^\s*(`{3,})\s*([^`]*)$/.exec(line);
    if (open === undefined && fence !== null) {
      open = { mark: fence[1]!, info: fence[2]!.trim(), line: index + 1 };
      inside = [];
    } else if (open === undefined) prose.push(line);
    else if (fence !== null && fence[2] === '' && fence[1]!.length >= open.mark.length) {
      fences.push({ info: open.info, text: inside.join('\n'), line: open.line });
      open = undefined;
    } else inside.push(line);
  }
  const headings = prose.filter((line) => /^#{1,2} /.test(line));
  return { lines, headings, fences, prose: prose.join('\n'), calls: callsOf(fences), openFence: open?.line };
}

function callsOf(fences: readonly Fence[]): readonly ExampleCall[] {
  return fences.flatMap(({ info, text, line }, index) => {
    const [kind, tool] = info.split(/\s+/);
    if (kind !== 'call') return [];
    const next = fences[index + 1];
    const result = next?.info === 'result' ? next.text.trim() : undefined;
    return [{ tool: tool ?? '', arguments: text, result, line }];
  });
}

/** The texts that the prose puts between backticks. Pure. */
export function quotedIn(prose: string): readonly string[] {
  return [...prose.matchAll(/`([^`\n]+)`/g)].map(([, text]) => text!);
}
