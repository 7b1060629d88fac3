import { Agent, request } from 'undici';
import { grpcClient } from '../../testing/grpc-client.ts';
import { assertSteady, print, type SoakGateway } from './soak-gateway.ts';

const WARM_UP = 50;
const LOADERS = 8;

/** Enables and disables a plugin under load: no request fails, nothing is left behind, the heap stays. */
export async function cyclePlugins(gateway: SoakGateway, cycles: number): Promise<void> {
  const agent = new Agent({ connections: LOADERS + 1 });
  const get = (path: string, headers = {}) =>
    request(`${gateway.url}${path}`, { headers, dispatcher: agent });
  const authorization = { authorization: `Bearer ${gateway.token}` };
  const counts = { served: 0, absent: 0 };
  let isOver = false;
  const failures: string[] = [];
  const shoot = async (path: string, expected: readonly number[], headers = {}) => {
    while (!isOver && failures.length < 10) {
      try {
        const { statusCode, body } = await get(path, headers);
        const text = await body.text();
        if (!expected.includes(statusCode))
          failures.push(`${path} answered ${statusCode}: ${text.slice(0, 200)}`);
        else if (statusCode === 404) counts.absent += 1;
        else counts.served += 1;
      } catch (failure) {
        failures.push(`${path}: ${failure}`);
      }
    }
  };
  const loaders = Array.from({ length: LOADERS }, (_, index) => {
    if (index % 4 === 0) return shoot('/steady', [200]);
    if (index % 4 === 1) return shoot('/steady/me', [200], authorization);
    return shoot('/toggled', [200, 404]);
  });
  loaders.push(
    (async () => {
      using client = grpcClient(gateway.grpc, {
        proto: new URL('./toggled.proto', import.meta.url),
        service: 'svc.toggled.v1.ToggledService',
      });
      while (!isOver && failures.length < 10) {
        const { code, details } = await client.call('Get');
        if (code === 'OK') counts.served += 1;
        else if (code === 'UNIMPLEMENTED') counts.absent += 1;
        else failures.push(`gRPC answered ${code}: ${details}`);
      }
    })(),
  );
  const turn = async (verb: 'enable' | 'disable') => {
    const { statusCode, body } = await request(`${gateway.url}/admin/v1/plugins/toggled/${verb}`, {
      method: 'POST',
      headers: authorization,
      dispatcher: agent,
    });
    const text = await body.text();
    if (statusCode !== 200) failures.push(`${verb} answered ${statusCode}: ${text.slice(0, 200)}`);
  };
  const run = async (count: number) => {
    for (let cycle = 0; cycle < count && failures.length === 0; cycle += 1) {
      await turn('disable');
      await turn('enable');
    }
  };
  try {
    await run(WARM_UP);
    const before = await gateway.heap();
    const began = performance.now();
    await run(cycles);
    const seconds = (performance.now() - began) / 1000;
    print(
      `${cycles} cycles in ${seconds.toFixed(1)} s; ${counts.served} requests served, ${counts.absent} were 404 while it was off`,
    );
    const after = await gateway.heap();
    if (counts.absent === 0 || counts.served === 0) failures.push('the load met only one of the two states');
    assertSteady(`${cycles} enable/disable cycles`, before, after);
  } finally {
    isOver = true;
    await Promise.all(loaders);
    await agent.close();
  }
  if (failures.length > 0) throw new Error(failures.join('\n'));
}
