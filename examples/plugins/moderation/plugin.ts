import { definePlugin, field } from 'agent-gateway';
import { ChatGuardsPoint } from 'agent-gateway/contracts/agent-engine';
import Type from 'typebox';
import { createFindings } from './findings.ts';
import { moderationMethods } from './grpc.ts';
import { moderationGuard } from './guard.ts';
import { moderatorFor } from './moderator.ts';
import { rulesKind } from './rules.ts';
import { Finding, initial } from './store.ts';

export default definePlugin({
  name: 'moderation',
  summary: 'Keeps to the rules of the house what chats hold',
  version: '0.1.0',
  kernel: '^1.0.0',
  config: Type.Object({
    report_every: field.duration({
      default: '24h',
      min: '1s',
      description: 'How often it is reported what was refused and redacted',
    }),
  }),
  entities: [{ entity: Finding, impersonal: 'what was done, of no text and no user' }],
  migrations: [initial],
  setup(scope) {
    const sets = scope.kind(rulesKind);
    const moderatorOf = (tenantId: string) =>
      moderatorFor(
        tenantId,
        sets.list().map(({ value }) => value),
      );
    const findings = createFindings(scope.services, scope.log);
    const texts = scope.metric.counter({
      name: 'moderation_texts_total',
      help: 'Texts of chats that were refused or redacted.',
      labels: ['action'],
    });
    scope.contribute(
      ChatGuardsPoint,
      moderationGuard(moderatorOf, (tenantId, action) => {
        texts.inc({ action });
        findings.note(tenantId, action);
      }),
    );
    scope.grpc(moderationMethods(moderatorOf));
    scope.every('report', scope.config.report_every, findings.report, { replicas: 'one' });
    scope.drain('findings', findings.settle);
  },
});
