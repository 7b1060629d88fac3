import type { TestGateway } from '../start-test-gateway.ts';
import type { SampleTenant } from './conformance-options.ts';

/** A tenant of the suite, with a word of its own. */
export async function sampleTenant(gateway: TestGateway, name: string): Promise<SampleTenant> {
  const marker = `${name}${gateway.gateway.services.ids.bytes(4).toString('hex')}`;
  return { ...(await gateway.makeTenant(name)), marker };
}
