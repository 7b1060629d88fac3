import {
  type FieldError,
  isSecretReference,
  REFERENCE_FORMS,
  requireSound,
  type SecretOrigin,
  type TenantSecretUse,
  type UnreadBody,
} from 'agent-gateway';
import type { AppRow } from '../store/tables.ts';
import type { Providers } from './providers/providers.ts';

/** The secrets of an app: what each is called in tables, and on the wire. */
const REFERENCES = {
  app: { column: 'appSecretRef', field: 'app_secret_ref' },
  oauth: { column: 'oauthSecretRef', field: 'oauth_secret_ref' },
  webhook: { column: 'webhookSecretRef', field: 'webhook_secret_ref' },
} as const;

type Name = keyof typeof REFERENCES;
const NAMES = Object.keys(REFERENCES) as Name[];

type Column = (typeof REFERENCES)[Name]['column'];

/** References of an app: null takes one away, undefined leaves it as it is. */
export type References = { readonly [C in Column]?: string | null | undefined };

/** `corpid`, or `corpid:agentid`. */
const WECOM_KEY = /^[^:]+(?::\d+)?$/;

/**
 * The problems that the schema of a new app's body, or of changes to an app, cannot express: texts that are no
 * references, a key that is not one of WeCom, and a new app without a secret to log in with. The body may break its
 * schema as well.
 */
export function appProblems(body: UnreadBody, isNew: boolean): readonly FieldError[] {
  const problems: FieldError[] = [];
  for (const name of NAMES) {
    const { field } = REFERENCES[name];
    const value = body[field];
    if (typeof value === 'string' && !isSecretReference(value)) {
      problems.push({
        pointer: `/body/${field}`,
        message: `must refer to a secret, as ${REFERENCE_FORMS}`,
      });
    }
  }
  if (!isNew) return problems;
  if (body.platform === 'wecom' && typeof body.app_key === 'string' && !WECOM_KEY.test(body.app_key)) {
    problems.push({ pointer: '/body/app_key', message: 'must be corpid or corpid:agentid' });
  }
  if (body.app_secret_ref == null && body.oauth_secret_ref == null) problems.push(MISSING_SECRET);
  return problems;
}

const MISSING_SECRET: FieldError = {
  pointer: '/body/app_secret_ref',
  message: 'is needed where there is no oauth_secret_ref: people cannot log in without one of them',
};

/** Throws `request.invalid` for an app that is left without a secret to log in with. */
export function requireLoginSecret({ appSecretRef, oauthSecretRef }: References): void {
  if (appSecretRef == null && oauthSecretRef == null) requireSound([MISSING_SECRET]);
}

/** The references that were given, null for one that is taken away. */
export function givenReferences(wanted: References): Partial<Pick<AppRow, Column>> {
  const given = NAMES.map((name) => [REFERENCES[name].column, wanted[REFERENCES[name].column]] as const);
  return Object.fromEntries(given.filter(([, reference]) => reference !== undefined));
}

/**
 * `tenantRefs` of an app after a caller has written references: each reference counts as written by its last writer.
 */
export function writersAfter(tenantRefs: string, given: References, from: SecretOrigin): string {
  const written = new Set(tenantRefs.split(','));
  return NAMES.filter((name) =>
    given[REFERENCES[name].column] === undefined ? written.has(name) : from === 'tenant',
  ).join(',');
}

/**
 * What a reference is used for, by its writer: a secret that a tenant's reference names is sent to the provider for the
 * tenant of the app only.
 */
export function useOf(
  writer: SecretOrigin,
  { tenantId, platform }: Pick<AppRow, 'tenantId' | 'platform'>,
  providers: Pick<Providers, 'apiOf'>,
): 'operator' | TenantSecretUse {
  return writer === 'operator' ? writer : { tenantId, url: providers.apiOf(platform) };
}

/** The secret with which people log in, and what its reference may name. */
export function loginSecretOf({ appSecretRef, oauthSecretRef, tenantRefs }: AppRow): {
  readonly reference: string;
  readonly from: SecretOrigin;
} {
  const name: Name = oauthSecretRef === null ? 'app' : 'oauth';
  return {
    reference: oauthSecretRef ?? appSecretRef ?? '',
    from: tenantRefs.split(',').includes(name) ? 'tenant' : 'operator',
  };
}
