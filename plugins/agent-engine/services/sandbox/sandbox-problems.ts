import type { SandboxSettings } from './sandbox-config.ts';

/** A variable that must not have its value. */
export interface SandboxProblem {
  readonly name: string;
  readonly message: string;
}

/**
 * Why the gateway must not start with these settings (decisions 1.8): `local` shares the kernel with the gateway, so it is asked
 * for twice, and not in production.
 */
export function sandboxProblems(
  { mode, allow_local }: Pick<SandboxSettings, 'mode' | 'allow_local'>,
  production: boolean,
): readonly SandboxProblem[] {
  if (mode !== 'local') return [];
  if (production) {
    return [{ name: 'SANDBOX_MODE', message: 'must not be local in production; use k8s-job or docker' }];
  }
  if (allow_local) return [];
  return [
    {
      name: 'SVC_ALLOW_LOCAL_SANDBOX',
      message: 'must be true for SANDBOX_MODE=local, which runs code of models on this machine',
    },
  ];
}
