import type { Plugin } from '../../kernel/api/plugin.ts';
import { assertNone, type ConformanceOptions, gatewayOf, nameOf, routesOf, turn } from './gateway-of.ts';
import { sampleParams, sampleTenant } from './sample.ts';

/** Requests to each reading route while the plugin is disabled. */
const REQUESTS = 10;

/** Requests that are in flight when the plugin is disabled end like any other; later ones are 404. */
export async function drainCheck(plugin: Plugin, options: ConformanceOptions): Promise<void> {
  const gateway = await gatewayOf(plugin, options);
  try {
    const routes = routesOf(gateway, plugin).filter(
      ({ methods, definition }) => methods.includes('GET') && definition !== undefined,
    );
    const { token, marker } = await sampleTenant(gateway, 'drain');
    const problems: string[] = [];
    const send = async (name: string, path: string) => {
      try {
        const response = await fetch(`${gateway.url}${path}`, {
          headers: { authorization: `Bearer ${token}` },
        });
        await response.arrayBuffer();
        if (response.status >= 500)
          problems.push(`${name} answered ${response.status} while it was disabled`);
        return response.status;
      } catch (failure) {
        problems.push(`${name} broke off while it was disabled: ${failure}`);
        return undefined;
      }
    };
    const targets = routes.map((route) => ({
      name: nameOf(route),
      path: sampleParams(route, options.samples?.[nameOf(route)]?.params ?? {}, marker),
    }));
    const inFlight = targets.flatMap(({ name, path }) =>
      Array.from({ length: REQUESTS }, () => send(name, path)),
    );
    await turn(gateway, plugin, 'disable');
    await Promise.all(inFlight);
    for (const { name, path } of targets) {
      const status = await send(name, path);
      if (status !== undefined && status !== 404)
        problems.push(`${name} still answers (${status}) after its stop`);
    }
    assertNone([...new Set(problems)]);
  } finally {
    await gateway.stop();
  }
}
