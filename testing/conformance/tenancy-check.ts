import type { CompiledRoute } from '../../kernel/http/compiled-route.ts';
import { Caller } from './caller.ts';
import { nameOf, withGateway } from './gateway-of.ts';
import { grpcChangeProblems, grpcReadProblems } from './grpc-tenancy.ts';
import { makeData, tenantRoutes } from './made-data.ts';
import type { ConformanceOptions } from './options.ts';
import { damageProblems, RecordView } from './record-view.ts';
import { requestOf } from './request-of.ts';
import { sampleTenant, type World } from './sample.ts';
import type { Subject } from './subject.ts';

/** Statuses that tell a stranger nothing. */
const REFUSED = [403, 404];
/** A request that is refused before anything was looked up says nothing either way. */
const UNREAD = [400, 415];

/**
 * Makes data for one tenant through the plugin's own routes, and reads, changes and deletes it as another: what the
 * owner sees, the stranger does not. A reading route that does not even show the owner the data proves nothing, and is
 * reported.
 */
export async function tenancyCheck(subject: Subject): Promise<readonly string[]> {
  return withGateway(subject, async (gateway) => {
    const { plugin, options } = subject;
    const owner = await sampleTenant(gateway, 'owner');
    const stranger = await sampleTenant(gateway, 'stranger');
    const routes = tenantRoutes(gateway, plugin);
    const caller = new Caller(subject, gateway);
    const made = await makeData(caller, gateway, subject, owner);
    const world = { owner, stranger, made };
    const views: RecordView[] = [];
    const problems = [...(await grpcReadProblems(caller, gateway, subject, world, views))];
    const reading = routes.filter(({ methods }) => methods.includes('GET'));
    // Lists first: an id that the stranger has named in a request may be repeated to the stranger, in records of its
    // own calls.
    for (const route of reading.toSorted((a, b) => parts(a) - parts(b))) {
      if (options.shared?.includes(nameOf(route))) continue;
      problems.push(...(await readProblems(caller, route, options, world, views)));
    }
    for (const route of routes.filter(isChange))
      problems.push(...(await changeProblems(caller, route, options, world, views)));
    problems.push(...(await grpcChangeProblems(caller, gateway, subject, world, views)));
    return [...problems, ...caller.problems];
  });
}

async function readProblems(
  caller: Caller,
  route: CompiledRoute,
  options: ConformanceOptions,
  { owner, stranger, made }: World,
  views: RecordView[],
): Promise<readonly string[]> {
  const name = nameOf(route);
  const shown = await caller.route(route, owner, made, 'first');
  if (shown === undefined) return [];
  if (shown.status !== 200 || !made.occursIn(shown)) {
    return [
      `${name} shows its own tenant nothing (status ${shown.status}), so it proves nothing: give "samples" or "seed", or list it as "shared"`,
    ];
  }
  views.push(new RecordView(name, shown.body, () => caller.route(route, owner, made, 'first')));
  const asked = made.ask(requestOf(route, options, stranger.marker, made).path);
  const seen = await caller.route(route, stranger, made);
  if (seen === undefined) return [];
  // A refusal may repeat what was asked for.
  if (!REFUSED.includes(seen.status) && made.isShownIn(seen))
    return [`${name} shows a tenant what belongs to another one`];
  if (asked.isForOwners && !REFUSED.includes(seen.status))
    return [`${name} of another tenant's record answers ${seen.status}, not 404`];
  return [];
}

/**
 * A stranger changes the owner's record. Where clients choose the keys the stranger gets a record of its own, and the
 * owner's stays as it is.
 */
async function changeProblems(
  caller: Caller,
  route: CompiledRoute,
  options: ConformanceOptions,
  { stranger, made }: World,
  views: readonly RecordView[],
): Promise<readonly string[]> {
  const name = nameOf(route);
  const asked = made.ask(requestOf(route, options, stranger.marker, made).path);
  if (!asked.isForOwners) for (const view of views) await view.settle();
  const answer = await caller.route(route, stranger, made);
  if (answer === undefined || REFUSED.includes(answer.status) || UNREAD.includes(answer.status)) return [];
  if (asked.isForOwners) return [`${name} of another tenant's record answers ${answer.status}, not 404`];
  if (made.isShownIn(answer)) return [`${name} shows a tenant what belongs to another one`];
  return damageProblems(name, views, stranger.marker);
}

function parts({ pattern }: CompiledRoute): number {
  return pattern.split('{').length;
}

function isChange({ methods, pattern }: CompiledRoute): boolean {
  return (
    pattern.includes('{') && methods.some((method) => ['POST', 'PUT', 'PATCH', 'DELETE'].includes(method))
  );
}
