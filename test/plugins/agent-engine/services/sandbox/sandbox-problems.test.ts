import test from 'ava';
import { sandboxProblems } from '../../../../../plugins/agent-engine/services/sandbox/sandbox-config.ts';

const CASES: ['local' | 'docker' | 'k8s-job' | undefined, boolean, boolean, string | undefined][] = [
  [undefined, false, false, undefined],
  [undefined, true, true, undefined],
  ['local', true, false, undefined],
  ['local', false, false, 'SVC_ALLOW_LOCAL_SANDBOX'],
  ['local', false, true, 'SANDBOX_MODE'],
  ['local', true, true, 'SANDBOX_MODE'],
  ['docker', false, true, undefined],
  ['k8s-job', false, true, undefined],
];

for (const [mode, allow_local, production, name] of CASES) {
  const where = `${production ? 'in production' : 'in development'}${allow_local ? ', allowed' : ''}`;
  test(`${mode ?? 'no mode'} ${where} ${name === undefined ? 'may start' : `is refused for ${name}`}`, (t) => {
    t.is(sandboxProblems({ mode, allow_local }, production)[0]?.name, name);
  });
}
