import { scopesOf } from '../access/decide.ts';
import type { Access } from '../api/access.ts';
import type { Authenticator } from '../auth/authenticator.ts';

/** A kind of credential, as far as clients must know it. */
export type CredentialKind = Pick<Authenticator, 'name' | 'places'>;

/** The security schemes of the credentials taken now: one for all bearer tokens, one for each other place. */
export function securitySchemes(kinds: readonly CredentialKind[]): Readonly<Record<string, object>> {
  const bearers = kinds.filter(({ places }) => places === undefined).map(({ name }) => name);
  const description = `Authorization: Bearer, with one of: ${bearers.join(', ')}`;
  return {
    ...(bearers.length === 0 ? {} : { bearer: { type: 'http', scheme: 'bearer', description } }),
    ...Object.fromEntries(
      kinds.flatMap(({ name: kind, places = [] }) =>
        places.map((place) => [
          `${kind}.${place.in}`,
          { type: 'apiKey', in: place.in, name: place.name, description: `Credential: ${kind}` },
        ]),
      ),
    ),
  };
}

/**
 * Who may call, as the document says it: any one of the schemes; the rule as it was stated; and what it asks of this
 * method, where any one role and any one scope will do. Security requirements of OpenAPI 3.0 cannot name the scopes of
 * such schemes, so the last are members of our own.
 */
export function describedAccess(
  access: Access,
  method: string,
  schemes: readonly string[],
  needsCredential: boolean,
): { readonly sentence: string; readonly members: object } {
  const security = schemes.map((scheme) => ({ [scheme]: [] }));
  const scopes = scopesOf(access, method);
  return {
    sentence: `Access: ${sentenceOf(access, scopes, needsCredential)}`,
    members: {
      security: !needsCredential ? [] : access.kind === 'open' ? [...security, {}] : security,
      'x-access': access,
      ...(access.kind === 'roles' ? { 'x-required-roles': access.roles } : {}),
      ...(scopes.length === 0 ? {} : { 'x-required-scopes': scopes }),
    },
  };
}

function sentenceOf(access: Access, scopes: readonly string[], needsCredential: boolean): string {
  const scope = `${scopes.length === 1 ? 'the scope' : 'one of the scopes'} ${quoted(scopes)}`;
  switch (access.kind) {
    case 'public':
      return needsCredential ? 'a credential that the operation itself checks.' : 'anybody.';
    case 'authenticated':
      return 'every credential.';
    case 'credential':
      return `a credential of the kind ${quoted(access.methods)}.`;
    case 'open':
      return `${scope}; without a credential only from the gateway's own machine, or as \`SVC_ALLOW_ANONYMOUS\` says.`;
    case 'roles':
      return `one of the roles ${quoted([...new Set([...access.roles, 'admin', 'owner'])])}, and ${scope}.`;
    case 'governance':
      return `${scope}${access.operator ? ', in the default tenant' : ''}.`;
  }
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}
