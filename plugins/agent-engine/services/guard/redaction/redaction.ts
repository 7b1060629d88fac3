import type { StreamRedactor } from '../../../contract/guard.ts';
import { CREDENTIAL_KINDS } from './credential-kinds.ts';
import { type JsonValue, redactJsonTextWith, redactJsonWith } from './redact-json.ts';
import { createRedactor, redactionProgram } from './redactor.ts';

/** Replaces credentials by `[REDACTED:<kind>]`. All of it is pure and linear in the length of the text. */
export interface Redaction {
  /** The text without its credentials; all else is unchanged. */
  redact(text: string): string;
  /** The same for a text in pieces: the outputs together are what `redact` makes of the pieces together. */
  redactStream(): StreamRedactor;
  /** A copy of a plain JSON value with its strings redacted; the value itself where there was nothing to redact. */
  redactJson(value: JsonValue): JsonValue;
  /** JSON text stays JSON, with every character outside of changed strings as it was; other text is redacted as text. */
  redactJsonText(text: string): string;
}

/** Prepares the redaction of all kinds. Takes some tens of milliseconds: make one and keep it. */
export function createRedaction(): Redaction {
  const program = redactionProgram(CREDENTIAL_KINDS);
  const redactStream = () => createRedactor(program);
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
