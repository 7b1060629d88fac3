import { fileURLToPath } from 'node:url';
import protoLoader from '@grpc/proto-loader';
import { type FileDescriptor, fullName, readDescriptors } from './descriptors.ts';
import { linkDescriptors } from './link-descriptors.ts';
import { createMessageCodec, LOADER_OPTIONS, type MessageCodec } from './message-codec.ts';

/** Where a service is declared. */
export interface ProtoSource {
  readonly proto: URL | string;
  /** Folders in which imports are looked for, in addition to the file's own. */
  readonly includeDirs?: readonly (URL | string)[];
  /** Full name of the service. */
  readonly service: string;
}

/** A method as the proto file declares it. */
export interface ProtoMethod {
  /** `/svc.notes.v1.NotesService/GetNote` */
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  readonly requests: MessageCodec;
  readonly responses: MessageCodec;
}

/** A service as the proto file declares it. */
export interface ProtoService {
  /** By their names, in the file's order. */
  readonly methods: ReadonlyMap<string, ProtoMethod>;
  /** The file and all that it imports, linked. */
  readonly files: readonly FileDescriptor[];
}

/** Reads a service from its file. @throws Error that names the file and says what is wrong with it. */
export function loadProto({ proto, includeDirs = [], service }: ProtoSource): ProtoService {
  const path = pathOf(proto);
  const definition = load(path, includeDirs.map(pathOf));
  const declared = definition[service];
  if (declared === undefined || 'format' in declared) throw new Error(`${path} declares no such service`);
  const files = linkDescriptors(readDescriptors(definition));
  const methods = new Map<string, ProtoMethod>();
  for (const [name, method] of Object.entries(declared as protoLoader.ServiceDefinition)) {
    const [input, output] = messageNames(`${service}/${name}`, files);
    const { path: at, requestStream, responseStream } = method;
    methods.set(name, {
      path: at,
      requestStream,
      responseStream,
      requests: createMessageCodec(method.requestType, input, files),
      responses: createMessageCodec(method.responseType, output, files),
    });
  }
  return { methods, files };
}

function load(path: string, includeDirs: readonly string[]): protoLoader.PackageDefinition {
  try {
    return protoLoader.loadSync(path, {
      ...LOADER_OPTIONS,
      ...(includeDirs.length === 0 ? {} : { includeDirs: [...includeDirs] }),
    });
  } catch (cause) {
    throw new Error(`${path} cannot be loaded: ${(cause as Error).message}`, { cause });
  }
}

function pathOf(file: URL | string): string {
  return typeof file === 'string' ? file : fileURLToPath(file);
}

/** Full names of the request's and the response's message. */
function messageNames(label: string, files: readonly FileDescriptor[]): readonly [string, string] {
  for (const file of files) {
    for (const { name, method = [] } of file.service ?? []) {
      const found = method.find((one) => `${fullName(file.package, name)}/${one.name}` === label);
      if (found !== undefined) return [found.inputType.slice(1), found.outputType.slice(1)];
    }
  }
  throw new Error(`no file declares ${label}`);
}
