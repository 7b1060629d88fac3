import { defineErrors, type ErrorFactory, GatewayError } from 'agent-gateway';
import { WorkflowErrors } from '../../workflow/contract.ts';

/** What jobs answer with. */
export const JobErrors = defineErrors({
  notFound: { code: 'job.not-found', kind: 'not-found', title: 'There is no such job' },
  graphNotFound: { code: 'job.graph-not-found', kind: 'not-found', title: 'There is no such graph' },
  graphNotRunnable: { code: 'job.graph-not-runnable', kind: 'conflict', title: 'The graph cannot run now' },
  /** 409 */
  ended: { code: 'job.ended', kind: 'conflict', title: 'The job has ended' },
  notWaiting: { code: 'job.not-waiting', kind: 'conflict', title: 'The job does not wait for this' },
  nodeNeeded: { code: 'job.node-needed', kind: 'invalid', title: 'The node that waits is not named' },
  outcomeNotRoutable: {
    code: 'job.outcome-not-routable',
    kind: 'invalid',
    title: 'No edge leads on from this outcome',
  },
  notAssigned: { code: 'job.not-assigned', kind: 'forbidden', title: 'The job waits for somebody else' },
  idempotencyMismatch: {
    code: 'job.idempotency-mismatch',
    kind: 'conflict',
    title: 'The idempotency key was used with another body',
  },
  tooLarge: { code: 'job.too-large', kind: 'too-large', title: 'The data of the job are too large' },
  busy: { code: 'job.busy', kind: 'unavailable', title: 'The job is changed by too many at once' },
});

/**
 * Errors of the engine, and the errors of jobs that replace them. The engine's detail is kept where it does not mention
 * runs.
 */
const TRANSLATIONS: readonly (readonly [ErrorFactory, ErrorFactory, detail?: string])[] = [
  [WorkflowErrors.runNotFound, JobErrors.notFound, JobErrors.notFound.definition.title],
  [WorkflowErrors.taskNotFound, JobErrors.notFound, JobErrors.notFound.definition.title],
  [WorkflowErrors.notPublished, JobErrors.graphNotRunnable],
  [
    WorkflowErrors.alreadyCompleted,
    JobErrors.ended,
    'The job is completed: there is nothing left to cancel.',
  ],
  [WorkflowErrors.taskNotOpen, JobErrors.notWaiting, 'The job went on meanwhile.'],
  [
    WorkflowErrors.taskCompleted,
    JobErrors.notWaiting,
    'Another completion was first, and the job goes on with that one.',
  ],
  [WorkflowErrors.outcomeNotRoutable, JobErrors.outcomeNotRoutable],
  [WorkflowErrors.notAssigned, JobErrors.notAssigned],
  [
    WorkflowErrors.idempotencyMismatch,
    JobErrors.idempotencyMismatch,
    'Another job was started with this key and another body. To start a new one, send a new key; to learn of the first, send its body again.',
  ],
  [WorkflowErrors.contextTooLarge, JobErrors.tooLarge],
  [WorkflowErrors.busy, JobErrors.busy],
];

/** Rethrows what the engine threw, as the matching error of jobs if there is one. */
export function translate(thrown: unknown): never {
  if (!(thrown instanceof GatewayError)) throw thrown;
  const found = TRANSLATIONS.find(([{ definition }]) => definition.code === thrown.code);
  if (found === undefined) throw thrown;
  const [, make, detail = thrown.detail] = found;
  throw make(detail, { ...thrown.extras, cause: thrown });
}
