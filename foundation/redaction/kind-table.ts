import {
  ALNUM,
  ANY_HEX,
  BASE64,
  BASE64URL,
  type CharClass,
  caseless,
  DIGIT,
  HEX,
  LOWER_ALNUM,
  literal,
  plus,
  UPPER_ALNUM,
  WORD,
} from './char-class.ts';
import {
  type Boundary,
  begins,
  type CredentialKind,
  judged,
  looksGenerated,
  type Pattern,
  run,
  type Step,
  unless,
} from './pattern.ts';

/** A value that has not shown by then that it was generated is none. */
const UNDECIDED = 128;

const CLASSES: Readonly<Record<string, CharClass>> = {
  digit: DIGIT,
  hex: HEX,
  HEX: ANY_HEX,
  uuid: plus(ANY_HEX, '-'),
  lower: LOWER_ALNUM,
  upper: UPPER_ALNUM,
  alnum: ALNUM,
  word: WORD,
  url: BASE64URL,
  base64: BASE64,
};

/** Rules of scanners, which keep the formats that vendors do not publish. */
const SOURCES: Readonly<Record<string, string>> = {
  gitleaks: 'https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml#',
  trufflehog: 'https://github.com/trufflesecurity/trufflehog/tree/main/pkg/detectors/',
  noseyparker:
    'https://github.com/praetorian-inc/noseyparker/tree/main/crates/noseyparker/data/default/builtin/rules/',
  kingfisher: 'https://github.com/mongodb/kingfisher/tree/main/data/rules/',
};

/**
 * Reads kinds of credentials written as a table, two lines each: the name and the forms, then, indented, what it is and
 * the source. A form is
 *
 * - its beginning: text, also in alternatives `(a|b)`, or `{class 8-8}` and then text. No letter or digit may stand
 *   before it; behind `^` no `-` or `_` either; behind `*` anything may;
 * - `{class 20}` for 20 and more characters of a class, `{class 20-24}`, and `{class+.= 20}` for a class with more
 *   characters;
 * - `{class 20~}` for what also has to look generated, where the beginning is that of names, too;
 * - `→` where the credential begins, if what is before it stays in the text; upper and lower case are the same in its
 *   beginning;
 * - `!` at the end: no letter or digit follows. Without it, the credential goes on to the end of the word.
 *
 * A source is an address, a file of this repository, or `gitleaks:<rule>` and the like. Throws an Error for a table
 * that cannot be read.
 */
export function readKinds(table: string): CredentialKind[] {
  const lines = table.split('\n').filter((line) => line.trim() !== '');
  return lines.flatMap((line, index) => {
    if (line.startsWith(' ')) return [];
    const [kind = '', ...forms] = line.split(/\s+(?![^{]*\})/);
    const [, title, source] = /^ +(.+) (\S+)$/.exec(lines[index + 1] ?? '') ?? [];
    if (forms.length === 0 || title === undefined || source === undefined)
      throw new Error(`${kind} is no kind of credential: its forms, title or source are missing`);
    return [{ kind, title, source: sourceOf(source), patterns: forms.flatMap(readForm) }];
  });
}

function sourceOf(text: string): string {
  const [scanner = '', rule = ''] = text.split(':');
  return scanner in SOURCES ? SOURCES[scanner] + rule : text;
}

const BOUNDARIES: Readonly<Record<string, Boundary>> = { '': 'word', '^': 'token', '*': 'anywhere' };
const FORM = /^([*^]?)(?:\{(\S+) (\d+)-\3\})?([^{→]*)([^→]*)(→?)(.*)$/u;

function readForm(form: string): Pattern[] {
  const [, sign = '', set, count, text = '', context = '', arrow, secret = ''] = FORM.exec(form) ?? [];
  const classes = set === undefined ? [] : Array.from({ length: Number(count) }, () => classOf(set));
  const boundary = BOUNDARIES[sign]!;
  return alternatives(text).map((begin) => {
    if (arrow !== '') {
      const prefix = [...classes, ...caseless(begin)];
      const before = readSteps(context);
      return { boundary, prefix, steps: [...before, ...readSteps(secret)], secretFrom: before.length };
    }
    const steps = readSteps(context);
    const end = boundary === 'token' || steps.at(-1)?.type === 'unless' ? [] : [run(WORD, 0)];
    return begins(boundary, [...classes, ...literal(begin)], ...steps, ...end);
  });
}

/** `x(a|b)y` as `xay` and `xby`. */
function alternatives(text: string): string[] {
  const [whole, before = '', inside = '', after = ''] = /^(.*?)\(([^)]*)\)(.*)$/.exec(text) ?? [];
  if (whole === undefined) return [text];
  return inside.split('|').flatMap((choice) => alternatives(before + choice + after));
}

function readSteps(text: string): Step[] {
  return [...text.matchAll(/\{(\S+) (\d+)(-\d+)?(~?)\}|(!$)|(.)/gu)].map((match) => {
    const [, name, min, max, generated, end, char] = match;
    if (end !== undefined) return unless(ALNUM);
    if (name === undefined) return run(literal(char!)[0]!, 1, 1);
    const of = classOf(name);
    const most = max === undefined ? undefined : Number(max.slice(1));
    if (generated === '~') return judged(of, Number(min), most ?? UNDECIDED, looksGenerated, most);
    return run(of, Number(min), most);
  });
}

function classOf(name: string): CharClass {
  const [, base = '', more = ''] = /^(\w+)\+?(.*)$/.exec(name) ?? [];
  const set = CLASSES[base];
  if (set === undefined) throw new Error(`${name} is no class of characters`);
  return more === '' ? set : plus(set, more);
}
