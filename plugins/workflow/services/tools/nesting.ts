import type { Principal } from '../../../agent-engine/contract.ts';

/**
 * Tells the work of agent tasks from the work of chats and runtime agents, so that a workflow whose agent starts workflows whose agents start
 * workflows does not go on for ever.
 */
export interface Nesting {
  /** Marks a principal as one that an agent task works for: this very object, and no other with the same members. */
  enter(principal: Principal): void;
  /** True inside of an agent task. The agent engine hands the principal of a turn to its tools as it is, sub-agents included. */
  isInside(principal: Principal): boolean;
}

/** Makes it. It keeps nothing of work that is over, and knows of this process alone: a turn never leaves its process. */
export function createNesting(): Nesting {
  const inside = new WeakSet<Principal>();
  return { enter: (principal) => void inside.add(principal), isInside: (principal) => inside.has(principal) };
}
