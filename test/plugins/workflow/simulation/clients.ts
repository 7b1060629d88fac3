import type { TaskCompletion } from '../../../../plugins/workflow/contract/runs.ts';
import type { Command, Verdict } from '../../../../plugins/workflow/services/core/commands.ts';
import type { RunState } from '../../../../plugins/workflow/services/core/state.ts';
import type { Runner } from '../../../../plugins/workflow/services/runner/runner.ts';
import { isFinal } from './rules/state-rules.ts';
import type { World } from './world.ts';

/** How long somebody waits for an answer before he asks again, in milliseconds. */
const PATIENCE_MS = 15_000;

/** What people and programs outside want, and what was promised to them. */
export interface Clients {
  /** Starts all runs of the profile, at random times. */
  startRuns(): void;
  /** Runs that were started, with the time when that was acknowledged. */
  readonly acknowledged: ReadonlyMap<string, number>;
  /** How many runs are not acknowledged yet. */
  readonly unanswered: number;
}

/** The clients of a world. Whatever they are told is checked against the store in the moment that they are told. */
export function createClients(world: World): Clients {
  const { scheduler, random, store, members, profile } = world;
  const meddlingMs = Math.max(40_000, profile.troubleMs);
  const acknowledged = new Map<string, number>();
  const winners = new Map<string, string>();
  let unanswered = profile.tenants.reduce((sum, count) => sum + count);

  /** Asks some process, and another one when no answer comes. */
  function ask<Answer>(
    label: string,
    call: (runner: Runner) => Promise<Answer>,
    then: (answer: Answer) => void,
    left = 30,
  ): void {
    const open = [...members].filter((member) => member.state === 'open');
    let isOver = false;
    const again = () => {
      if (isOver) return;
      isOver = true;
      if (left > 0) scheduler.after(random.longTailed(300, 3000), '', () => ask(label, call, then, left - 1));
    };
    scheduler.after(PATIENCE_MS, '', again);
    if (open.length === 0) return;
    const { process, runner } = random.pick(open);
    process.deliver(random.longTailed(1, 20), `is asked: ${label}`, () => {
      call(runner).then(
        (answer) => {
          // An answer counts also when nobody listens any more: it was given.
          if (process.isAlive) then(answer);
          isOver = true;
        },
        (error: unknown) => {
          scheduler.note(`${process.name} refuses ${label}: ${error}`);
          again();
        },
      );
    });
  }

  function startOne(tenantId: string, number: number): void {
    const version = random.pick([...world.versions.values()]);
    const key = `${tenantId}-key-${number}`;
    ask(
      `start ${key}`,
      (runner) =>
        runner.start({
          tenantId,
          definitionId: 'd',
          versionId: version.id,
          version: 1,
          startedBy: 'somebody',
          input: { x: random.integer(0, 9) },
          idempotency: { key, fingerprint: key },
        }),
      (started) => {
        const runId = 'state' in started ? started.state.id : started.existing.runId;
        const run = store.run(runId)?.state;
        if (run?.tenantId !== tenantId)
          world.violate(`the start of ${runId} was acknowledged, it is not stored`);
        if ('state' in started) isKnown(started.state);
        if (!acknowledged.has(runId)) unanswered -= 1;
        acknowledged.set(runId, acknowledged.get(runId) ?? scheduler.now);
      },
    );
  }

  /** A state that somebody was told is stored, or older than what is stored. */
  function isKnown(state: RunState): RunState {
    const now = store.run(state.id)?.state;
    if (now === undefined || now.revision < state.revision || now.seq < state.seq) {
      world.violate(
        `somebody was told revision ${state.revision} of ${state.id}, ${now?.revision} is stored`,
      );
    }
    return now!;
  }

  function order(state: RunState, command: Command, then: (verdict: Verdict, now: RunState) => void): void {
    const place = { tenantId: state.tenantId, runId: state.id };
    ask(
      `${command.type} ${state.id}`,
      (runner) => runner.apply(place, command),
      (answer) => {
        if (answer === undefined) return world.violate(`${state.id} was not found`);
        then(answer.verdict, isKnown(answer.state));
      },
    );
  }

  function completeTask(state: RunState, stepId: string, nodeId: string, by: string): void {
    const outcome = random.pick(['yes', 'no', 'maybe', undefined]);
    const payload: TaskCompletion = {
      ...(outcome !== undefined && { outcome }),
      ...(random.isTrue(0.7) && { output: { value: random.integer(0, 9), flag: random.isTrue(0.5) } }),
      ...(random.isTrue(0.5) && { variables: { k: random.integer(0, 9) } }),
    };
    const times = random.isTrue(0.3) ? 2 : 1;
    for (let time = 0; time < times; time += 1) {
      order(state, { type: 'task_completed', stepId, by, payload }, (verdict, now) => {
        if (verdict !== 'applied' && verdict !== 'unchanged') return;
        const step = now.steps.get(nodeId)!;
        const sent = JSON.stringify(payload);
        const isKept = step.status === 'completed' && JSON.stringify(step.completion?.payload) === sent;
        if (!isKept) world.violate(`task ${stepId} was said to be completed with ${sent}, and is not`);
        if (winners.has(stepId) && winners.get(stepId) !== sent)
          world.violate(`two completed the task ${stepId}`);
        winners.set(stepId, sent);
      });
    }
  }

  /** People look at the lists from time to time, and do something. */
  function live(): void {
    scheduler.after(random.longTailed(700, 10_000), '', () => {
      const states = store.runs().map((run) => run.state);
      const open = states.filter((state) => !isFinal(state.status));
      if (open.length > 0) act(random.pick(open));
      live();
    });
  }

  function act(state: RunState): void {
    const waiting = [...state.steps.values()].filter((step) => step.status === 'waiting');
    if (waiting.length > 0 && random.isTrue(0.8)) {
      const { id, nodeId } = random.pick(waiting);
      const people = random.isTrue(0.25) ? 2 : 1;
      for (let person = 0; person < people; person += 1) completeTask(state, id, nodeId, `person ${person}`);
    }
    // Later on nobody helps what has come to a stop.
    if (scheduler.now > meddlingMs) return;
    if (state.status === 'paused' && random.isTrue(0.6)) {
      order(state, { type: 'retry', by: 'somebody' }, () => {});
    }
    if (random.isTrue(profile.cancels * 0.15)) {
      order(state, { type: 'cancel', by: 'somebody' }, (verdict, now) => {
        const fits =
          verdict === 'already-completed' ? now.status === 'completed' : now.status === 'cancelled';
        if (!fits) world.violate(`the cancellation of ${state.id} gave ${verdict}, the run is ${now.status}`);
      });
    }
  }

  return {
    acknowledged,
    get unanswered() {
      return unanswered;
    },
    startRuns() {
      const spread = Math.max(20_000, profile.troubleMs * 0.7);
      for (const [index, count] of profile.tenants.entries()) {
        for (let number = 0; number < count; number += 1) {
          const at = index === 0 && count > 20 ? 1000 : 500 + random.next() * spread;
          scheduler.after(at, '', () => startOne(`t${index}`, number));
        }
      }
      live();
    },
  };
}
