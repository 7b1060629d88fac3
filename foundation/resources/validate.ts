import type { ResourceProblem } from './kind.ts';
import type { LiveResources } from './live-resources.ts';
import { missing, plan } from './plan.ts';
import type { LocatedProblem } from './problem.ts';
import { parseSourceFile } from './source-file.ts';

/** What is wrong with a text. */
export interface Validation {
  readonly valid: boolean;
  readonly errors: readonly ({ readonly line: number } & ResourceProblem)[];
}

/** Where a text stands that is in no file. */
const NOWHERE = 'text';

/**
 * Checks a text as if it were in a file: YAML, header, the kind's schema and rules, and whether what it names is in the text or
 * live. Builds nothing, so that an address that does not answer is not found here. Pure.
 */
export function validate(text: string, live: LiveResources, limit: number, maxBytes: number): Validation {
  if (Buffer.byteLength(text) > maxBytes) {
    return invalid([{ line: 1, pointer: '', message: `is larger than ${maxBytes} bytes` }]);
  }
  const source = parseSourceFile(NOWHERE, text);
  if (source.documents.length === 0) return invalid([{ line: 1, pointer: '', message: 'holds no resource' }]);
  const { kinds, entries } = live;
  const planned = plan({ previous: new Map(), files: [source], kinds, limit, elsewhere: entries });
  const dangling = planned.steps.flatMap(({ document, references }) => {
    const loose = references.filter(
      ({ id, optional }) => !optional && !planned.declared.has(id) && !entries.has(id),
    );
    return document.locate(
      loose.map((reference) => ({ pointer: reference.pointer, message: missing(reference) })),
    );
  });
  const refused = [...planned.refusals.values()].flatMap(({ problems }) => problems);
  return invalid([...refused, ...dangling].slice(0, limit).map(toError));
}

function toError({ line, pointer, message }: LocatedProblem): Validation['errors'][number] {
  return { line: line ?? 1, pointer, message };
}

function invalid(errors: Validation['errors']): Validation {
  return { valid: errors.length === 0, errors };
}
