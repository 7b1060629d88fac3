import type { V1Pod } from '@kubernetes/client-node';
import test from 'ava';
import { podState } from '../../../../../../plugins/agent-engine/services/sandbox/kubernetes-engine.ts';

function pod(phase: string, state?: object, reason?: string): V1Pod {
  return {
    metadata: { name: 'p' },
    status: {
      phase,
      ...(reason === undefined ? {} : { reason }),
      ...(state === undefined ? {} : { containerStatuses: [{ state }] as never }),
    },
  };
}

const CASES: [string, V1Pod[], ReturnType<typeof podState>][] = [
  ['no pod', [], { phase: 'waiting' }],
  ['one that is not scheduled', [pod('Pending')], { phase: 'waiting' }],
  ['one that is made', [pod('Pending', { waiting: { reason: 'ContainerCreating' } })], { phase: 'waiting' }],
  [
    'one without its image',
    [pod('Pending', { waiting: { reason: 'ErrImagePull' } })],
    { phase: 'stuck', reason: 'ErrImagePull' },
  ],
  ['one that runs', [pod('Running', { running: {} })], { phase: 'running', pod: 'p' }],
  [
    'one that is through',
    [pod('Succeeded', { terminated: { exitCode: 0, reason: 'Completed' } })],
    { phase: 'ended', pod: 'p', isOutOfMemory: false },
  ],
  [
    'one out of memory',
    [pod('Failed', { terminated: { exitCode: 137, reason: 'OOMKilled' } })],
    { phase: 'ended', pod: 'p', isOutOfMemory: true },
  ],
  ['one that was evicted', [pod('Failed', undefined, 'Evicted')], { phase: 'stuck', reason: 'Evicted' }],
];

for (const [what, pods, expected] of CASES) {
  test(`${what} is ${expected.phase}`, (t) => {
    t.deepEqual(podState(pods), expected);
  });
}
