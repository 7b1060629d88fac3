import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../../../../plugins/workflow/contract.ts';
import type { StepState } from '../../../../../plugins/workflow/services/core/state.ts';
import { type Execution, fenceOf } from '../effects.ts';
import type { MemoryStore, StoredWrite } from '../memory-store.ts';

/** Watches who carries out what, and who says so. */
export interface Deliveries {
  /** Says what is wrong with a write, given who made it and what was carried out. */
  wrote(write: StoredWrite, store: MemoryStore, now: number): string[];
  /** Says what is wrong with an execution that begins. */
  began(execution: Execution, store: MemoryStore): string[];
  ended(execution: Execution): void;
  /** Executions that have not ended, of processes that are alive. */
  underWay(): Execution[];
  /** Since when nobody waits for an execution any more; undefined while somebody does. */
  obsoleteSince(execution: Execution): number | undefined;
  readonly executions: ReadonlyMap<string, Execution>;
}

/** The rules of deliveries, for a world where a process carries out `concurrency` steps at most. */
export function createDeliveries(concurrency: number): Deliveries {
  /** The worker that claimed a delivery. */
  const claims = new Map<string, string>();
  const executions = new Map<string, Execution>();
  const open = new Set<Execution>();
  const inputs = new Map<string, JsonObject | null>();
  const obsolete = new Map<string, number>();
  const fenceOfStep = (step: StepState) => fenceOf({ ...step, stepId: step.id });
  const underWay = () => {
    for (const execution of open) if (!execution.process.isAlive) open.delete(execution);
    return [...open];
  };

  function checkCompletion(step: StepState, writer: string): string[] {
    const execution = executions.get(fenceOfStep(step));
    if (execution === undefined) return [`step ${step.nodeId} was completed and never executed`];
    if (execution.process.name !== writer) {
      return [`step ${step.nodeId} was completed by ${writer}, executed by ${execution.process.name}`];
    }
    if (execution.endedAt === undefined) return [`step ${step.nodeId} was completed while it was executed`];
    if (isDeepStrictEqual(execution.output, step.output)) return [];
    return [`step ${step.nodeId} was completed with what ${fenceOfStep(step)} did not give`];
  }

  return {
    wrote({ writer, before, after }, store, now) {
      const wrong: string[] = [];
      const { owner, status } = after.state;
      const oldOwner = before?.state.owner ?? null;
      const isForeign = oldOwner !== null && store.writerOf(oldOwner) !== writer && status !== 'cancelled';
      for (const step of after.state.steps.values()) {
        const old = before?.state.steps.get(step.nodeId);
        const fence = fenceOfStep(step);
        const wasRunning = old?.status === 'running';
        const isNew = step.status === 'running' && !(wasRunning && fenceOfStep(old) === fence);
        if (wasRunning && (isNew || step.status !== 'running')) {
          obsolete.set(fenceOfStep(old), now);
          if (isForeign && store.isAlive(oldOwner)) {
            wrong.push(`${writer} took step ${step.nodeId} from ${oldOwner}, which is alive`);
          }
        }
        if (isNew) {
          if (store.writerOf(owner!) !== writer) wrong.push(`${writer} claimed ${fence} for ${owner}`);
          if (claims.has(fence)) wrong.push(`${fence} was claimed a second time`);
          claims.set(fence, owner!);
        }
        if (wasRunning && step.status === 'completed') wrong.push(...checkCompletion(step, writer));
      }
      return wrong;
    },
    began(execution, store) {
      const wrong: string[] = [];
      const fence = fenceOf(execution);
      const key = `${execution.stepId}-${execution.attempt}`;
      const claimant = claims.get(fence);
      if (claimant === undefined) wrong.push(`${fence} is executed, and nobody claimed it`);
      else if (store.writerOf(claimant) !== execution.process.name) {
        wrong.push(`${fence} is executed by ${execution.process.name}, ${claimant} claimed it`);
      }
      if (executions.has(fence)) wrong.push(`${fence} is executed a second time`);
      if (inputs.has(key) && !isDeepStrictEqual(inputs.get(key), execution.input)) {
        wrong.push(`the input of ${key} has changed`);
      }
      inputs.set(key, execution.input);
      executions.set(fence, execution);
      open.add(execution);
      // A call that goes on although it was told to end holds no place.
      const isCounted = ({ process, abortedAt }: Execution) =>
        process === execution.process && abortedAt === undefined;
      const here = underWay().filter(isCounted).length;
      if (here > concurrency) wrong.push(`${execution.process.name} carries out ${here} steps at one time`);
      return wrong;
    },
    ended: (execution) => void open.delete(execution),
    underWay,
    obsoleteSince: (execution) => obsolete.get(fenceOf(execution)),
    executions,
  };
}
