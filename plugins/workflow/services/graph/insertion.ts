import type { Json } from '../../contract/graph.ts';
import type { RunData } from './compiled-graph.ts';
import { MAX_INSERTED } from './limits.ts';
import { type Reference, readReference } from './reference.ts';

/** What templates of one configuration take out of a run's data while it is filled in. */
export interface Insertion {
  /** The value as it is, with its JSON type; an empty text where there is none. */
  value(reference: Reference): Json;
  /** The value as text: strings as they are, everything else as JSON. */
  text(reference: Reference): string;
  /** The same, percent-encoded for one place in a URL. */
  urlText(reference: Reference): string;
  /** References that led nowhere, each once. */
  readonly missing: readonly string[];
  /** More was asked for than may be inserted; what was given since then is empty. */
  readonly isTooLarge: boolean;
}

/** Begins to fill in one configuration. */
export function createInsertion(data: RunData): Insertion {
  const missing = new Set<string>();
  const texts = new Map<string, string>();
  let left = MAX_INSERTED;

  function found(reference: Reference): Json {
    const value = readReference(reference, data);
    if (value === undefined) missing.add(reference.text);
    return value === undefined ? '' : value;
  }

  /** A configuration names the same output many times: it is written out once. */
  function textOf(reference: Reference): string {
    const known = texts.get(reference.text);
    if (known !== undefined) return known;
    const text = jsonText(found(reference));
    texts.set(reference.text, text ?? '');
    if (text === undefined) left = -1;
    return text ?? '';
  }

  function take(text: string): string {
    left -= text.length;
    return left < 0 ? '' : text;
  }

  return {
    value: (reference) => {
      if (left < 0) return '';
      take(textOf(reference));
      return left < 0 ? '' : found(reference);
    },
    text: (reference) => (left < 0 ? '' : take(textOf(reference))),
    urlText: (reference) => (left < 0 ? '' : take(encodePart(textOf(reference)))),
    get missing() {
      return [...missing];
    },
    get isTooLarge() {
      return left < 0;
    },
  };
}

/** `undefined` for what is nested too deeply to be written out. */
function jsonText(value: Json): string | undefined {
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/**
 * Encodes a value so that it stays within its part of a URL. A value of one or two dots would be read as a step in the path, also where it is encoded
 * (WHATWG URL, single-dot and double-dot path segment); its dots are encoded twice, so that it stays one odd segment.
 */
function encodePart(text: string): string {
  if (text === '.' || text === '..') return text.replaceAll('.', '%252E');
  return encodeURIComponent(text.toWellFormed());
}
