import type { FieldError } from './gateway-error.ts';
import { pointerSegment } from './json-pointer.ts';

/**
 * True for text that every database keeps as it is: no U+0000, no half of a surrogate pair, which PostgreSQL refuses.
 */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/**
 * Text that a client, a model or a provider chose, as every database can keep it in a column of `length` characters:
 * cut, and U+FFFD for U+0000 and for half a surrogate pair. The same text always becomes the same, so that it is found
 * again.
 */
export function storableText(text: string, length: number): string {
  const cut = text.slice(0, length);
  return isStorableText(cut) ? cut : cut.replaceAll('\0', '\ufffd').toWellFormed();
}

const MOST = 20;

/**
 * The texts in a value, and the names of members, that not every database keeps; the first 20. Pointers begin with
 * `/place`.
 */
export function unstorableFields(value: unknown, place: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  const pending: [pointer: string, value: unknown][] = [[`/${place}`, value]];
  const refuse = (pointer: string) =>
    errors.push({ pointer, message: 'must hold neither U+0000 nor half a surrogate pair' });
  while (pending.length > 0 && errors.length < MOST) {
    const [pointer, next] = pending.pop()!;
    if (typeof next === 'string' && !isStorableText(next)) refuse(pointer);
    if (typeof next !== 'object' || next === null) continue;
    for (const [name, member] of Object.entries(next).reverse()) {
      if (isStorableText(name)) pending.push([`${pointer}/${pointerSegment(name)}`, member]);
      else refuse(pointer);
    }
  }
  return errors;
}
