import agentEngine from '../../../plugins/agent-engine/plugin.ts';
import platform from '../../../plugins/platform/plugin.ts';
import records from '../../../plugins/records/plugin.ts';
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../../../testing/index.ts';
import type { Lifetime } from '../../support/shared.ts';

/** The operator's own tenant. */
export const DEFAULT_TENANT = '00000000-0000-0000-0000-000000000001';

/** A request per test is not what these tests are about. */
const PLENTY = 100_000;

/** A gateway with the platform, and the first steps of most tests. */
export interface PlatformGateway extends TestGateway {
  /** Makes a tenant and returns its id. */
  tenant(name?: string): Promise<string>;
  /** Makes a key as the operator and returns it with its raw value. */
  key(settings?: Record<string, unknown>): Promise<{ id: string; key: string }>;
}

/** Starts it; it is stopped when the test ends, or the file. The default tenant's rate limit is out of the way. */
export async function startPlatform(
  t: Lifetime,
  options: Omit<TestGatewayOptions, 'plugins'> = {},
): Promise<PlatformGateway> {
  const gateway = await startTestGateway({ ...options, plugins: [records, agentEngine, platform] });
  t.teardown(gateway.stop);
  const { request } = gateway;

  async function post(path: string, body: object) {
    const response = await request(path, { method: 'POST', body });
    if (response.status !== 201)
      throw new Error(`${path}: ${response.status} ${JSON.stringify(response.body)}`);
    return response.body;
  }

  return Object.assign(gateway, {
    tenant: async (name = 'Acme') => (await post('/v1/tenants', { name, rate_limit_rpm: PLENTY })).id,
    key: (settings: Record<string, unknown> = {}) => post('/v1/api-keys', { name: 'test', ...settings }),
  });
}
