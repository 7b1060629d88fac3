import assert from 'node:assert/strict';
import type { GatewayError } from '../../foundation/base/gateway-error.ts';
import type { ObjectSpace, Objects } from '../../foundation/objects/objects.ts';

/** One form of object storage. */
export interface Form {
  readonly objects: () => Objects;
  /** Writes that were begun and neither ended nor cleaned up; absent: not known. */
  readonly unfinished?: (() => Promise<number>) | undefined;
}

/** What checks are declared with. */
export interface Checks {
  readonly form: Form;
  /** One check, with the empty space of a tenant of its own. */
  each(title: string, run: (space: ObjectSpace) => Promise<void>): void;
  /** Resolves when nothing is unfinished any more. */
  noneUnfinished(): Promise<void>;
}

export const MIB = 1024 * 1024;

/** Keys of all pages. */
export async function allKeys(space: ObjectSpace, prefix: string, limit: number): Promise<string[]> {
  const keys: string[] = [];
  let after: string | undefined;
  do {
    const page = await space.list(prefix, { limit, ...(after === undefined ? {} : { after }) });
    keys.push(...page.objects.map(({ key }) => key));
    after = page.next;
  } while (after !== undefined);
  return keys;
}

/** Lets all write at one time and returns those that succeeded; the others must have been refused with `code`. */
export async function race<T>(
  writers: readonly T[],
  code: string,
  write: (writer: T) => Promise<unknown>,
): Promise<T[]> {
  const results = await Promise.allSettled(writers.map(write));
  for (const result of results) {
    if (result.status === 'rejected') assert.equal((result.reason as GatewayError).code, code);
  }
  return writers.filter((_, i) => results[i]?.status === 'fulfilled');
}

/** So many times a letter, in pieces. */
export function* letters(letter: string, size: number): Generator<Buffer> {
  for (let left = size; left > 0; left -= 65_536) yield Buffer.alloc(Math.min(left, 65_536), letter);
}
