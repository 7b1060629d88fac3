import type { JWTPayload, JWTVerifyGetKey } from 'jose';
import type { Clock } from '../../foundation/base/clock.ts';
import { isUuid } from '../../foundation/base/ids.ts';
import { type JwtKeySettings, loadJwtKeys } from '../../foundation/http/jwt-keys.ts';
import type { Logger } from '../../foundation/observability/logger.ts';
import { effectiveScopes, isRole } from '../access/roles.ts';
import type { AuthenticationFailure, Authenticator, Outcome } from './authenticator.ts';
import { AuthErrors } from './errors.ts';

/** Where the keys of JWTs come from, and what the tokens must say (decisions 1.14). */
export interface JwtSettings extends JwtKeySettings {
  /** `aud` that a token must name; default: not checked. */
  readonly audience?: string;
  /** `iss` that a token must have; default: not checked. */
  readonly issuer?: string;
}

/** Characters of a token at most: all that headers may have. One of Entra with its 200 groups has 11,000. */
const MAX_TOKEN_LENGTH = 16_384;
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]*$/;
const MAX_SUBJECT_LENGTH = 255;

/**
 * Recognizes bearer tokens in JWT form. RS256 only; `sub`, `tenant_id` and `exp` are required. Roles that the gateway
 * does not know are dropped, since issuers list other applications' roles there too; without known roles a token has
 * none. Scopes are the legacy three and those of its roles: a JWT never carries `admin`.
 *
 * Returns `undefined` when neither key nor URL is set: JWTs are off then. Throws when the key cannot be used. While the
 * JWKS cannot be read, requests fail with `auth.unavailable`: that says nothing about their tokens.
 */
export async function createJwtAuthenticator(
  settings: JwtSettings,
  { clock, log }: { readonly clock: Clock; readonly log: Pick<Logger, 'warn'> },
): Promise<Authenticator | undefined> {
  if (settings.publicKey === undefined && settings.jwksUrl === undefined) return undefined;
  // Most deployments never see a JWT; they do not load the library.
  const { errors, jwtVerify } = await import('jose');
  const unavailable = (cause: unknown) =>
    AuthErrors.unavailable(undefined, { headers: { 'retry-after': '5' }, cause });
  const keys: JWTVerifyGetKey = await loadJwtKeys(settings, { clock, log, unavailable });

  async function verify(token: string): Promise<Outcome> {
    try {
      const { payload } = await jwtVerify(token, keys, {
        algorithms: ['RS256'],
        audience: settings.audience,
        issuer: settings.issuer,
        requiredClaims: ['sub', 'tenant_id', 'exp'],
        currentDate: new Date(clock.now()),
      });
      return identify(payload);
    } catch (error) {
      // Claims are checked after the signature, so the identity that the token names is genuine.
      if (error instanceof errors.JWTExpired) return { failure: 'expired', ...named(error.payload) };
      if (error instanceof errors.JWTClaimValidationFailed)
        return { failure: 'invalid', reason: reasonOf(error), ...named(error.payload) };
      // A published key that cannot be used, being too short, is a TypeError.
      const isAboutToken = error instanceof errors.JOSEError || error instanceof TypeError;
      if (isAboutToken) return { failure: 'invalid', reason: reasonOf(error) };
      throw error;
    }
  }

  return {
    name: 'jwt',
    authenticate({ bearer }) {
      if (!bearer?.startsWith('eyJ')) return undefined;
      if (bearer.length > MAX_TOKEN_LENGTH) return { failure: 'invalid', reason: 'is too long' };
      return TOKEN.test(bearer) ? verify(bearer) : undefined;
    },
  };
}

/** Names of the token's own header may be in it, of any length. */
const reasonOf = ({ message }: Error) => message.slice(0, 200);

function identify(payload: JWTPayload): Outcome {
  const { tenantId, identityId } = named(payload);
  const { roles = [] } = payload;
  if (tenantId === undefined || identityId === undefined || !isStringList(roles)) {
    return { failure: 'invalid', reason: 'sub, tenant_id or roles have another form', tenantId, identityId };
  }
  const known = [...new Set(roles.filter(isRole))];
  return {
    identity: { id: identityId, tenantId, roles: known, scopes: effectiveScopes([], known), method: 'jwt' },
  };
}

/** Whom a token names, as far as the names have the form of names. */
function named({
  sub,
  tenant_id: tenant,
}: JWTPayload): Pick<AuthenticationFailure, 'tenantId' | 'identityId'> {
  return {
    tenantId: typeof tenant === 'string' && isUuid(tenant.toLowerCase()) ? tenant.toLowerCase() : undefined,
    identityId: typeof sub === 'string' && isSubject(sub) ? sub : undefined,
  };
}

function isSubject(sub: string): boolean {
  return sub.length > 0 && sub.length <= MAX_SUBJECT_LENGTH && !/\p{Cc}/u.test(sub);
}

function isStringList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
