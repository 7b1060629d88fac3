import { defineErrors } from 'agent-gateway';

/** The errors of sharing. */
export const SharingErrors = defineErrors({
  mismatch: {
    code: 'sharing-policy.version-mismatch',
    kind: 'precondition-failed',
    title: 'The sharing policy has another version by now',
  },
  busy: {
    code: 'sharing-policy.busy',
    kind: 'conflict',
    title: 'The sharing policy is being changed by many at the same time',
  },
  unknownVersion: {
    code: 'sharing-policy.version-not-found',
    kind: 'not-found',
    title: 'The sharing policy has no such version',
  },
});
