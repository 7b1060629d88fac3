import { Caller } from './caller.ts';
import { nameOf, routesOf, turn, withGateway } from './gateway-of.ts';
import { Made, sampleTenant } from './sample.ts';
import type { Subject } from './subject.ts';

/** Requests to each reading route while the plugin is disabled. */
const REQUESTS = 10;

/** Requests that are in flight when the plugin is disabled end like any other; later ones are 404. */
export async function drainCheck(subject: Subject): Promise<readonly string[]> {
  return withGateway(subject, async (gateway) => {
    const { plugin } = subject;
    const routes = routesOf(gateway, plugin).filter(
      ({ methods, definition }) => methods.includes('GET') && definition?.deprecated === undefined,
    );
    const reading = routes.filter(({ definition }) => definition !== undefined);
    const tenant = await sampleTenant(gateway, 'drain');
    const known = new Made(tenant);
    const caller = new Caller(subject, gateway);
    // A route that fails without a stop as well, since something is missing, says nothing about the stop.
    const before = new Map<string, number | undefined>();
    for (const route of reading)
      before.set(nameOf(route), (await caller.route(route, tenant, known))?.status);
    const problems: string[] = [];
    const inFlight = reading.flatMap((route) =>
      Array.from({ length: REQUESTS }, async () => {
        const status = (await caller.route(route, tenant, known))?.status ?? 0;
        if (status >= 500 && status !== before.get(nameOf(route)))
          problems.push(`${nameOf(route)} answers ${status} while it is disabled`);
      }),
    );
    await turn(gateway, plugin, 'disable');
    await Promise.all(inFlight);
    for (const route of reading) {
      const status = (await caller.route(route, tenant, known))?.status;
      if (status !== undefined && status !== 404)
        problems.push(`${nameOf(route)} still answers (${status}) after its stop`);
    }
    return [...new Set(problems), ...caller.problems];
  });
}
