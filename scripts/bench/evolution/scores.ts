import { mean } from '../statistics.ts';
import type { GatewayDone } from './gateway-run.ts';
import type { Done, World } from './world.ts';

/** Number of tasks that are scored after the change, and at the end. */
const PART = 500;
/** Characters in a token, roughly. */
const TOKEN = 4;

/** One run of a world: with the plugin, and with `none` and `oracle` on the same tasks. */
export interface Compared {
  readonly world: World;
  readonly plugin: readonly GatewayDone[];
  readonly none: readonly Done[];
  readonly oracle: readonly Done[];
}

/** The numbers of one world. */
export interface Scores {
  /** Share of the distance from no evolution to the oracle that is closed. */
  readonly gap: number;
  /**
   * Success rate in the tasks after the change minus that without evolution; in a world that does not change, of the
   * same tasks.
   */
  readonly after: number;
  /** Share of advice that comes from a neighbour only. */
  readonly poisoned: number;
  /** Mean squared distance between the confidence of a gene and the outcome of following it. */
  readonly brier: number;
  /** Prompt tokens that advice adds to a task. */
  readonly tokens: number;
  /** Tasks and successes at the end, with the plugin and without, by agent and kind. */
  readonly classes: ReadonlyMap<string, ClassEnd>;
}

export interface ClassEnd {
  readonly plugin: readonly boolean[];
  readonly none: readonly boolean[];
}

/** Success rate of a part of tasks. */
export function successOf(done: readonly Done[], from = 0, to = done.length): number {
  return mean(done.slice(from, to).map(({ isSuccess }) => (isSuccess ? 1 : 0)));
}

export function scoresOf({ world, plugin, none, oracle }: Compared, change: number): Scores {
  const gain = successOf(plugin) - successOf(none);
  const advised = plugin.filter(({ advice }) => advice.preferred !== undefined);
  const followed = advised.filter(({ isFollowed, confidence }) => isFollowed && confidence !== undefined);
  return {
    gap: gain / (successOf(oracle) - successOf(none)),
    after: successOf(plugin, change, change + PART) - successOf(none, change, change + PART),
    poisoned: mean(advised.map(({ isForeign }) => (isForeign ? 1 : 0))),
    brier: mean(followed.map(({ confidence = 0, isSuccess }) => (confidence - (isSuccess ? 1 : 0)) ** 2)),
    tokens: mean(plugin.map(({ advice }) => advice.length / TOKEN)),
    classes: endsOf(world, plugin, none),
  };
}

function endsOf({ tasks }: World, plugin: readonly Done[], none: readonly Done[]) {
  const ends = new Map<string, { plugin: boolean[]; none: boolean[] }>();
  for (const { agent, kind, index } of tasks.slice(-PART)) {
    const key = `${agent} ${kind}`;
    const end = ends.get(key) ?? { plugin: [], none: [] };
    ends.set(key, end);
    end.plugin.push(plugin[index]!.isSuccess);
    end.none.push(none[index]!.isSuccess);
  }
  return ends;
}

/**
 * Classes that end worse than without evolution, by more than chance explains: 4 standard errors, since there are many
 * classes.
 */
export function worseClasses(all: readonly Scores[]): readonly string[] {
  return all.flatMap(({ classes }, world) =>
    [...classes].flatMap(([name, { plugin, none }]) => {
      const rate = (of: readonly boolean[]) => mean(of.map((isSuccess) => (isSuccess ? 1 : 0)));
      const [one, other] = [rate(plugin), rate(none)];
      const spread = Math.sqrt((one * (1 - one) + other * (1 - other)) / plugin.length + 1e-6);
      return other - one > 4 * spread ? [`world ${world}, agent and kind ${name}`] : [];
    }),
  );
}
