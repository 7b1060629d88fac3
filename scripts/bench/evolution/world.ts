import { ADVICE_BEGINS, ADVICE_ENDS } from '../../../plugins/evolution/rules/advice-block.ts';
import { KINDS, taskText } from './tasks.ts';

/*
 * A world in which agents work: what they are asked, which tool is right for it, and a model that chooses one. The same seed gives the same world; each task
 * draws its luck by itself, so that all who are compared have the same.
 */

/** Tools that each agent has, as models call them. */
export const TOOLS = ['alpha', 'beta', 'gamma', 'delta'] as const;
export type ToolName = (typeof TOOLS)[number];

export const AGENTS = 3;
const KINDS_EACH = 3;
const RIGHT = 0.85;
const WRONG = { from: 0.15, to: 0.5 } as const;
/** How often the model does what it is told. */
const FOLLOWS = 0.85;
/** How often what is told of an outcome is the contrary. */
const MISREPORTED = 0.1;

/** One task of one agent. */
export interface Task {
  readonly id: string;
  readonly seed: number;
  readonly index: number;
  readonly agent: number;
  /** Index in `KINDS`. */
  readonly kind: number;
  /** What the user says. The id stands in quotation marks, which tell nothing of a task. */
  readonly text: string;
}

/** What came of a task. */
export interface Done {
  readonly tool: ToolName;
  readonly isFollowed: boolean;
  readonly isSuccess: boolean;
  /** What the learner is told. */
  readonly isReportedSuccess: boolean;
  readonly advice: Advice;
}

/** What an advice says. */
export interface Advice {
  readonly preferred: string | undefined;
  readonly avoided: readonly string[];
  /** Characters of the block. */
  readonly length: number;
}

export interface World {
  readonly tasks: readonly Task[];
  /** How often a tool works for a task. */
  rate(task: Task, tool: ToolName): number;
  right(task: Task): ToolName;
}

/** @param change the index of the task from which on other tools are right; undefined: never */
export function createWorld(seed: number, tasks: number, change: number | undefined): World {
  const all = Array.from({ length: tasks }, (_, index): Task => {
    const random = randomOf(`${seed} task ${index}`);
    const agent = Math.floor(random() * AGENTS);
    const kind = (agent + Math.floor(random() * KINDS_EACH) * 2) % KINDS.length;
    const id = `${seed}-${index}`;
    return { id, seed, index, agent, kind, text: `${taskText(KINDS[kind]!, random)} "#${id}"` };
  });
  const isChanged = ({ index }: Task) => change !== undefined && index >= change;
  const rightIndex = (task: Task) => {
    const random = randomOf(`${seed} right ${task.agent} ${task.kind}`);
    const before = Math.floor(random() * TOOLS.length);
    return isChanged(task) ? (before + 1 + Math.floor(random() * (TOOLS.length - 1))) % TOOLS.length : before;
  };
  return {
    tasks: all,
    right: (task) => TOOLS[rightIndex(task)]!,
    rate(task, tool) {
      if (TOOLS[rightIndex(task)] === tool) return RIGHT;
      const random = randomOf(`${seed} wrong ${task.agent} ${task.kind} ${tool}`);
      return WRONG.from + random() * (WRONG.to - WRONG.from);
    },
  };
}

/** What a model makes of a task and its advice. Pure. */
export function work(world: World, task: Task, prompt: string): Done {
  const random = randomOf(`${task.id} luck`);
  const [follows, habit, luck, report] = [random(), random(), random(), random()] as const;
  const advice = adviceIn(prompt);
  const isFollowing = follows < FOLLOWS;
  const preferred = TOOLS.find((tool) => tool === advice.preferred);
  const allowed = isFollowing ? TOOLS.filter((tool) => !advice.avoided.includes(tool)) : TOOLS;
  const choice = allowed.length === 0 ? TOOLS : allowed;
  const tool =
    isFollowing && preferred !== undefined ? preferred : choice[Math.floor(habit * choice.length)]!;
  const isSuccess = luck < world.rate(task, tool);
  const isFollowed = isFollowing && preferred === tool;
  return { tool, isFollowed, isSuccess, isReportedSuccess: isSuccess !== report < MISREPORTED, advice };
}

/** The block of advice in a prompt: nothing else of the prompt is looked at. Pure. */
export function adviceIn(prompt: string): Advice {
  const from = prompt.indexOf(ADVICE_BEGINS);
  const to = prompt.indexOf(ADVICE_ENDS, from);
  if (from < 0 || to < 0) return { preferred: undefined, avoided: [], length: 0 };
  const block = prompt.slice(from, to + ADVICE_ENDS.length);
  return {
    preferred: /^- (?:Use|Try) (\w+)/m.exec(block)?.[1],
    avoided: [...block.matchAll(/^- Avoid (\w+)/gm)].map(([, tool]) => tool!),
    length: block.length,
  };
}

/** Numbers from 0 up to 1 that are the same for the same name. */
export function randomOf(name: string): () => number {
  let state = 0x811c9dc5;
  for (let index = 0; index < name.length; index += 1)
    state = Math.imul(state ^ name.charCodeAt(index), 0x01000193);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}
