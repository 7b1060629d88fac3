import { defineErrors } from '../base/gateway-error.ts';

/** Why a reference gives no secret. The details name the reference, never a value. */
export const SecretErrors = defineErrors({
  malformed: { code: 'secret.malformed', kind: 'invalid', title: 'The text is not a reference to a secret' },
  refused: { code: 'secret.refused', kind: 'forbidden', title: 'A tenant may not use this reference' },
  /** Kind `unavailable`: the caller did nothing wrong, whoever configured the reference or the secret has to act. */
  notFound: {
    code: 'secret.not-found',
    kind: 'unavailable',
    title: 'There is no secret behind the reference',
  },
  unusable: { code: 'secret.unusable', kind: 'unavailable', title: 'What the reference names is no secret' },
  unreadable: { code: 'secret.unreadable', kind: 'unavailable', title: 'The secret cannot be read now' },
});
