import {
  type Authenticator,
  ConfigurationError,
  createTokenComparison,
  DEFAULT_TENANT_ID,
} from 'agent-gateway';

/**
 * Where the key is valid: the runtime's own routes and services, and the services that gRPC clients call before them.
 */
const OWN_PATHS = [
  '/api/v2/',
  '/api/v1/',
  '/v3/',
  '/v1/conversation/',
  '/v1/workflow/',
  '/v1/workflows/',
  '/svc.agent.v1.',
  '/svc.conversation.v1.',
  '/svc.model.v1.',
  '/svc.tool.v1.',
  '/grpc.reflection.',
];

const OUTCOME = {
  identity: {
    id: 'admin-api-key',
    tenantId: DEFAULT_TENANT_ID,
    roles: ['admin'],
    scopes: new Set(['read', 'write', 'execute']),
    method: 'admin_api_key',
  },
};

/**
 * What arrives as it was sent: HTTP takes blanks off the ends of a header. Many clients send `é` as the one byte of
 * Latin-1 (RFC 9110, 5.5), which is read so; `curl` sends two.
 */
const CARRIED = /^(?!\s)[\t\x20-\x7e\x80-\xff]+(?<!\s)$/;

/**
 * Recognizes `ADMIN_API_KEY`, as bearer or `X-API-Key`: an administrator of the default tenant on the runtime's routes
 * (decisions 0.2).
 *
 * @throws ConfigurationError for a key that no request could present, like one from a file that ends with a line feed
 */
export function adminKey(key: string): Authenticator {
  if (!CARRIED.test(key)) {
    const message = 'holds a blank at an end, or a character that no header can carry';
    throw new ConfigurationError([{ name: 'ADMIN_API_KEY', message }]);
  }
  const matches = createTokenComparison(key);
  return {
    name: 'admin_api_key',
    authenticate(credentials) {
      const { path, bearer } = credentials;
      if (!OWN_PATHS.some((own) => path.startsWith(own))) return undefined;
      const presented = bearer ?? credentials.header('x-api-key');
      if (presented === undefined) return undefined;
      if (matches(presented)) return OUTCOME;
      // A bearer may be a credential of another kind. What is sent as `X-API-Key` is no other, and not the same as
      // nothing.
      return bearer === undefined ? { failure: 'unknown' } : undefined;
    },
  };
}
