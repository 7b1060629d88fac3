import { defineErrors } from '../../base/gateway-error.ts';

/** What can go wrong with a lock. No text here names a key: keys are the business of whoever takes them. */
export const LockErrors = defineErrors({
  invalid: { code: 'lock.invalid', kind: 'invalid', title: 'The lock cannot be asked for like this' },
  timeout: { code: 'lock.timeout', kind: 'unavailable', title: 'The lock did not become free in time' },
  unavailable: { code: 'lock.unavailable', kind: 'unavailable', title: 'Locks cannot be taken now' },
  tooManyWaiters: {
    code: 'lock.too-many-waiters',
    kind: 'unavailable',
    title: 'Too many are waiting for this lock already',
  },
  /** The reason of a lock's signal. */
  lost: { code: 'lock.lost', kind: 'unavailable', title: 'The lock was lost while it was held' },
});
