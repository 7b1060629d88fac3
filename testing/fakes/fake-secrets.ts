import { SecretErrors } from '../../foundation/secrets/secret-file.ts';
import { isSecretReference } from '../../foundation/secrets/secret-reference.ts';
import type { Secrets } from '../../foundation/secrets/secrets.ts';

/** Secrets for tests, by their references: `fakeSecrets({ 'env:API_KEY': 'k' })`. Tenants may name all of them. */
export function fakeSecrets(values: Readonly<Record<string, string>>): Secrets {
  return {
    async resolve(reference) {
      if (!isSecretReference(reference)) throw SecretErrors.malformed();
      const value = values[reference];
      if (value === undefined) throw SecretErrors.notFound(`${reference} is not set`);
      return value;
    },
  };
}
