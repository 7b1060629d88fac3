import { defineErrors } from '../../base/gateway-error.ts';

/** What can go wrong with a permit. No text here names a key or a name: they are the business of whoever takes them. */
export const PermitErrors = defineErrors({
  invalid: { code: 'permit.invalid', kind: 'invalid', title: 'The permit cannot be asked for like this' },
  unavailable: { code: 'permit.unavailable', kind: 'unavailable', title: 'Permits cannot be taken now' },
  /** The reason of a permit's signal. */
  revoked: { code: 'permit.revoked', kind: 'conflict', title: 'The holder of the permit was asked to end' },
  /** The reason of a permit's signal. */
  lost: { code: 'permit.lost', kind: 'unavailable', title: 'The permit was lost while it was held' },
});
