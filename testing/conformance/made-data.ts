import { within } from '../../foundation/base/deadline.ts';
import type { Plugin } from '../../kernel/api/plugin.ts';
import type { CompiledRoute } from '../../kernel/http/compiled-route.ts';
import type { TestGateway } from '../start-test-gateway.ts';
import type { Caller } from './caller.ts';
import { routesOf } from './gateway-of.ts';
import type { SampleTenant } from './options.ts';
import { Made } from './sample.ts';
import type { Subject } from './subject.ts';

/** Milliseconds that `seed` may take. */
const SEED_TIMEOUT = 60_000;

/** The routes of a plugin that ask who is calling. The old path of another route is that route. */
export function tenantRoutes(gateway: TestGateway, plugin: Plugin): readonly CompiledRoute[] {
  return routesOf(gateway, plugin).filter(
    ({ definition, access }) =>
      definition !== undefined && definition.deprecated === undefined && access.kind !== 'public',
  );
}

/** What belongs to a tenant before any route was called: what `seed` makes. */
export async function seeded(
  gateway: TestGateway,
  { options }: Pick<Subject, 'options'>,
  owner: SampleTenant,
): Promise<Made> {
  const made = new Made(owner);
  const known = options.seed === undefined ? {} : options.seed(gateway, owner);
  made.know(await within(SEED_TIMEOUT, '"seed"', Promise.resolve(known)));
  return made;
}

/**
 * Makes data of a tenant: what `seed` makes, one record with each POST route, and one with each PUT route, of which a
 * client may choose the key.
 */
export async function makeData(
  caller: Caller,
  gateway: TestGateway,
  subject: Subject,
  owner: SampleTenant,
): Promise<Made> {
  const made = await seeded(gateway, subject, owner);
  const routes = tenantRoutes(gateway, subject.plugin);
  for (const method of ['POST', 'PUT']) {
    for (const route of routes.filter(({ methods }) => methods.includes(method))) {
      if (method === 'PUT') made.chooseKey(route);
      const answer = await caller.route(route, owner, made, 'whole');
      if (method === 'POST' && answer !== undefined) made.learn(route, answer);
    }
  }
  return made;
}
