import { GatewayError, isSecretReference, SecretErrors, type Secrets } from 'agent-gateway';
import type { Json } from '../../../contract/graph.ts';
import { StepFailure } from '../../../contract/node-types.ts';
import { isObject } from '../../graph/json.ts';
import { headerValue, isOfTheGateway } from './service-headers.ts';

/** Values that were resolved for one request. */
export interface ResolvedSecrets {
  readonly headers: Readonly<Record<string, string>>;
  /** Takes the values out of a text that comes back. */
  hide(text: string): string;
}

/** A scheme may stand in front: `Bearer env:NAME`. */
const FORM = /^(?:([A-Za-z][A-Za-z0-9_-]{0,31}) )?((?:env|file):.+)$/;
/** What egress takes for credentials, and does not let travel when a redirect leads to another host. */
const CREDENTIAL = /auth|cookie|credential|key|secret|session|signature|token/i;
const NAME = /^[a-z0-9_-]{1,128}$/i;
/** Shorter values would take ordinary words out of answers. */
const LEAST_HIDDEN = 8;
const HIDDEN = '[REDACTED:secret]';

/** What is wrong with `secret_headers`, by name of the header; messages go on after the name. Pure. */
export function secretHeaderProblems(
  given: Json | undefined,
): readonly { readonly name: string; readonly message: string }[] {
  return entriesOf(given).flatMap(([name, value]) => {
    if (!NAME.test(name) || !CREDENTIAL.test(name) || isOfTheGateway(name)) {
      const message =
        'cannot hold a secret. A redirect to another host leaves out only headers with auth, cookie, credential, key, secret, session, signature or token in their name; choose such a one.';
      return [{ name, message }];
    }
    if (typeof value === 'string' && referenceIn(value) !== undefined) return [];
    return [
      {
        name,
        message:
          'is no reference: write env:NAME or file:PATH, with a scheme in front where one is needed (Bearer env:NAME).',
      },
    ];
  });
}

/**
 * Resolves the secrets of a request. Whatever tenant: graphs are written by more people than those who run the deployment, so only what
 * `SVC_TENANT_SECRETS` lists may be named. Throws `secret_refused` and `secret_unavailable`, naming the reference.
 */
export async function resolveSecrets(secrets: Secrets, given: Json | undefined): Promise<ResolvedSecrets> {
  const [problem] = secretHeaderProblems(given);
  if (problem !== undefined) {
    throw new StepFailure('bad_header', `The header ${problem.name} ${problem.message}`, {
      isRetryable: false,
    });
  }
  const values: string[] = [];
  const headers: Record<string, string> = {};
  for (const [name, text] of entriesOf(given)) {
    const { scheme, reference } = referenceIn(String(text))!;
    const value = await resolve(secrets, reference);
    values.push(value);
    headers[name.toLowerCase()] = headerValue(name, scheme === undefined ? value : `${scheme} ${value}`);
  }
  // Also as JSON, for excerpts and for what only looks like JSON.
  const hidden = values
    .filter(({ length }) => length >= LEAST_HIDDEN)
    .flatMap((value) => [...new Set([value, JSON.stringify(value).slice(1, -1)])]);
  return {
    headers,
    hide: (text) => hidden.reduce((left, value) => left.replaceAll(value, HIDDEN), text),
  };
}

function referenceIn(text: string) {
  const [, scheme, reference = ''] = FORM.exec(text) ?? [];
  return isSecretReference(reference) ? { scheme, reference } : undefined;
}

async function resolve(secrets: Secrets, reference: string): Promise<string> {
  try {
    return await secrets.resolve(reference, 'tenant');
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    if (error.code === SecretErrors.refused.definition.code) {
      throw new StepFailure(
        'secret_refused',
        `${error.detail}. The operator adds it to SVC_TENANT_SECRETS, if workflows may use it.`,
        { isRetryable: false, cause: error },
      );
    }
    throw new StepFailure('secret_unavailable', `${error.detail}. The operator has to put that right.`, {
      isRetryable: error.code === SecretErrors.unreadable.definition.code,
      cause: error,
    });
  }
}

const entriesOf = (given: Json | undefined) => (isObject(given) ? Object.entries(given) : []);
