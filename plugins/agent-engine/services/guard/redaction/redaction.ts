import type { StreamRedactor } from '../../../contract/guard.ts';
import { MODEL_PROVIDER_TOKENS } from './model-provider-tokens.ts';
import type { CredentialKind } from './pattern.ts';
import { createRedactor, type RedactionProgram, redactionProgram } from './redactor.ts';
import { NAMED_SECRETS, STANDARD_CREDENTIALS } from './standard-credentials.ts';
import { VENDOR_TOKENS } from './vendor-tokens.ts';

/** Replaces credentials by `[REDACTED:<kind>]`. All of it is pure and linear in the length of the text. */
interface Redaction {
  /** The text without its credentials; all else is unchanged. */
  redact(text: string): string;
  /** The same for a text in pieces: the outputs together are what `redact` makes of the pieces together. */
  redactStream(): StreamRedactor;
  /** A copy of a plain JSON value with its strings redacted; the value itself where there was nothing to redact. */
  redactJson(value: JsonValue): JsonValue;
  /** JSON text stays JSON, with every character outside of changed strings as it was; other text is redacted as text. */
  redactJsonText(text: string): string;
}

/** The redaction of all kinds. Its first use takes some tens of milliseconds: make one and keep it. */
export function createRedaction(): Redaction {
  let program: RedactionProgram | undefined;
  const redactStream = () => {
    program ??= redactionProgram(CREDENTIAL_KINDS);
    return createRedactor(program);
  };
  const redact = (text: string) => {
    const redactor = redactStream();
    return redactor.push(text) + redactor.end();
  };
  return {
    redact,
    redactStream,
    redactJson: (value) => redactJsonWith(redact, value),
    redactJsonText: (text) => redactJsonTextWith(redact, text),
  };
}

/** What JSON can hold. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

type Redact = (text: string) => string;

/** Deeper values are not looked into, and replaced. */
const MAX_DEPTH = 64;
/** Values after so many are not looked into, and replaced. */
const MAX_VALUES = 100_000;
/** Stands where a value is beyond the bounds above. */
const UNCHECKED = '[REDACTED:unchecked]';
/** Of a name, so much of its end is looked at: a name that means a secret ends with the word that says so. */
const NAME_TAIL = 64;

/** See `Redaction.redactJson`. A string is judged together with the name of its member: `{"password": "…"}`. */
function redactJsonWith(redact: Redact, value: JsonValue): JsonValue {
  let left = MAX_VALUES;
  const visit = (node: JsonValue, name: string | undefined, depth: number): JsonValue => {
    left -= 1;
    if (typeof node === 'string') return left < 0 ? UNCHECKED : redactMember(redact, name, node);
    if (node === null || typeof node !== 'object') return node;
    if (left < 0 || depth > MAX_DEPTH) return UNCHECKED;
    if (isArray(node)) {
      const items = node.map((item) => visit(item, name, depth + 1));
      return items.every((item, index) => item === node[index]) ? node : items;
    }
    const members = Object.entries(node).map(([key, item]) => [key, visit(item, key, depth + 1)] as const);
    return members.every(([key, item]) => item === node[key]) ? node : Object.fromEntries(members);
  };
  return visit(value, undefined, 0);
}

/**
 * See `Redaction.redactJsonText`. Works on the strings alone, so that long numbers, repeated names and spaces survive:
 * parsing and writing again would change them.
 */
export function redactJsonTextWith(redact: Redact, text: string): string {
  if (!isJson(text)) return redact(text);
  let output = '';
  let copied = 0;
  let name: string | undefined;
  for (let begin = text.indexOf('"'); begin >= 0; ) {
    const end = endOfString(text, begin);
    const value = JSON.parse(text.slice(begin, end)) as string;
    if (isName(text, end)) name = value;
    else {
      const redacted = redactMember(redact, name, value);
      if (redacted !== value) {
        output += text.slice(copied, begin) + JSON.stringify(redacted);
        copied = end;
      }
    }
    begin = text.indexOf('"', end);
  }
  return output + text.slice(copied);
}

/** Behind the closing quote of a string of valid JSON. */
function endOfString(text: string, begin: number): number {
  let index = begin + 1;
  while (text[index] !== '"') index += text[index] === '\\' ? 2 : 1;
  return index + 1;
}

function isName(text: string, end: number): boolean {
  let index = end;
  while (' \t\r\n'.includes(text[index] ?? ',')) index += 1;
  return text[index] === ':';
}

/** The value as it would be redacted behind its name, in quotes. */
function redactMember(redact: Redact, name: string | undefined, value: string): string {
  if (name === undefined) return redact(value);
  const lead = `${name.slice(-NAME_TAIL)}="`;
  const redacted = redact(lead + value);
  // A credential in the name itself moves the value; then the value stands alone.
  return redacted.startsWith(lead) ? redacted.slice(lead.length) : redact(value);
}

function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** All kinds that are redacted. Of two that begin at the same place, the earlier one gives the marker its name. */
export const CREDENTIAL_KINDS: readonly CredentialKind[] = [
  ...VENDOR_TOKENS,
  ...MODEL_PROVIDER_TOKENS,
  ...STANDARD_CREDENTIALS,
  ...NAMED_SECRETS,
];
