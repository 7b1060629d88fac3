import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { Family } from '../../foundation/data/family.ts';
import { type FreshDatabase, gatewayDatabase, SERVER_FAMILIES } from '../support/databases.ts';
import { temporaryFolder } from '../support/gateway-process.ts';
import { sample } from '../support/sample.ts';
import { until } from '../support/until.ts';
import { faultsOfRun, faultsOfStory, faultsOfTables, readRun } from '../support/workflow-invariants.ts';
import { startWorkflowService, type WorkflowService } from '../support/workflow-service.ts';
import { live, newStory, publish, type Story, storyGraph, Unanswered } from '../support/workflow-story.ts';
import { environmentOf, type Gateways, startGateways } from './workflow/gateways.ts';
import type { Stop } from './workflow/write-boundaries.ts';

/** Runs that stand still at one time in one gateway: on SQLite one of them has the only connection. */
const RUNS: Readonly<Record<Family, number>> = { sqlite: 1, postgres: 8, mysql: 8 };
const GATEWAYS: Readonly<Record<Family, number>> = { sqlite: 14, postgres: 1, mysql: 1 };
/** Of any run: each of its steps is stored. */
const MIN_BOUNDARIES = 15;
/** The rest of a machine's patience: each start of a process is slow while others work. */
const PATIENCE_MS = 90_000;
/**
 * A process that a busy machine holds longer than that loses its runs before it is killed, and what was in flight is
 * repeated twice.
 */
const LEASE = '6s';

/** Gateways with their databases and the stories that they tell. */
interface Stage {
  readonly t: ExecutionContext;
  readonly service: WorkflowService;
  readonly databases: readonly FreshDatabase[];
  gateways: Gateways;
  /** Of each tenant. */
  readonly definitions: readonly string[];
}

async function setUp(t: ExecutionContext, family: Family): Promise<Stage | undefined> {
  // The second arm of the fork ends after the first, so that the same writes come in the same order each time.
  const service = await startWorkflowService(t, ({ node }) => (node === 'c' ? pause(100, 200) : undefined));
  const folder = await temporaryFolder(t);
  const databases: FreshDatabase[] = [];
  for (let index = 0; index < GATEWAYS[family]; index += 1) {
    const fresh = await gatewayDatabase(t, family);
    if (fresh === undefined) return undefined;
    databases.push(fresh);
  }
  const more = { SVC_EGRESS_ALLOW_PRIVATE: service.allowed, SVC_DATABASE_POOL: '14', WORKFLOW_LEASE: LEASE };
  const places = databases.map((fresh, index) => ({
    env: environmentOf(fresh, path.join(folder, String(index)), more),
    tenants: RUNS[family],
  }));
  const gateways = await startGateways(t, places);
  const definitions = await Promise.all(
    gateways.clients.map((client) => publish(client, storyGraph(service.url))),
  );
  return { t, service, databases, gateways, definitions };
}

/** A run that is to die, and where. */
interface Victim {
  readonly story: Story;
  readonly tenant: number;
  readonly at: number;
}

const stopOf = ({ story, at }: Victim): Stop => ({ marker: story.name, at, runId: story.runId });

/** Which boundaries a run has that nobody disturbs. */
async function countBoundaries({ gateways, definitions, t }: Stage): Promise<readonly string[]> {
  const story = newStory('undisturbed', definitions[0]!);
  await gateways.stopAt([{ marker: story.name, at: 0 }]);
  await live(gateways.clients[0]!, story, PATIENCE_MS);
  t.deepEqual(story.broken, []);
  const met = await gateways.met(story.name);
  t.true(met.length > MIN_BOUNDARIES, `only ${met.length} boundaries were seen`);
  return met;
}

/** Lives all stories until each stands still or is at its end, and kills the process. Gives where each one stood. */
async function kill({ gateways }: Stage, victims: readonly Victim[]): Promise<ReadonlyMap<string, string>> {
  const { clients, standing } = gateways;
  const ended = new Set<string>();
  const lives = victims.map(async ({ story, tenant }) => {
    try {
      await live(clients[tenant]!, story, PATIENCE_MS);
      ended.add(story.name);
    } catch (error) {
      if (!(error instanceof Unanswered)) story.broken.push(String(error));
    }
  });
  const isStill = ({ story }: Victim) => standing.has(story.name) || ended.has(story.name);
  await until(() => victims.every(isStill), PATIENCE_MS);
  await gateways.kill();
  await Promise.all(lives);
  return standing;
}

/** Lives all stories to their end, and looks at them. */
async function finish(
  { t, gateways, service }: Stage,
  victims: readonly Victim[],
  losses: number,
  where: ReadonlyMap<string, string>,
): Promise<void> {
  await Promise.all(
    victims.map(async ({ story, tenant }) => {
      const client = gateways.clients[tenant]!;
      await live(client, story, PATIENCE_MS).catch((error) => story.broken.push(String(error)));
      const told = story.runId === undefined ? undefined : await readRun(client, story.runId);
      const faults =
        told === undefined
          ? ['there is no run']
          : [...faultsOfRun(told), ...faultsOfStory(told, service.of(story.name), losses)];
      const place = where.get(story.name) ?? 'after its end';
      t.deepEqual([...story.broken, ...faults], [], `${story.name}, killed ${place}`);
    }),
  );
}

/** After all runs of a stage, in its tables. */
async function checkTables({ t, databases }: Stage, stories: readonly Story[]): Promise<void> {
  const runs = new Set(stories.map(({ runId }) => runId));
  t.is(runs.size, stories.length, 'two stories have one run');
  for (const { ask } of databases) {
    t.deepEqual(await faultsOfTables(ask, 1), []);
    const [counted] = await ask(
      `select (select count(*) from workflow_runs) as runs, (select count(*) from workflow_starts) as starts,
        (select count(*) from usage_records) as agents`,
    );
    const { runs: all, starts, agents } = counted!;
    t.is(Number(starts), Number(all), 'each run was started by a key');
    // It commits with the step: what was done again is counted once.
    t.is(Number(agents), Number(all), 'the usage of each agent task is recorded once');
  }
}

/** Kills one run at each of these boundaries. Gives at how many a run was killed in truth. */
async function killAtEach(stage: Stage, boundaries: readonly number[]): Promise<number> {
  const { t, definitions } = stage;
  const size = definitions.length;
  const stories: Story[] = [];
  let killed = 0;
  for (let first = 0; first < boundaries.length; first += size) {
    const victims = boundaries
      .slice(first, first + size)
      .map(
        (at, tenant): Victim => ({ at, tenant, story: newStory(`boundary-${at}-`, definitions[tenant]!) }),
      );
    await stage.gateways.stopAt(victims.map(stopOf));
    const where = await kill(stage, victims);
    killed += where.size;
    stage.gateways = await startGateways(t, stage.gateways.places);
    await finish(stage, victims, 1, where);
    stories.push(...victims.map(({ story }) => story));
  }
  await checkTables(stage, stories);
  return killed;
}

/** `count` boundaries, and two that no run meets, so that one which happens to have more is seen. */
const boundariesOf = (count: number) => Array.from({ length: count + 2 }, (_, index) => index + 1);

test('sqlite: kill -9 at every boundary of the writes of a run loses nothing and repeats only what was in flight', async (t) => {
  t.timeout(10 * PATIENCE_MS);
  const stages = await Promise.all([setUp(t, 'sqlite'), setUp(t, 'sqlite')]);
  const { length } = await countBoundaries(stages[0]!);
  const all = sample(t, boundariesOf(length), 14);
  const killed = await Promise.all(
    stages.map((stage, lane) =>
      killAtEach(
        stage!,
        all.filter((at) => at % 2 === lane),
      ),
    ),
  );
  const sum = killed[0]! + killed[1]!;
  t.log(`${sum} boundaries`);
  t.true(sum >= all.length - 4, `killed at ${sum} of ${all.length} boundaries`);
});

for (const family of SERVER_FAMILIES) {
  test(`${family}: kill -9 at every boundary of the writes of a run loses nothing and repeats only what was in flight`, async (t) => {
    t.timeout(40 * PATIENCE_MS);
    const stage = await setUp(t, family);
    if (stage === undefined) return;
    const { length } = await countBoundaries(stage);
    const chosen = sample(t, boundariesOf(length), 8);
    const killed = await killAtEach(stage, chosen);
    t.log(`${killed} of ${chosen.length} boundaries`);
    t.true(killed >= chosen.length - 4, `killed at ${killed} of ${chosen.length} boundaries`);
  });
}

test('sqlite: kill -9 once more while what the first one interrupted is taken over', async (t) => {
  t.timeout(10 * PATIENCE_MS);
  const stage = await setUp(t, 'sqlite');
  const { definitions } = stage!;
  const met = await countBoundaries(stage!);
  // Both arms of the fork are in flight.
  const [, second] = met.flatMap((boundary, index) => (boundary.startsWith('after') ? [index] : []));
  const fork = second! + 1;
  const victims = definitions.map((definition, tenant): Victim => {
    return { tenant, at: fork, story: newStory(`twice-${tenant}-`, definition) };
  });
  await stage!.gateways.stopAt(victims.map(stopOf));
  t.is((await kill(stage!, victims)).size, victims.length);
  const again = victims.map((victim, index): Victim => ({ ...victim, at: index + 1 }));
  stage!.gateways = await startGateways(t, stage!.gateways.places, again.map(stopOf));
  const where = await kill(stage!, again);
  t.is(where.size, victims.length);
  stage!.gateways = await startGateways(t, stage!.gateways.places);
  await finish(stage!, again, 2, where);
  await checkTables(
    stage!,
    victims.map(({ story }) => story),
  );
  t.log([...where.values()].join('\n'));
});
