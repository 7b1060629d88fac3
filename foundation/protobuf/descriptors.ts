import protoLoader from '@grpc/proto-loader';

/** A field of a message (`google.protobuf.FieldDescriptorProto`). */
export interface FieldDescriptor {
  readonly name: string;
  readonly number: number;
  readonly label: 'LABEL_OPTIONAL' | 'LABEL_REQUIRED' | 'LABEL_REPEATED';
  /** `TYPE_STRING`, `TYPE_MESSAGE` … */
  readonly type: string;
  /** Full name with a leading dot, of a message or enum. */
  readonly typeName?: string;
  /** Of an extension: the message that it extends, in the same form. */
  readonly extendee?: string;
  readonly oneofIndex?: number;
  readonly proto3Optional?: boolean;
}

/** A message (`google.protobuf.DescriptorProto`). */
export interface MessageDescriptor {
  readonly name: string;
  readonly field?: readonly FieldDescriptor[];
  readonly nestedType?: readonly MessageDescriptor[];
  readonly enumType?: readonly EnumDescriptor[];
  readonly oneofDecl?: readonly { readonly name: string }[];
  readonly extension?: readonly FieldDescriptor[];
  readonly options?: { readonly mapEntry?: boolean };
}

/** An enum (`google.protobuf.EnumDescriptorProto`). */
export interface EnumDescriptor {
  readonly name: string;
  readonly value?: readonly { readonly name: string; readonly number: number }[];
}

/** A service (`google.protobuf.ServiceDescriptorProto`). */
export interface ServiceDescriptor {
  readonly name: string;
  readonly method?: readonly {
    readonly name: string;
    readonly inputType: string;
    readonly outputType: string;
  }[];
}

/** A file (`google.protobuf.FileDescriptorProto`). */
export interface FileDescriptor {
  readonly name: string;
  readonly package?: string;
  /** Names of the files that it imports. */
  readonly dependency?: readonly string[];
  readonly messageType?: readonly MessageDescriptor[];
  readonly enumType?: readonly EnumDescriptor[];
  readonly service?: readonly ServiceDescriptor[];
  readonly extension?: readonly FieldDescriptor[];
  readonly syntax?: string;
}

const FILE_TYPE = protoLoader.loadSync('google/protobuf/descriptor.proto', { enums: String })[
  'google.protobuf.FileDescriptorProto'
] as protoLoader.MessageTypeDefinition<object, object>;

/** The files of a loaded definition as the loader describes them: one for each package, see `linkDescriptors`. */
export function readDescriptors(definition: protoLoader.PackageDefinition): readonly FileDescriptor[] {
  const files = new Map<string, FileDescriptor>();
  for (const { fileDescriptorProtos } of Object.values(definition) as protoLoader.MessageTypeDefinition<
    object,
    object
  >[]) {
    for (const bytes of fileDescriptorProtos ?? []) {
      const file = FILE_TYPE.deserialize(bytes) as FileDescriptor;
      if (!files.has(file.name)) files.set(file.name, file);
    }
    // Every entry of a definition carries the same files, but services carry none.
    if (files.size > 0) break;
  }
  return [...files.values()];
}

/** A file as reflection sends it. */
export function encodeFile(file: FileDescriptor): Buffer {
  return FILE_TYPE.serialize(file);
}

/** Reads what `encodeFile` wrote. */
export function decodeFile(bytes: Buffer): FileDescriptor {
  return FILE_TYPE.deserialize(bytes) as FileDescriptor;
}

/** `svc.notes.v1` and `Note` → `svc.notes.v1.Note`; without a package the name alone. */
export function fullName(scope: string | undefined, name: string): string {
  return scope === undefined || scope === '' ? name : `${scope}.${name}`;
}

/** Calls back for every message of the files, nested ones too, with its full name. */
export function eachMessage(
  files: readonly FileDescriptor[],
  visit: (name: string, message: MessageDescriptor, file: FileDescriptor) => void,
): void {
  const walk = (scope: string | undefined, message: MessageDescriptor, file: FileDescriptor) => {
    const name = fullName(scope, message.name);
    visit(name, message, file);
    for (const nested of message.nestedType ?? []) walk(name, nested, file);
  };
  for (const file of files) for (const message of file.messageType ?? []) walk(file.package, message, file);
}
