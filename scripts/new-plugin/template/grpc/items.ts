import { access, type GrpcService, grpcMethod, grpcService } from 'agent-gateway';
import Type from 'typebox';
import type { PascalName } from '../contract.ts';

/** The items of the caller's tenant over gRPC. */
export function itemMethods(items: PascalName): GrpcService {
  return grpcService({
    proto: new URL('../proto/snake_name.proto', import.meta.url),
    service: 'svc.snake_name.v1.PascalNameService',
    methods: {
      GetItem: grpcMethod({
        access: access.role('user'),
        effect: 'read',
        summary: 'Read an item',
        request: Type.Object({ id: Type.String({ minLength: 1, maxLength: 36 }) }),
        handle: async (call) => {
          const { id, text, createdAt } = await items.get(call.entities(), call.request.id);
          return { item: { id, text, created_at: createdAt } };
        },
      }),
    },
  });
}
