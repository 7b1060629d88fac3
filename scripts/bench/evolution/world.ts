import { ADVICE_BEGINS, ADVICE_ENDS } from '../../../plugins/evolution/rules/advice-block.ts';
import { KINDS, taskText } from './tasks.ts';

/*
 * A world in which agents work: the tasks, the right tool for each task, and a model that chooses a tool. The same seed
 * gives the same world; each task has a random sequence of its own, so that all advisers that are compared have the
 * same luck.
 */

/** Tools that each agent has, as models call them. */
export const TOOLS = ['alpha', 'beta', 'gamma', 'delta'] as const;
export type ToolName = (typeof TOOLS)[number];

export const AGENTS = 3;
const KINDS_EACH = 3;
const RIGHT = 0.85;
const WRONG = { from: 0.15, to: 0.5 } as const;
/** How often the model follows the advice. */
const FOLLOWS = 0.85;
/** How often an outcome is reported as its opposite. */
const MISREPORTED = 0.1;

/** One task of one agent. */
export interface Task {
  readonly id: string;
  readonly seed: number;
  readonly index: number;
  readonly agent: number;
  /** Index in `KINDS`. */
  readonly kind: number;
  /** What the user says. The id is in quotation marks: quoted text is ignored when tasks are classified. */
  readonly text: string;
}

/** The result of a task. */
export interface Done {
  readonly tool: ToolName;
  readonly isFollowed: boolean;
  readonly isSuccess: boolean;
  /** The outcome that is reported to the learner. */
  readonly isReportedSuccess: boolean;
  readonly advice: Advice;
}

/** The content of a block of advice. */
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

/** The model does a task with the advice in its prompt. Pure. */
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

/** The block of advice in a prompt; the rest of the prompt is ignored. Pure. */
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
