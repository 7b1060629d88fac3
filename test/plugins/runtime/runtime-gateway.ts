import type { ExecutionContext } from 'ava';
import agentEngine from '../../../plugins/agent-engine/plugin.ts';
import records from '../../../plugins/records/plugin.ts';
import runtime from '../../../plugins/runtime/plugin.ts';
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../../../testing/index.ts';

/** A gateway with the runtime, on one address; stopped when the test ends. */
export async function startRuntime(
  t: ExecutionContext,
  options: Omit<TestGatewayOptions, 'plugins'> = {},
): Promise<TestGateway> {
  const gateway = await startTestGateway({ ...options, plugins: [records, agentEngine, runtime] });
  t.teardown(gateway.stop);
  return gateway;
}
