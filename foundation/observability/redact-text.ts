import { redactWritten, redactWrittenJson } from '../redaction/written-text.ts';

/** What stands in the output where a secret was. */
export const REDACTED = '[REDACTED]';

/**
 * The text without the credentials in it: all that `foundation/redaction` knows, also encoded, and what only a place
 * gives away: `Bearer` and `Basic` values, the user part of URLs and DSNs, and `name=value` or `name: value` pairs with
 * a secret's name.
 */
export function redactText(text: string): string {
  // As JSON the text only gains backslashes, which no fragment asks for.
  const line = FRAGMENT.test(text) ? JSON.stringify(text) : '';
  if (!SUSPICIOUS.test(line)) return redactWritten(text);
  return replaced(redactWritten(JSON.parse(replaced(line, PLACES))), LOOKALIKES);
}

/**
 * The same for a line of JSON, which stays valid JSON. It sees a whole log line at once, so nothing that a
 * call, a child logger or a serializer put into it gets around it. A line without a suspicious word costs one search.
 */
export function redactLine(line: string): string {
  const isSuspicious = FRAGMENT.test(line) && SUSPICIOUS.test(line);
  return isSuspicious
    ? replaced(redactWrittenJson(replaced(line, PLACES)), LOOKALIKES)
    : redactWrittenJson(line);
}

/**
 * The text, when longer than `limit` characters cut there and free of secrets: a cut could leave half of one, which no
 * pattern knows any more.
 */
export function clipText(text: string, limit: number): string {
  return text.length > limit ? `${redactText(text).slice(0, limit)}…` : text;
}

// Every pattern below works on JSON text, where a line break is the two characters `\n` and a quote is `\"`. None of
// them crosses a bare quote or cuts an escape in two: that is what keeps the line valid.

/** A visible character of a string: not white space, not the end of the JSON string. */
const VISIBLE = String.raw`(?:[^\s"\\]|\\["\\/])`;
/** Not inside a word; `n` of an escaped line break is no word. */
const START = String.raw`(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=\\u[0-9a-fA-F]{4}))`;
const SECRET_NAME =
  '(?:pass(?:word|wd|phrase)|pwd|secret|token|api[_-]?key|private[_-]?key|credentials|svc_session|svc_csrf)';
/** A quote inside the string: with an even number of backslashes before it, `"` would be the string's end. */
const QUOTE = String.raw`(?:\\(?:\\\\)*"|(?:\\\\)*')`;
/** What an escaped JSON text holds between `\"` and `\"`. */
const ESCAPED_CONTENT = String.raw`(?:[^"\\]|\\\\(?:\\.|[^\\"]))*`;

/** What follows the name of a setting in a message about it: `SVC_SECRET_KEY: must be …`. */
const VERDICT = '(?:must|is|has|holds|may|cannot|needs|names|there is|the value|the model)';

type Replacement = string | ((found: string, group?: string) => string);

type Rules = readonly (readonly [pattern: RegExp, replacement: Replacement])[];

/**
 * What looks like a key or a JWT, and has not the form of its kind. Last: it may be the middle of a longer credential,
 * whose rest would stay.
 */
const LOOKALIKES: Rules = [
  [new RegExp(`${START}(hk_|acp_|sk-)[A-Za-z0-9_-]{6,}`, 'g'), `$1${REDACTED}`],
  [/(hk_|acp_|sk-)[A-Za-z0-9_-]{32,}/g, `$1${REDACTED}`],
  // A run that is no JWT is taken, and kept, as a whole: to look for one at each `eyJ` in it takes time that grows with
  // its square.
  [
    /eyJ[A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*){0,3})?/g,
    (found, rest) => (rest === undefined ? found : REDACTED),
  ],
];

const PLACES: Rules = [
  [new RegExp(String.raw`(bearer(?:\s|\\[nrt])+)${VISIBLE}+`, 'gi'), `$1${REDACTED}`],
  [/(basic\s+)[A-Za-z0-9+/=_-]{8,}/gi, `$1${REDACTED}`],
  // A password may hold `/` and `@` although a correct URL would not; a user name alone may be a token.
  [
    new RegExp(String.raw`(://)(?:[^\s"\\/@:]*:${VISIBLE}{1,512}|[^\s"\\/@:]{1,512})@`, 'g'),
    `$1${REDACTED}@`,
  ],
  [new RegExp(String.raw`([\w.-]{1,64}:)${VISIBLE}{1,512}(@(?:tcp|unix)\()`, 'g'), `$1${REDACTED}$2`],
  [
    new RegExp(String.raw`((?:cookie|authorization)${QUOTE}?\s*[:=]\s*${QUOTE}?)[^"'\\]+`, 'gi'),
    `$1${REDACTED}`,
  ],
  [new RegExp(String.raw`(${SECRET_NAME}"\s*:\s*")(?:[^"\\]|\\.)*"`, 'gi'), `$1${REDACTED}"`],
  [
    new RegExp(String.raw`(${SECRET_NAME}(?:\\"|')?\s*[:=]\s*\\")${ESCAPED_CONTENT}\\"`, 'gi'),
    `$1${REDACTED}\\"`,
  ],
  [new RegExp(String.raw`(${SECRET_NAME}(?:\\"|')?\s*[:=]\s*')(?:[^'"\\]|\\.)*'`, 'gi'), `$1${REDACTED}'`],
  [
    new RegExp(String.raw`(${SECRET_NAME}${QUOTE}?\s*[:=]\s*)(?!${VERDICT}\s)[^\s"'\\,;&{}()[\]]+`, 'gi'),
    `$1${REDACTED}`,
  ],
];

/** Fragments of all that a rule needs, short because short ones are found fastest. Most lines stop here. */
const FRAGMENT = /hk_|cp_|sk-|eyJ|rer[\s\\]|sic\s|@|ssw|ssph|pwd|cret|ken|key|creden|hori|kie|svc_s|svc_c/i;
/** Matches wherever a rule may match: keeps `prompt_tokens` or an e-mail address from costing all the rules. */
const SUSPICIOUS =
  /hk_|acp_|sk-|eyJ|bearer[\s\\]|basic\s|:\/\/[^\s"]{0,1500}@|@(?:tcp|unix)\(|(?:word|wd|phrase|secret|token|key|credentials|authorization|cookie|svc_session|svc_csrf)[\\"']*\s*[:=]/i;

function replaced(text: string, rules: Rules): string {
  // The cast chooses the one of two declarations: a function does as well.
  return rules.reduce((rest, [pattern, replacement]) => rest.replace(pattern, replacement as string), text);
}
