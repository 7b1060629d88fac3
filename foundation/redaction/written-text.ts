import { OTHER, plus, WORD } from './char-class.ts';
import { BACKSLASH, PERCENT } from './escapes.ts';
import { createRedaction, redactJsonTextWith } from './redaction.ts';

/**
 * The redaction for short texts that are written down, and whose writer may choose any encoding: paths, queries,
 * headers, lines of the log. It finds all that `createRedaction` does, and base64 and percent escapes of it, in each
 * other, three deep. An ordinary text costs two searches, and prepares nothing.
 */
export function redactWritten(text: string): string {
  return mayHoldCredential(text) ? redactDeep(text, DEPTH) : text;
}

/** The same for JSON text, which stays JSON: its strings, with the names of their members. */
export function redactWrittenJson(text: string): string {
  return mayHoldCredential(text) ? redactJsonTextWith((value) => redactDeep(value, DEPTH), text) : text;
}

const { redact } = createRedaction();
const DEPTH = 3;

/** Of the credentials without a long run: an address, and what stands before those that may have a `/` anywhere. */
const KNOWN_TEXT = /hooks\.zapier|whsec_|BBDC-|secret[_ -]?access[_ -]?key|aws[_ -]?secret/i;
/** Any other credential has so many characters of a class in a row. Without `/`: paths are made of words. */
const SHORTEST_RUN = 12;
const LONGEST_WORD = 64;
const IN_RUN = plus(WORD, '+@=-');
/** Words in camel case, or words and small numbers with joints: not both, as behind the prefix of a token. */
const WORDS =
  /^(?:[a-z]*(?:[A-Z][a-z]{2,})*|(?:[A-Z]?[a-z]{2,}|[a-z]?|\d{1,4})(?:[_-](?:[A-Z]?[a-z]{2,}|[a-z]?|\d{1,4}))*)$/;
/** UUIDs, ids of traces, numbers, dates: with words, what ordinary paths and lines of the log are made of. */
const ID = /^(?:[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}|[\da-f]{32}|[\dT-]+)$/;
/** Names of variables, which messages of the start name: `SVC_SECRET_KEY`. */
const VARIABLE = /^[A-Z]{2,12}(?:_[A-Z]{1,12})+$/;
/** Before a run, they say that it may be the last part of a credential. */
const JOINTS = '.:|$!';

/** False where no credential can be, in a fraction of the time that looking takes; true says nothing. */
export function mayHoldCredential(text: string): boolean {
  let from = 0;
  for (let index = 0; index <= text.length; index += 1) {
    const code = index < text.length ? text.charCodeAt(index) : 0;
    if (code < OTHER && IN_RUN[code] === 1) continue;
    // An escape may stand for anything.
    if (code === BACKSLASH || code === PERCENT) return true;
    if (index - from >= SHORTEST_RUN && !isOrdinary(text, from, index)) return true;
    from = index + 1;
  }
  return KNOWN_TEXT.test(text);
}

function isOrdinary(text: string, from: number, to: number): boolean {
  if (to - from > LONGEST_WORD) return false;
  const run = text.slice(from, to);
  const isPart = from > 0 && JOINTS.includes(text[from - 1]!);
  return (!isPart && (ID.test(run) || VARIABLE.test(run))) || WORDS.test(run);
}

/** Credentials in base64 hold no `/`: of ASCII text only a question mark makes one, which none has. */
const BASE64_RUN = /[A-Za-z0-9+_-]{16,}={0,2}/g;
const UNREADABLE = /[^\t\n\r\x20-\x7e\x80-\xff]/;

function redactDeep(text: string, depth: number): string {
  const redacted = redact(text);
  if (depth === 0) return redacted;
  const plain = redacted.replace(BASE64_RUN, (run) => {
    const decoded = Buffer.from(run, 'base64').toString('latin1');
    const isHarmless = UNREADABLE.test(decoded) || redactDeep(decoded, depth - 1) === decoded;
    return isHarmless ? run : '[REDACTED:encoded-credential]';
  });
  // Base64 whose characters are percent-encoded.
  const decoded = plain.replace(/%([2-7][\da-f])/gi, (_, code) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
  const hidden = decoded === plain ? plain : redactDeep(decoded, depth - 1);
  return hidden === decoded ? plain : hidden;
}
