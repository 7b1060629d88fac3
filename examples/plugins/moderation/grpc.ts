import { access, type GrpcService, grpcMethod, grpcService } from 'agent-gateway';
import Type from 'typebox';
import type { Moderator } from './moderator.ts';

const READ = {
  access: access.role('user'),
  effect: 'read',
  request: Type.Object({ text: Type.String({ maxLength: 100_000 }) }),
} as const;

/** Checks texts by the rules of the caller's tenant. Nothing is counted. */
export function moderationMethods(moderatorOf: (tenantId: string) => Moderator | undefined): GrpcService {
  const check = (tenantId: string, text: string) => {
    const judgement = moderatorOf(tenantId)?.judge(text) ?? { action: undefined, text };
    return { action: judgement.action ?? 'passed', text: judgement.text ?? '' };
  };
  return grpcService({
    proto: new URL('./proto/moderation.proto', import.meta.url),
    service: 'example.moderation.v1.ModerationService',
    methods: {
      Check: grpcMethod({
        ...READ,
        summary: 'Check a text',
        handle: (call) => check(call.tenant.id, call.request.text),
      }),
      CheckStream: grpcMethod({
        ...READ,
        summary: 'Check texts as they come',
        countsAsStream: true,
        async *handle(call) {
          for await (const { text } of call.requests) yield check(call.tenant.id, text);
        },
      }),
    },
  });
}
