import path from 'node:path';
import { DeadlineError, within } from '../base/deadline.ts';
import type { Environment } from '../config/read-config.ts';
import { readSecretFile, SecretErrors, type SecretFile } from './secret-file.ts';
import { parseSecretReference, type SecretReference } from './secret-reference.ts';
import type { StoredSecrets } from './secret-stores.ts';
import { type TenantSecretUse, tenantSecrets } from './tenant-secrets.ts';

/**
 * Who wrote a reference. `operator`: files of the deployment, and the default tenant. `tenant`: any other tenant,
 * through the API.
 */
export type SecretOrigin = 'operator' | 'tenant';

/**
 * Secrets behind references. A caller that stores something stores the reference, and asks when the secret is needed.
 */
export interface Secrets {
  /**
   * The value now; nothing is kept. `env:NAME` is a variable of the process, `file:PATH` a file, relative to the
   * secrets folder unless absolute, without the line break at its end. `plugin/<plugin>/<store>:PATH#KEY` is a secret
   * of a plugin's store, whose values are kept for `SVC_SECRET_MAX_AGE` at most. The operator may name all of them; a
   * tenant only what `SVC_TENANT_SECRETS` lists (for its use, where one is given; without one what is bound to a tenant
   * or a host is refused), and no file outside of the secrets folder, wherever links lead.
   *
   * @throws SecretErrors.malformed for a text that is no reference; the text is not in the error.
   * @throws SecretErrors.refused for a reference that a tenant may not use, whether there is something behind it or
   * not.
   * @throws SecretErrors.notFound for a variable or file that does not exist or is empty.
   * @throws SecretErrors.unusable for what is no regular file of up to 64 KiB of UTF-8 text.
   * @throws SecretErrors.unreadable when the system does not let the file be read, or the store fails, or not within 5
   * seconds.
   * @throws SecretErrors.storeMissing while no plugin that runs offers the store.
   */
  resolve(reference: string, from: SecretOrigin | TenantSecretUse): Promise<string>;
}

/** What secrets are made from. */
export interface SecretsOptions {
  readonly env: Environment;
  /** `SVC_SECRETS_DIR`. It need not exist. */
  readonly folder: string;
  /** `SVC_TENANT_SECRETS`; see `isTenantSecretsEntry`. Empty: tenants may name nothing. */
  readonly tenantMayName: readonly string[];
  /** The secrets of plugins' stores; absent: no plugin offers one. */
  readonly stored?: StoredSecrets;
  /** Called with every value before it is returned, also with one that was read before; for the redaction of logs. */
  readonly onResolved: (value: string) => void;
}

/** Milliseconds that a file may take: the folder may be on a network. */
const READ_DEADLINE = 5_000;

/** Makes the secrets of a process. @throws TypeError for a bad entry of `tenantMayName`. */
export function createSecrets(options: SecretsOptions): Secrets {
  const { env, stored, onResolved } = options;
  const folder = path.resolve(options.folder);
  const refusalOf = tenantSecrets(options.tenantMayName);
  // A file that hangs is asked for once, however many wait for it.
  const reading = new Map<string, Promise<string>>();

  function readVariable({ name, text }: SecretReference & { kind: 'env' }): string {
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (value === undefined || value === '') throw SecretErrors.notFound(`${text} is not set`);
    return value;
  }

  async function readFile(
    reference: SecretReference & { kind: 'file' },
    isOperator: boolean,
  ): Promise<string> {
    const { text } = reference;
    const file: SecretFile = {
      reference: text,
      path: path.resolve(folder, reference.path),
      within: isOperator ? undefined : folder,
    };
    const key = `${isOperator ? 'operator' : 'tenant'} ${text}`;
    let read = reading.get(key);
    if (read === undefined) {
      read = readSecretFile(file).finally(() => reading.delete(key));
      reading.set(key, read);
    }
    try {
      return await within(READ_DEADLINE, `reading ${text}`, read);
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      throw SecretErrors.unreadable(`${text} cannot be read in time`, { cause: error });
    }
  }

  function valueBehind(
    reference: SecretReference,
    from: SecretOrigin | TenantSecretUse,
  ): string | Promise<string> {
    if (reference.kind === 'env') return readVariable(reference);
    if (reference.kind === 'file') return readFile(reference, from === 'operator');
    if (stored === undefined)
      throw SecretErrors.storeMissing(`${reference.text} is in a store that no plugin offers`);
    return stored.read(reference, typeof from === 'string' ? undefined : from.tenantId);
  }

  return {
    async resolve(text, from) {
      const reference = parseSecretReference(text);
      const isOperator = from === 'operator';
      const refusal = isOperator ? undefined : refusalOf(reference, from === 'tenant' ? undefined : from);
      if (refusal !== undefined) throw SecretErrors.refused(`${text} ${refusal}`);
      const value = await valueBehind(reference, from);
      onResolved(value);
      return value;
    },
  };
}
