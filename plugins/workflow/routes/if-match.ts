import { KernelErrors } from 'agent-gateway';
import type { ExpectedRevision } from '../services/definitions/expected-revision.ts';

/** Texts of `If-Match` that this gateway wrote fit many times. */
export const MAX_IF_MATCH = 400;

const TAG = /^(?:W\/)?"([^"]*)"$/;
const REVISION = /^\d{1,10}$/;

/**
 * The revisions that an `If-Match` header names: `3`, `"3"`, `W/"3"` (which proxies that compress make of it), or several with commas between; none
 * for `*` and without a header. A tag that is no revision matches nothing.
 *
 * @throws `request.invalid` for what is no entity tag
 */
export function expectedRevision(header: string | undefined): ExpectedRevision {
  if (header === undefined || header.trim() === '*') return undefined;
  return header
    .split(',')
    .map((part) => revisionOf(part.trim()))
    .filter((revision) => revision !== undefined);
}

function revisionOf(text: string): number | undefined {
  const tag = TAG.exec(text)?.[1] ?? (REVISION.test(text) ? text : undefined);
  if (tag === undefined) {
    const message = 'must be the revision of the definition, as its ETag says it ("3"), or *';
    throw KernelErrors.invalidRequest(undefined, { errors: [{ pointer: '/headers/if-match', message }] });
  }
  return REVISION.test(tag) ? Number(tag) : undefined;
}
