import { isOfferName, OFFER_PATTERN } from '../base/offers.ts';
import { SecretErrors } from './secret-file.ts';

/** A reference, taken apart. */
export type SecretReference =
  | { readonly kind: 'env'; readonly text: string; readonly name: string }
  | { readonly kind: 'file'; readonly text: string /** As written. */; readonly path: string }
  | StoreReference;

/** A reference into the secret store of a plugin. */
export interface StoreReference {
  readonly kind: 'store';
  readonly text: string;
  /** `plugin/<plugin>/<name>`. */
  readonly store: string;
  /** Segments with `/` between them, none of them `.` or `..`. */
  readonly path: string;
  /** What is behind `#`: a member of the secret, in stores whose secrets have some. */
  readonly key: string | undefined;
}

/** Longest reference, in characters. */
const MAX_LENGTH = 1_024;

const VARIABLE = /^env:([A-Za-z_][A-Za-z0-9_]*)$/;

/** `file://` with one more slash is a URL of this machine, with anything else one of another. */
const FILE = /^file:(?!\/\/[^/])(\S|\S.*\S)$/;

/** What a store finds a secret by. No `%`, `?` or blank: nothing of it means something else in a URL. */
export const STORE_PATH = '[A-Za-z0-9_.@=+:-]+(?:/[A-Za-z0-9_.@=+:-]+)*';
export const STORE_KEY = '[A-Za-z0-9_.-]{1,100}';
const STORE = new RegExp(`^(${OFFER_PATTERN}):(${STORE_PATH})(?:#(${STORE_KEY}))?$`);

/** Matches references, for the schemas of files; what it lets pass may still be none (`isSecretReference`). */
export const REFERENCE_PATTERN = `^(env:[A-Za-z_][A-Za-z0-9_]*|file:.+|${OFFER_PATTERN}:${STORE_PATH}(?:#${STORE_KEY})?)$`;

/** How references are written, for messages. */
export const REFERENCE_FORMS = 'env:NAME, file:PATH or plugin/<plugin>/<store>:PATH#KEY';

/** Control characters, the zero byte that ends a path for the system among them. */
const CONTROL = /\p{Cc}/u;

/**
 * True for a well-formed reference: `env:NAME`, `file:relative/path`, `file:/absolute/path`, or
 * `plugin/<plugin>/<store>:path#key`, whose `#key` may be absent. Looks at nothing else.
 */
export function isSecretReference(text: string): boolean {
  return read(text) !== undefined;
}

/**
 * True for a reference into the store of a plugin: it is to be resolved when the secret is needed, since the plugin may
 * come later and the secret may change.
 */
export function isStoreReference(text: string): boolean {
  return read(text)?.kind === 'store';
}

/** True for a path of a store, or the beginning of one, that leads nowhere else. */
export function isStorePath(path: string): boolean {
  return !path.split('/').some((segment) => segment === '.' || segment === '..');
}

/** Takes a reference apart. @throws SecretErrors.malformed without the text: it may be a secret in the wrong place. */
export function parseSecretReference(text: string): SecretReference {
  const reference = read(text);
  if (reference === undefined) {
    throw SecretErrors.malformed(`A reference to a secret is written ${REFERENCE_FORMS}`);
  }
  return reference;
}

function read(text: string): SecretReference | undefined {
  if (text.length > MAX_LENGTH || CONTROL.test(text)) return undefined;
  const name = VARIABLE.exec(text)?.[1];
  if (name !== undefined) return { kind: 'env', text, name };
  const path = FILE.exec(text)?.[1];
  return path === undefined ? readStore(text) : { kind: 'file', text, path };
}

function readStore(text: string): StoreReference | undefined {
  const [, store = '', path = '', key] = STORE.exec(text) ?? [];
  return isOfferName(store) && isStorePath(path) ? { kind: 'store', text, store, path, key } : undefined;
}
