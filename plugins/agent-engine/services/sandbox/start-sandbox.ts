import { ConfigurationError, type Scope } from 'agent-gateway';
import type { AgentEngineSettings } from '../../config.ts';
import type { Sandbox } from '../../contract.ts';
import { openSandbox } from './open-sandbox.ts';
import { sandboxMetrics } from './sandbox-metrics.ts';
import { sandboxProblems } from './sandbox-problems.ts';

/** Opens the sandbox of the deployment; it ends with the plugin. Throws a ConfigurationError, which stops the start, for a mode that is not allowed here. */
export async function startSandbox(scope: Scope<AgentEngineSettings>): Promise<Sandbox> {
  const { config, log, services } = scope;
  const { clock, ids, production } = services;
  const problems = sandboxProblems(config.sandbox, production);
  if (problems.length > 0) throw new ConfigurationError(problems);
  const sandbox = await openSandbox({
    ...{ settings: config.sandbox, production, clock, ids, log },
    observer: sandboxMetrics(scope.metric),
  });
  scope.defer(async () => {
    await sandbox[Symbol.asyncDispose]();
  });
  return sandbox;
}
