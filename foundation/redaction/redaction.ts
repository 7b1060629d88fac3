import { parsedJson } from '../base/json-object.ts';
import { MODEL_PROVIDER_TOKENS } from './model-provider-tokens.ts';
import type { CredentialKind } from './pattern.ts';
import { createRedactor, type RedactionProgram, redactionProgram, type StreamRedactor } from './redactor.ts';
import { SERVICE_TOKENS } from './service-tokens.ts';
import { NAMED_SECRETS, STANDARD_CREDENTIALS } from './standard-credentials.ts';
import { VENDOR_TOKENS } from './vendor-tokens.ts';

/** Made at the first use, and shared: it is the table in another form, and takes some tens of milliseconds. */
let program: RedactionProgram | undefined;

/** Replaces credentials of all kinds by `[REDACTED:<kind>]`. All of it is pure and linear in the length of the text. */
export function createRedaction() {
  /** The same as `redact` for a text in pieces: the outputs together are what that makes of the pieces together. */
  const redactStream = (): StreamRedactor => {
    program ??= redactionProgram(CREDENTIAL_KINDS);
    return createRedactor(program);
  };
  /** The text without its credentials; all else is unchanged. */
  const redact = (text: string): string => {
    const redactor = redactStream();
    return redactor.push(text) + redactor.end();
  };
  return { redact, redactStream, redactJsonText: (text: string) => redactJsonTextWith(redact, text) };
}

type Redact = (text: string) => string;

/** Of a name, so much of its end is looked at: a name that means a secret ends with the word that says so. */
const NAME_TAIL = 64;

/**
 * JSON text stays JSON, with every character outside of changed strings as it was; other text is redacted as text. A
 * string is judged together with the name of its member: `{"password": "…"}`. Works on the strings alone, so that long
 * numbers, repeated names and spaces survive: parsing and writing again would change them.
 */
export function redactJsonTextWith(redact: Redact, text: string): string {
  if (parsedJson(text) === undefined) return redact(text);
  let output = '';
  let copied = 0;
  let name: string | undefined;
  /** The names of the lists and objects that are open. */
  const names: (string | undefined)[] = [];
  let end = 0;
  for (let begin = text.indexOf('"'); begin >= 0; ) {
    for (const char of text.slice(end, begin)) {
      if (char === '[' || char === '{') names.push(name);
      if (char === ']' || char === '}') name = names.pop();
    }
    end = endOfString(text, begin);
    const value = JSON.parse(text.slice(begin, end)) as string;
    const isMember = isName(text, end);
    const redacted = isMember ? redact(value) : redactMember(redact, name, value);
    if (isMember) name = value;
    if (redacted !== value) {
      output += text.slice(copied, begin) + JSON.stringify(redacted);
      copied = end;
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

/** All kinds that are redacted. Of two that begin at the same place, the earlier one gives the marker its name. */
export const CREDENTIAL_KINDS: readonly CredentialKind[] = [
  ...VENDOR_TOKENS,
  ...SERVICE_TOKENS,
  ...MODEL_PROVIDER_TOKENS,
  ...STANDARD_CREDENTIALS,
  ...NAMED_SECRETS,
];
