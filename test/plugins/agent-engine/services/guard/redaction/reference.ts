import {
  type CharClass,
  OTHER,
  UNITS,
} from '../../../../../../plugins/agent-engine/services/guard/redaction/char-class.ts';
import {
  type Boundary,
  type CredentialKind,
  count,
  newTally,
  type Pattern,
  type Step,
} from '../../../../../../plugins/agent-engine/services/guard/redaction/pattern.ts';

interface Match {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
}

/**
 * The rules of redaction in the slow and obvious way, with the regular expressions of JavaScript: tries every pattern at
 * every position of the whole text. What the streaming redactor must agree with.
 */
export function createReference(kinds: readonly CredentialKind[]): (text: string) => string {
  const patterns = kinds.flatMap(({ kind, patterns }) => patterns.map((of) => ({ kind, ...compile(of) })));
  return function redact(text): string {
    const matches = patterns.flatMap((pattern) => matchesOf(pattern, text));
    if (matches.length === 0) return text;
    const start = Math.min(...matches.map((match) => match.start));
    const here = matches.filter((match) => match.start === start);
    const end = Math.max(...here.map((match) => match.end));
    return `${text.slice(0, start)}[REDACTED:${here[0]!.kind}]${redact(text.slice(end))}`;
  };
}

function matchesOf(
  { kind, begin, match }: ReturnType<typeof compile> & { kind: string },
  text: string,
): Match[] {
  const matches: Match[] = [];
  begin.lastIndex = 0;
  for (let found = begin.exec(text); found !== null; found = begin.exec(text)) {
    const range = match(text, found.index, found.index + found[1]!.length);
    if (range !== undefined) matches.push({ kind, ...range });
    begin.lastIndex = found.index + 1;
  }
  return matches;
}

function compile(pattern: Pattern) {
  const prefix = pattern.prefix.map(setOf).join('');
  const { steps, secretFrom } = pattern;
  const context = sequence(steps.slice(0, Math.max(0, secretFrom)));
  const secret = sequence(steps.slice(Math.max(0, secretFrom)));
  return {
    begin: new RegExp(`${behind(pattern.boundary)}(${prefix})`, 'g'),
    match: (text: string, from: number, afterPrefix: number) => {
      const start = secretFrom < 0 ? afterPrefix : context(text, afterPrefix);
      const end = start === undefined ? undefined : secret(text, start);
      return end === undefined ? undefined : { start: secretFrom < 0 ? from : start!, end };
    },
  };
}

function behind(boundary: Boundary): string {
  if (boundary === 'anywhere') return '';
  const set = boundary === 'word' ? 'A-Za-z0-9' : 'A-Za-z0-9_-';
  return `(?:(?<![${set}])|(?<=\\\\[nrtbf]))`;
}

type Reader = (text: string, from: number) => number | undefined;

/** Where these steps end when they begin at `from`. */
function sequence(steps: readonly Step[]): Reader {
  const index = steps.findIndex(({ type }) => type === 'judged');
  if (index < 0) return expression(steps);
  const first = expression(steps.slice(0, index));
  const judged = judgedRun(steps[index] as Extract<Step, { type: 'judged' }>);
  const rest = expression(steps.slice(index + 1));
  return (text, from) => {
    const begin = first(text, from);
    const end = begin === undefined ? undefined : judged(text, begin);
    return end === undefined ? undefined : rest(text, end);
  };
}

function expression(steps: readonly Step[]): Reader {
  const pattern = new RegExp(source(steps), 'y');
  return (text, from) => {
    pattern.lastIndex = from;
    const found = pattern.exec(text);
    return found === null ? undefined : from + found[0].length;
  };
}

function judgedRun({ of, min, limit, judge }: Extract<Step, { type: 'judged' }>): Reader {
  const run = expression([{ type: 'run', of, min: 0, max: Number.POSITIVE_INFINITY }]);
  return (text, from) => {
    const end = run(text, from)!;
    const tally = newTally();
    for (let index = from; index < Math.min(end, from + limit); index += 1) {
      count(tally, text.charCodeAt(index));
      if (index + 1 - from >= min && judge(tally)) return end;
    }
    return undefined;
  };
}

function source([step, ...rest]: readonly Step[]): string {
  if (step === undefined) return '';
  switch (step.type) {
    case 'run': {
      const max = step.max === Number.POSITIVE_INFINITY ? '' : step.max;
      return `${setOf(step.of)}{${step.min},${max}}${source(rest)}`;
    }
    case 'unless':
      return `(?!${setOf(step.of)})`;
    case 'before':
      return `${setOf(step.of)}{0,${step.max}}(?=${setOf(step.mark)})`;
    case 'through':
      return `(?:[^]*?${step.text.map(setOf).join('')}${source(rest)}|[^]*)`;
    case 'judged':
      throw new Error('a judged run is no regular expression');
  }
}

function setOf(set: CharClass): string {
  let list = '';
  for (let unit = 0; unit < UNITS; unit += 1) {
    if (set[unit] === 1)
      list += unit === OTHER ? '\\u007f-\\uffff' : `\\u${unit.toString(16).padStart(4, '0')}`;
  }
  return `[${list}]`;
}
