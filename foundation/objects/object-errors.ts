import { defineErrors } from '../base/gateway-error.ts';

/**
 * What callers may learn about object storage. What the store itself said is the `cause`, which is logged and never
 * sent.
 */
export const ObjectErrors = defineErrors({
  /** Carries `retry-after`, but where a gateway has no object storage at all. */
  unavailable: {
    code: 'objects.unavailable',
    kind: 'unavailable',
    title: 'Object storage is not available',
    retryAfter: 5,
  },
  full: { code: 'objects.full', kind: 'unavailable', title: 'Object storage has no room left' },
  invalidKey: { code: 'objects.invalid-key', kind: 'invalid', title: 'This cannot be the key of an object' },
  invalidContentType: {
    code: 'objects.invalid-content-type',
    kind: 'invalid',
    title: 'This cannot be the content type of an object',
  },
  tooLarge: { code: 'objects.too-large', kind: 'too-large', title: 'The object is too large' },
  exists: { code: 'objects.exists', kind: 'conflict', title: 'There is such an object already' },
  changed: {
    code: 'objects.changed',
    kind: 'precondition-failed',
    title: 'The object is not the one that was expected',
  },
  rangeNotSatisfiable: {
    code: 'objects.range-not-satisfiable',
    kind: 'invalid',
    title: 'The object has no such range',
  },
  stalled: { code: 'objects.stalled', kind: 'timeout', title: 'The body to store has stopped coming' },
  damaged: { code: 'objects.damaged', kind: 'internal', title: 'The object is damaged' },
});

/** The folder of the object store cannot be used. The message is for the operator. */
export class ObjectStoreStartError extends Error {
  override readonly name = 'ObjectStoreStartError';
}
