import { SecretErrors } from './errors.ts';

/** A reference, taken apart. */
export type SecretReference =
  | { readonly kind: 'env'; readonly text: string; readonly name: string }
  | { readonly kind: 'file'; readonly text: string /** As written. */; readonly path: string };

/** Longest reference, in characters. */
const MAX_LENGTH = 1_024;

const VARIABLE = /^env:([A-Za-z_][A-Za-z0-9_]*)$/;

/** `file://` with one more slash is a URL of this machine, with anything else one of another. */
const FILE = /^file:(?!\/\/[^/])(\S|\S.*\S)$/;

/** Control characters, the zero byte that ends a path for the system among them. */
const CONTROL = /\p{Cc}/u;

/** True for a well-formed reference: `env:NAME`, `file:relative/path` or `file:/absolute/path`. Looks at nothing else. */
export function isSecretReference(text: string): boolean {
  return read(text) !== undefined;
}

/** Takes a reference apart. @throws SecretErrors.malformed without the text: it may be a secret in the wrong place. */
export function parseSecretReference(text: string): SecretReference {
  const reference = read(text);
  if (reference === undefined) {
    throw SecretErrors.malformed('A reference to a secret is written env:NAME or file:PATH');
  }
  return reference;
}

function read(text: string): SecretReference | undefined {
  if (text.length > MAX_LENGTH || CONTROL.test(text)) return undefined;
  const name = VARIABLE.exec(text)?.[1];
  if (name !== undefined) return { kind: 'env', text, name };
  const path = FILE.exec(text)?.[1];
  return path === undefined ? undefined : { kind: 'file', text, path };
}
