import { type Authenticator, createTokenComparison, DEFAULT_TENANT_ID } from 'agent-gateway';

/** Where the key is valid: the runtime's own routes and services, and the services that gRPC clients call before them. */
const OWN_PATHS = [
  ...['/api/v2/', '/api/v1/', '/v3/', '/v1/conversation/', '/v1/workflow/'],
  ...['/svc.agent.v1.', '/svc.conversation.v1.', '/svc.model.v1.', '/svc.tool.v1.', '/grpc.reflection.'],
];
/** All other paths below `/v1/workflows/` belong to the plugin `workflow`. */
const OWN_PATH = '/v1/workflows/chat';

const OUTCOME = {
  identity: {
    id: 'admin-api-key',
    tenantId: DEFAULT_TENANT_ID,
    roles: ['admin'],
    scopes: new Set(['read', 'write', 'execute']),
    method: 'admin_api_key',
  },
};

/** Recognizes `ADMIN_API_KEY`, as bearer or `X-API-Key`: an administrator of the default tenant on the runtime's routes (decisions 0.2). */
export function adminKey(key: string): Authenticator {
  const matches = createTokenComparison(key);
  return {
    name: 'admin_api_key',
    authenticate(credentials) {
      const { path } = credentials;
      if (path !== OWN_PATH && !OWN_PATHS.some((own) => path.startsWith(own))) return undefined;
      const presented = credentials.bearer ?? credentials.header('x-api-key');
      return presented !== undefined && matches(presented) ? OUTCOME : undefined;
    },
  };
}
