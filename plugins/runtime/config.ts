import { field, Type } from 'agent-gateway';

/** Settings of the runtime. */
export const RuntimeConfig = Type.Object({
  address: field.address({
    env: 'SVC_RUNTIME_ADDR',
    default: '0.0.0.0:8888',
    description:
      'Address of the v2 API; it is served on the gateway’s own address as well, unless `SVC_ONE_PORT=false`',
  }),
  admin_api_key: field.string({
    env: 'ADMIN_API_KEY',
    secret: true,
    min: 16,
    unset: 'administrators of the gateway alone',
    description: 'Key of an administrator of the default tenant on the routes of the runtime',
  }),
});
