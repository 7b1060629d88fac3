import { GRPC_CODES } from '../../foundation/base/grpc-status.ts';
import { type DescriptorIndex, indexDescriptors } from '../../foundation/protobuf/descriptor-index.ts';
import { access } from '../api/access.ts';
import { type GrpcCall, type GrpcMessage, type GrpcService, grpcMethod, grpcService } from '../api/grpc.ts';
import type { MethodTable } from './compiled-service.ts';

const VERSIONS = ['v1', 'v1alpha'] as const;

/** Milliseconds that a client may keep asking in one call. */
const MAX_DURATION = 300_000;

/**
 * `grpc.reflection.v1` and `v1alpha`: tells tools which services there are and what their messages look like. It
 * follows the live services, within a call, too. Callers that may read may ask: any credential with the scope `read`,
 * and without one callers on the loopback interface (decisions 0.2).
 */
export function reflectionServices(table: () => MethodTable): readonly GrpcService[] {
  let indexed: { readonly table: MethodTable; readonly index: DescriptorIndex } | undefined;
  // Made at the first request, which in production may never come.
  const index = () => {
    const live = table();
    if (indexed?.table !== live) indexed = { table: live, index: indexDescriptors(live.services) };
    return indexed.index;
  };
  return VERSIONS.map((version) =>
    grpcService({
      proto: new URL(`./proto/grpc/reflection/${version}/reflection.proto`, import.meta.url),
      service: `grpc.reflection.${version}.ServerReflection`,
      methods: {
        ServerReflectionInfo: grpcMethod({
          access: access.open(),
          effect: 'read',
          summary: 'What the live services look like',
          countsAsStream: true,
          timeout: MAX_DURATION,
          async *handle(call: GrpcCall) {
            for await (const request of call.requests) yield respond(request, index());
          },
        }),
      },
    }),
  );
}

function respond(request: GrpcMessage, index: DescriptorIndex): GrpcMessage {
  return { valid_host: request.host, original_request: request, ...answer(request, index) };
}

function answer(request: GrpcMessage, index: DescriptorIndex): GrpcMessage {
  if (request.list_services !== undefined) {
    return { list_services_response: { service: index.services.map((name) => ({ name })) } };
  }
  if (request.file_by_filename !== undefined) {
    return files(index.byFile(request.file_by_filename), `file ${request.file_by_filename}`);
  }
  if (request.file_containing_symbol !== undefined) {
    return files(index.bySymbol(request.file_containing_symbol), `symbol ${request.file_containing_symbol}`);
  }
  if (request.file_containing_extension !== undefined) {
    const { containing_type, extension_number } = request.file_containing_extension;
    return files(index.byExtension(containing_type, extension_number), `extension ${extension_number}`);
  }
  if (request.all_extension_numbers_of_type !== undefined) {
    const base_type_name = request.all_extension_numbers_of_type;
    const extension_number = index.extensionNumbers(base_type_name);
    if (extension_number === undefined) return failed(GRPC_CODES.NOT_FOUND, `no message ${base_type_name}`);
    return { all_extension_numbers_response: { base_type_name, extension_number } };
  }
  return failed(GRPC_CODES.INVALID_ARGUMENT, 'the request asks for nothing');
}

function files(found: readonly Buffer[] | undefined, what: string): GrpcMessage {
  if (found === undefined) return failed(GRPC_CODES.NOT_FOUND, `no ${what}`);
  return { file_descriptor_response: { file_descriptor_proto: found } };
}

function failed(error_code: number, error_message: string): GrpcMessage {
  return { error_response: { error_code, error_message: error_message.slice(0, 256) } };
}
