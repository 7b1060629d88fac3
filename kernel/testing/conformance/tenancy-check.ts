import type { Plugin } from '../../api/plugin.ts';
import type { CompiledRoute } from '../../http/compiled-route.ts';
import type { TestGateway, TestResponse } from '../start-test-gateway.ts';
import type { ConformanceOptions, SampleTenant } from './conformance.ts';
import { assertNone, gatewayOf, nameOf, routesOf } from './gateway-of.ts';
import { sampleOf, sampleParams } from './sample.ts';
import { sampleTenant } from './sample-tenant.ts';

/** Statuses that tell a stranger nothing. */
const REFUSED = [403, 404];

/**
 * Makes data for one tenant through the plugin's own routes, and reads, changes and deletes it as another: what the owner
 * sees, the stranger does not. A reading route that does not even show the owner his data proves nothing, and is told.
 */
export async function tenancyCheck(plugin: Plugin, options: ConformanceOptions): Promise<void> {
  const gateway = await gatewayOf(plugin, options);
  try {
    const { services } = gateway.gateway;
    const owner = await sampleTenant(services, 'owner');
    const stranger = await sampleTenant(services, 'stranger');
    const routes = routesOf(gateway, plugin).filter(
      ({ definition, access }) => definition !== undefined && access.kind !== 'public',
    );
    const made = new Made(owner);
    made.know(await options.seed?.(gateway, owner));
    for (const route of routes.filter(({ methods }) => methods.includes('POST'))) {
      made.learn(route, await send(gateway, route, options, owner, made));
    }
    const problems: string[] = [];
    for (const route of routes.filter(({ methods }) => methods.includes('GET'))) {
      if (options.shared?.includes(nameOf(route))) continue;
      problems.push(...(await readProblems(gateway, route, options, { owner, stranger, made })));
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

interface World {
  readonly owner: SampleTenant;
  readonly stranger: SampleTenant;
  readonly made: Made;
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

function send(
  gateway: TestGateway,
  route: CompiledRoute,
  { samples }: ConformanceOptions,
  tenant: SampleTenant,
  known: Made,
): Promise<TestResponse> {
  const sample = samples?.[nameOf(route)];
  const schema = route.definition?.schema?.body;
  const made = schema === undefined ? undefined : sampleOf(schema, tenant.marker);
  const body = sample?.body === undefined ? made : marked(sample.body, tenant.marker);
  return gateway.request(
    sampleParams(route, { ...known.paramsOf(route), ...sample?.params }, tenant.marker),
    {
      method: route.methods[0]!,
      token: tenant.token,
      ...(body === undefined ? {} : { body }),
    },
  );
}

/** A sample with the tenant's own word in it. */
function marked(sample: unknown, marker: string): unknown {
  return JSON.parse(JSON.stringify(sample).replaceAll('{marker}', marker));
}

/** What is known to belong to the owner. */
class Made {
  readonly #marks: Set<string>;
  readonly #params: Record<string, string> = {};
  /** Ids by the path of the route that made them: `/v1/notes` gives the `{id}` of `/v1/notes/{id}`. */
  readonly #ids = new Map<string, string>();

  constructor(owner: SampleTenant) {
    this.#marks = new Set([owner.marker]);
  }

  know(params: Readonly<Record<string, string>> = {}): void {
    Object.assign(this.#params, params);
    for (const value of Object.values(params)) this.#marks.add(value);
  }

  learn(route: CompiledRoute, { status, body }: TestResponse): void {
    if (status >= 300) return;
    const id = idIn(body);
    if (id === undefined) return;
    this.#marks.add(id);
    this.#ids.set(route.pattern, id);
  }

  paramsOf({ pattern }: CompiledRoute): Readonly<Record<string, string>> {
    const params = { ...this.#params };
    for (const { 0: part, 1: name, index } of pattern.matchAll(/\/\{(\w+)\*?\}/g)) {
      const id = this.#ids.get(pattern.slice(0, index));
      if (id !== undefined && part !== undefined) params[name!] = id;
    }
    return params;
  }

  occursIn({ body }: TestResponse): boolean {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return [...this.#marks].some((mark) => text.includes(mark));
  }
}

/** The id of a record, also of one that is wrapped by its noun. */
function idIn(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const own = (body as { id?: unknown }).id;
  if (typeof own === 'string') return own;
  for (const value of Object.values(body)) {
    const inner = typeof value === 'object' && value !== null ? (value as { id?: unknown }).id : undefined;
    if (typeof inner === 'string') return inner;
  }
  return undefined;
}
