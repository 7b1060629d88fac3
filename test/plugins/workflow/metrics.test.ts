import test from 'ava';
import { createMetrics } from '../../../foundation/observability/metrics.ts';
import { createPluginMetrics } from '../../../foundation/observability/plugin-metrics.ts';
import { workflowMetrics } from '../../../plugins/workflow/metrics.ts';

function make() {
  const { registry, text } = createMetrics({ version: '1', process: false });
  return { text, metrics: workflowMetrics(createPluginMetrics(registry, 'workflow')) };
}

test('what happens to steps, runs and events is counted', async (t) => {
  const { metrics, text } = make();
  const { runner, relay } = metrics;
  runner.delivered('service_task', 'succeeded', 1_500);
  runner.delivered('service_task', 'failed', 100);
  runner.redelivered('agent_task');
  runner.committed('conflict');
  runner.found('orphan', 3);
  runner.abandoned(1);
  runner.late();
  runner.expired();
  metrics.notified('lost');
  metrics.committed([{ type: 'run.started' }, { type: 'step.started' }, { type: 'run.completed' }]);
  relay.delivered('hooks', 4, 250);
  relay.failed('hooks');
  relay.gaveUp('hooks', 2);
  const output = await text();
  for (const line of [
    'svc_workflow_steps_total{type="service_task",result="succeeded"} 1',
    'svc_workflow_steps_total{type="service_task",result="failed"} 1',
    'svc_workflow_step_seconds_sum{type="service_task"} 1.6',
    'svc_workflow_redeliveries_total{type="agent_task"} 1',
    'svc_workflow_commits_total{result="conflict"} 1',
    'svc_workflow_swept_total{finding="orphan"} 3',
    'svc_workflow_abandoned_calls 1',
    'svc_workflow_late_results_total 1',
    'svc_workflow_lease_expired_total 1',
    'svc_workflow_hints_total{result="lost"} 1',
    'svc_workflow_runs_total{status="started"} 1',
    'svc_workflow_runs_total{status="completed"} 1',
    'svc_workflow_outbox_deliveries_total{sink="hooks",result="delivered"} 1',
    'svc_workflow_outbox_deliveries_total{sink="hooks",result="failed"} 1',
    'svc_workflow_outbox_events_total{sink="hooks"} 4',
    'svc_workflow_outbox_delay_seconds_sum{sink="hooks"} 0.25',
    'svc_workflow_outbox_given_up_total{sink="hooks"} 2',
  ]) {
    t.true(output.includes(`${line}\n`), line);
  }
});

test('steps are counted while they are under way, whatever their end', async (t) => {
  const { metrics, text } = make();
  const gate = Promise.withResolvers<never>();
  const call = metrics.counted(() => gate.promise)({} as never);
  t.true((await text()).includes('svc_workflow_running_steps 1\n'));
  gate.reject(new Error('failed'));
  await t.throwsAsync(call, { message: 'failed' });
  t.true((await text()).includes('svc_workflow_running_steps 0\n'));
});
