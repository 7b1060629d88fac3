import { type JsonObject, StepFailure, type StepResult } from '../../../../plugins/workflow/contract.ts';
import type { Execute } from '../../../../plugins/workflow/services/ports/execution.ts';
import type { Faults } from './faults.ts';
import type { LedgerEntities } from './memory-store.ts';
import type { SimulatedProcess } from './process.ts';
import type { Random } from './random.ts';
import type { Scheduler } from './scheduler.ts';

/** One delivery of a step as the world outside saw it. */
export interface Execution {
  readonly process: SimulatedProcess;
  readonly tenantId: string;
  readonly runId: string;
  readonly stepId: string;
  readonly nodeId: string;
  readonly attempt: number;
  readonly delivery: number;
  readonly input: JsonObject | null;
  readonly startedAt: number;
  abortedAt: number | undefined;
  endedAt: number | undefined;
  output: JsonObject | undefined;
}

/** Identifies a delivery of a step: its fence. */
export function fenceOf(at: {
  readonly stepId: string;
  readonly attempt: number;
  readonly delivery: number;
}): string {
  return `${at.stepId}-${at.attempt}/${at.delivery}`;
}

/** What a process carries out: effects that take their time, and end in all ways in which calls end. */
export function createExecute(options: {
  readonly process: SimulatedProcess;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly faults: () => Faults;
  readonly began: (execution: Execution) => void;
  readonly ended: (execution: Execution) => void;
}): Execute {
  const { process, scheduler, faults, began, ended } = options;
  return ({ run, step, signal }) =>
    new Promise<StepResult>((resolve, reject) => {
      if (!process.isAlive) return;
      const execution: Execution = {
        process,
        tenantId: run.tenantId,
        runId: run.id,
        stepId: step.id,
        nodeId: step.nodeId,
        attempt: step.attempt,
        delivery: step.delivery,
        input: step.input,
        startedAt: scheduler.now,
        abortedAt: undefined,
        endedAt: undefined,
        output: undefined,
      };
      const fence = fenceOf(execution);
      const random = options.random.fork(fence);
      scheduler.note(`${process.name} executes ${fence} of ${run.id} ${step.nodeId}`);
      began(execution);

      const end = (settle: () => void) => {
        if (execution.endedAt !== undefined) return;
        execution.endedAt = scheduler.now;
        ended(execution);
        settle();
      };
      const succeed = () =>
        end(() => {
          execution.output = { by: fence, value: random.integer(0, 9), flag: random.isTrue(0.5) };
          const row = { fence, runId: run.id };
          resolve({
            output: execution.output,
            also: async (entities) => (entities as unknown as LedgerEntities).note(row),
          });
        });
      const fail = (code: string, isRetryable: boolean) =>
        end(() => reject(new StepFailure(code, 'the effect failed', { isRetryable })));

      const { hangingEffect, stubbornEffect, retryableFailure, finalFailure } = faults();
      const isStubborn = random.isTrue(stubbornEffect);
      const stop = () => {
        execution.abortedAt = scheduler.now;
        scheduler.note(`${process.name} aborts ${fence}`);
        if (isStubborn) process.deliver(random.longTailed(300, 3000), `${fence} ends late`, succeed);
        else process.deliver(random.next() * 20, `${fence} ends`, () => end(() => reject(signal.reason)));
      };
      if (signal.aborted) return stop();
      signal.addEventListener('abort', stop, { once: true });
      if (random.isTrue(hangingEffect)) return;
      const duration = random.longTailed(300, 12_000);
      const draw = random.next();
      process.deliver(duration, `${fence} ends`, () => {
        if (draw < retryableFailure) fail('service_status', true);
        else if (draw < retryableFailure + finalFailure) fail('service_status', false);
        else if (draw < retryableFailure + finalFailure * 1.5) end(() => reject(new Error('unforeseen')));
        else succeed();
      });
    });
}
