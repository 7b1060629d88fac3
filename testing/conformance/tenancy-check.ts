import type { Plugin } from '../../kernel/api/plugin.ts';
import type { CompiledRoute } from '../../kernel/http/compiled-route.ts';
import type { TestGateway } from '../start-test-gateway.ts';
import { assertNone, type ConformanceOptions, gatewayOf, nameOf } from './gateway-of.ts';
import { grpcReadProblems } from './grpc-tenancy.ts';
import { makeData, send, tenantRoutes } from './made-data.ts';
import { sampleTenant, type World } from './sample.ts';

/** Statuses that tell a stranger nothing. */
const REFUSED = [403, 404];

/**
 * Makes data for one tenant through the plugin's own routes, and reads, changes and deletes it as another: what the owner
 * sees, the stranger does not. A reading route that does not even show the owner his data proves nothing, and is told.
 */
export async function tenancyCheck(plugin: Plugin, options: ConformanceOptions): Promise<void> {
  const gateway = await gatewayOf(plugin, options);
  try {
    const owner = await sampleTenant(gateway, 'owner');
    const stranger = await sampleTenant(gateway, 'stranger');
    const routes = tenantRoutes(gateway, plugin);
    const made = await makeData(gateway, plugin, options, owner);
    const problems: string[] = [];
    const world = { owner, stranger, made };
    problems.push(...(await grpcReadProblems(gateway, plugin, options, world)));
    for (const route of routes.filter(({ methods }) => methods.includes('GET'))) {
      if (options.shared?.includes(nameOf(route))) continue;
      problems.push(...(await readProblems(gateway, route, options, world)));
    }
    for (const route of routes.filter(isChange)) {
      const { status } = await send(gateway, route, options, stranger, made);
      // A body that is refused before anything was looked up says nothing either way.
      if (!REFUSED.includes(status) && status !== 400 && status !== 415)
        problems.push(`${nameOf(route)} of another tenant's record answers ${status}, not 404`);
    }
    assertNone(problems);
  } finally {
    await gateway.stop();
  }
}

async function readProblems(
  gateway: TestGateway,
  route: CompiledRoute,
  options: ConformanceOptions,
  { owner, stranger, made }: World,
): Promise<readonly string[]> {
  const name = nameOf(route);
  const shown = await send(gateway, route, options, owner, made);
  if (shown.status !== 200 || !made.occursIn(shown)) {
    return [
      `${name} shows its own tenant nothing (status ${shown.status}), so it proves nothing: give "samples" or "seed", or list it as "shared"`,
    ];
  }
  const seen = await send(gateway, route, options, stranger, made);
  if (made.occursIn(seen)) return [`${name} shows a tenant what belongs to another one`];
  const isOne = route.pattern.includes('{');
  if (isOne && !REFUSED.includes(seen.status))
    return [`${name} of another tenant's record answers ${seen.status}, not 404`];
  return [];
}

function isChange({ methods, pattern }: CompiledRoute): boolean {
  return pattern.includes('{') && methods.some((method) => ['PUT', 'PATCH', 'DELETE'].includes(method));
}
