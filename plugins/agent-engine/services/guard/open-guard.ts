import type { Scope } from 'agent-gateway';
import type { AgentEngineSettings } from '../../config.ts';
import type { Guard } from '../../contract.ts';
import { createGuard } from './create-guard.ts';

/** Opens the guardrails as the deployment wants them; each finding is counted and logged, without the text. */
export function openGuard(scope: Pick<Scope<AgentEngineSettings>, 'config' | 'log' | 'metric'>): Guard {
  const { config, log } = scope;
  const findings = scope.metric.counter({
    name: 'svc_guard_findings_total',
    help: 'What the guardrails found, whether it was refused or only reported.',
    labels: ['direction', 'rule'],
  });
  return createGuard({
    input: config.guard_input,
    output: config.guard_output,
    onFinding: (direction, { rule, reason }) => {
      findings.inc({ direction, rule });
      log.warn({ direction, rule }, `guardrails: ${reason}`);
    },
  });
}
