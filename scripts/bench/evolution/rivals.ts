import { adviceBlock } from '../../../plugins/evolution/rules/advice-block.ts';
import { type Done, randomOf, type Task, TOOLS, type ToolName, type World, work } from './world.ts';

/**
 * Other advisers of the same model on the same tasks. Their advice does not depend on the gateway, so they run without
 * one.
 */
export const RIVALS = ['none', 'random', 'rawRate', 'oracle'] as const;
export type Rival = (typeof RIVALS)[number];

/** Tasks after which an agent is built again. */
export const REBUILT_AFTER = 25;

/** Runs a world with one rival. Returns the results of the tasks, in their order. */
export function runRival(rival: Rival, world: World): readonly Done[] {
  const counts = new Map<string, { uses: number; successes: number }>();
  let known = new Map<number, ToolName>();
  const done: Done[] = [];
  for (const task of world.tasks) {
    if (task.index % REBUILT_AFTER === 0) known = bestByRate(counts);
    const preferred = choiceOf(rival, world, task, known);
    const prompt =
      preferred === undefined
        ? ''
        : adviceBlock([{ kind: 'prefer', component: preferred, confidence: 1 }], (name) => name);
    const result = work(world, task, prompt);
    const key = `${task.agent} ${result.tool}`;
    const { uses, successes } = counts.get(key) ?? { uses: 0, successes: 0 };
    counts.set(key, { uses: uses + 1, successes: successes + (result.isReportedSuccess ? 1 : 0) });
    done.push(result);
  }
  return done;
}

function choiceOf(rival: Rival, world: World, task: Task, known: ReadonlyMap<number, ToolName>) {
  switch (rival) {
    case 'none':
      return undefined;
    case 'random':
      return TOOLS[Math.floor(randomOf(`${task.id} gene`)() * TOOLS.length)];
    case 'rawRate':
      return known.get(task.agent);
    case 'oracle':
      return world.right(task);
  }
}

/** By agent: the tool with the best success rate so far. */
function bestByRate(counts: ReadonlyMap<string, { readonly uses: number; readonly successes: number }>) {
  const best = new Map<number, { readonly tool: ToolName; readonly rate: number }>();
  for (const [key, { uses, successes }] of counts) {
    const [agent, tool] = key.split(' ') as [string, ToolName];
    const rate = successes / uses;
    if (rate > (best.get(Number(agent))?.rate ?? -1)) best.set(Number(agent), { tool, rate });
  }
  return new Map([...best].map(([agent, { tool }]) => [agent, tool]));
}
