import { field, Type } from 'agent-gateway';
import type { Static } from 'typebox';
import { preambleTokens } from '../records/contract.ts';

/** Settings of the workflow engine. */
export const WorkflowConfig = Type.Object({
  max_steps: field.integer({
    env: 'WORKFLOW_MAX_STEPS',
    default: 50,
    min: 2,
    max: 10_000,
    description: 'Steps that one run may activate, start and end included; above it the run is paused',
  }),
  step_timeout: field.duration({
    env: 'WORKFLOW_STEP_TIMEOUT',
    default: '5m',
    min: '1s',
    max: '24h',
    description: 'Time that one attempt of a step may take',
  }),
  http_timeout: field.duration({
    env: 'WORKFLOW_HTTP_TIMEOUT',
    default: '30s',
    min: '1s',
    max: '1h',
    description: 'Time that one HTTP request of a service task may take, redirects and body included',
  }),
  preamble_tokens: preambleTokens,
  concurrency: field.integer({
    env: 'WORKFLOW_CONCURRENCY',
    default: 64,
    min: 1,
    max: 10_000,
    description: 'Steps that this process carries out at one time; others wait, or go to other replicas',
  }),
  lease: field.duration({
    env: 'WORKFLOW_LEASE',
    default: '10s',
    min: '1s',
    max: '10m',
    description: 'Time without a sign of life after which the steps of a replica go to others',
  }),
  sweep_interval: field.duration({
    env: 'WORKFLOW_SWEEP_INTERVAL',
    default: '5s',
    min: '100ms',
    max: '10m',
    description: 'How often a replica looks for work of which it got no notice',
  }),
});

export type WorkflowSettings = Static<typeof WorkflowConfig>;
