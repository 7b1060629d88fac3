import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Plugin } from '../../kernel/api/plugin.ts';
import { reportEffects } from '../../kernel/host/effects.ts';
import type { TestGateway } from '../start-test-gateway.ts';
import { turn, withGateway } from './gateway-of.ts';
import { type LeftHandles, watchHandles } from './left-handles.ts';
import type { Subject } from './subject.ts';

/** Milliseconds that sockets and the like get to close, and that a request of the suite may take. */
const SETTLE = 3000;
const PATIENCE = 30_000;
const BETWEEN_LOOKS = 20;

/**
 * Disables and enables the plugin twice: its jobs and its workers belong together, both set-ups make the same effects,
 * no leak is reported, and no timer, server, connection, watcher or child that it began is left after its stop.
 */
export async function lifecycleCheck(subject: Subject): Promise<readonly string[]> {
  const { name } = subject.plugin;
  using handles = watchHandles(subject.plugin, subject.options.folder);
  const { plugin } = handles;
  // Waited for here: the handles are watched until then.
  return await withGateway({ ...subject, plugin }, async (gateway) => {
    const effects = () => reportEffects(gateway.gateway.host.slots.find(name)!.current!.effects);
    const first = effects();
    await turn(gateway, plugin, 'disable');
    const metrics = await metricNames(gateway);
    const problems = [...leaksOf(gateway, plugin), ...jobProblems(plugin, first.jobs)];
    for (let round = 0; round < 2; round += 1) {
      await turn(gateway, plugin, 'enable');
      if (!isDeepStrictEqual(effects(), first))
        problems.push('it registers something else at the second set-up');
      await turn(gateway, plugin, 'disable');
      problems.push(...leaksOf(gateway, plugin));
    }
    const left = [...(await metricNames(gateway)).difference(metrics)];
    if (left.length > 0) problems.push(`its metrics stay: ${left.join(', ')}`);
    return [...problems, ...(await leftBehind(handles))];
  });
}

/** That each job of `jobs` has a worker is checked by the host, at each set-up. */
function jobProblems({ name, jobs = [] }: Plugin, workers: readonly string[]): readonly string[] {
  const declared = new Set(jobs.map(({ id }) => id));
  // The queue of a subscription is named by its event.
  const isListed = (id: string) => declared.has(id) || id.startsWith(`${name}.on.`);
  return [
    ...workers.filter((id) => !isListed(id)).map((id) => `it works on ${id} without naming it in "jobs"`),
    ...[...declared]
      .filter((id) => !id.startsWith(`${name}.`))
      .map((id) => `its job ${id} is not called ${name}.<work>`),
  ];
}

/** What the gateway had to end itself, and undos that failed. */
function leaksOf(gateway: TestGateway, plugin: Plugin): readonly string[] {
  return gateway.gateway.host.slots.find(plugin.name)!.leaks.map((leak) => `after its stop: ${leak}`);
}

async function metricNames(gateway: TestGateway): Promise<Set<string>> {
  const { body } = await gateway.request('/metrics', { token: null, signal: AbortSignal.timeout(PATIENCE) });
  return new Set([...String(body).matchAll(/^# TYPE (\S+)/gm)].map((match) => match[1]!));
}

/** What is left once everything had its time to end. */
async function leftBehind(handles: LeftHandles): Promise<readonly string[]> {
  const deadline = performance.now() + SETTLE;
  for (;;) {
    const left = handles.list();
    if (left.length === 0 || performance.now() > deadline) return left;
    await pause(BETWEEN_LOOKS);
  }
}
