import { access, type GrpcMessage, type GrpcService, grpcMethod, grpcService, Type } from 'agent-gateway';
import { chatCallOf, ToolErrors, type ToolInfo, type Tools } from '../../agent-engine/contract.ts';
import { readerOf } from '../../records/contract.ts';
import type { ToolCalls } from '../services/tool-calls.ts';
import { listRequest, message, Name, pageOfAll } from './common.ts';

const read = { access: access.open(['read']), effect: 'read' } as const;

/** `svc.tool.v1.ToolService`: the tools of the tenant (specification 3; decisions 3.4). */
export function toolService(tools: Pick<Tools, 'list'>, calls: ToolCalls): GrpcService {
  return grpcService({
    lazy: true,
    proto: new URL('../proto/svc/tool/v1/tool.proto', import.meta.url),
    service: 'svc.tool.v1.ToolService',
    methods: {
      ListTools: grpcMethod({
        ...read,
        summary: 'List the tools that the tenant may use now',
        request: Type.Object(listRequest),
        handle: async (call) => {
          const all = await tools.list(call.tenant.id, call.signal);
          const { shown, ...end } = pageOfAll(call.request, all, ({ name, description }) => [
            name,
            description,
          ]);
          return message({ tools: shown.map(onWire), ...end });
        },
      }),
      GetTool: grpcMethod({
        ...read,
        summary: 'Read a tool',
        request: Type.Object({ id: Name }),
        handle: async (call) => {
          const { id } = call.request;
          const all = await tools.list(call.tenant.id, call.signal);
          const found = all.find(({ ref }) => ref === id) ?? all.find(({ name }) => name === id);
          if (found === undefined) throw ToolErrors.notFound();
          return message({ tool: onWire(found) });
        },
      }),
      InvokeTool: grpcMethod({
        access: access.open(['execute']),
        effect: 'execute',
        summary: 'Run a tool',
        request: Type.Object({
          tool_id: Name,
          parameters: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
          context: Type.Optional(
            Type.Object({ session_id: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })) }),
          ),
        }),
        handle: async (call) => {
          const { tool_id: tool, parameters = {}, context } = call.request;
          return message(
            await calls.invoke({
              tool,
              parameters,
              context: chatCallOf(call, context?.session_id),
              reader: readerOf(call),
              entities: call.entities(),
            }),
          );
        },
      }),
    },
  });
}

function onWire({ ref, name, description, parameters }: ToolInfo): GrpcMessage {
  return { id: ref, name, description, parameters_schema: parameters, enabled: true };
}
