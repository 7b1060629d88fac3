import {
  type EnumDescriptor,
  eachMessage,
  type FieldDescriptor,
  type FileDescriptor,
  fullName,
  type MessageDescriptor,
} from './descriptors.ts';

/**
 * Puts right what the loader leaves out or says in its own way, so that other languages' tools can link the files:
 * types by their full names, the imports of each file, the names of map entries and of the well-known files, and which
 * fields are `optional`. Files are the loader's: one for each package, whatever they were when they were written.
 */
export function linkDescriptors(loaded: readonly FileDescriptor[]): readonly FileDescriptor[] {
  const files = loaded.flatMap((file) =>
    file.package === 'google.protobuf' ? splitWellKnown(file) : [{ ...file, ...tidied(file) }],
  );
  const homes = homesOf(files);
  return files.map((file) => linkFile(file, homes));
}

/** Name of the file that declares each type, by its full name. */
function homesOf(files: readonly FileDescriptor[]): ReadonlyMap<string, string> {
  const homes = new Map<string, string>();
  for (const file of files) {
    for (const { name } of file.enumType ?? []) homes.set(fullName(file.package, name), file.name);
  }
  eachMessage(files, (name, message, file) => {
    homes.set(name, file.name);
    for (const nested of message.enumType ?? []) homes.set(fullName(name, nested.name), file.name);
  });
  return homes;
}

function linkFile(file: FileDescriptor, homes: ReadonlyMap<string, string>): FileDescriptor {
  const imports = new Set<string>();
  const link = (name: string, scope: string | undefined) => {
    const found = resolve(name, scope, homes);
    const home = homes.get(found);
    if (home === undefined) throw new Error(`${file.name} names the type ${name}, which no file declares`);
    if (home !== file.name) imports.add(home);
    return `.${found}`;
  };
  const linkField = (field: FieldDescriptor, scope: string | undefined): FieldDescriptor => ({
    ...field,
    ...(field.typeName === undefined ? {} : { typeName: link(field.typeName, scope) }),
    ...(field.extendee === undefined ? {} : { extendee: link(field.extendee, scope) }),
  });
  const linkMessage = (message: MessageDescriptor, scope: string | undefined): MessageDescriptor => {
    const own = fullName(scope, message.name);
    return {
      ...message,
      field: message.field?.map((field) => linkField(field, own)),
      nestedType: message.nestedType?.map((nested) => linkMessage(nested, own)),
      extension: message.extension?.map((field) => linkField(field, own)),
    };
  };
  const linked = {
    ...file,
    messageType: file.messageType?.map((message) => linkMessage(message, file.package)),
    extension: file.extension?.map((field) => linkField(field, file.package)),
    service: file.service?.map((service) => ({
      ...service,
      method: service.method?.map((method) => ({
        ...method,
        inputType: link(method.inputType, file.package),
        outputType: link(method.outputType, file.package),
      })),
    })),
  };
  return { ...linked, dependency: [...imports].sort() };
}

/** Protocol Buffers' rule: from the innermost scope outwards. */
function resolve(name: string, scope: string | undefined, homes: ReadonlyMap<string, string>): string {
  if (name.startsWith('.')) return name.slice(1);
  for (let at = scope ?? ''; at !== ''; at = at.includes('.') ? at.slice(0, at.lastIndexOf('.')) : '') {
    if (homes.has(`${at}.${name}`)) return `${at}.${name}`;
  }
  return name;
}

function tidied(file: FileDescriptor): Pick<FileDescriptor, 'messageType'> {
  return { messageType: file.messageType?.map((message) => tidyOptionals(renameMapEntries(message))) };
}

/** The loader calls the entry of `map<…> my_tags` `My_tags`; linkers insist on `MyTagsEntry`. */
function renameMapEntries(message: MessageDescriptor): MessageDescriptor {
  const entries = new Set((message.nestedType ?? []).filter(isMapEntry).map(({ name }) => name));
  const renamed = new Map<string, string>();
  for (const { name, label } of message.field ?? []) {
    const loaders = `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
    if (label === 'LABEL_REPEATED' && entries.has(loaders)) renamed.set(loaders, entryName(name));
  }
  return {
    ...message,
    field: message.field?.map((field) => {
      const isMap = `${field.name.charAt(0).toUpperCase()}${field.name.slice(1)}` === field.typeName;
      const name = isMap && field.label === 'LABEL_REPEATED' ? renamed.get(field.typeName!) : undefined;
      return name === undefined ? field : { ...field, typeName: name };
    }),
    nestedType: message.nestedType?.map((nested) =>
      isMapEntry(nested)
        ? { ...nested, name: renamed.get(nested.name) ?? nested.name }
        : tidyOptionals(renameMapEntries(nested)),
    ),
  };
}

function isMapEntry({ options }: MessageDescriptor): boolean {
  return options?.mapEntry === true;
}

function entryName(field: string): string {
  const words = field.split('_').map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
  return `${words.join('')}Entry`;
}

/** An `optional` field is the only member of a `oneof` that is named after it; such come last, and are marked. */
function tidyOptionals(message: MessageDescriptor): MessageDescriptor {
  const groups = message.oneofDecl ?? [];
  if (groups.length === 0) return message;
  const fields = message.field ?? [];
  const members = groups.map((_, index) => fields.filter((field) => field.oneofIndex === index));
  const isSynthetic = groups.map(
    ({ name }, index) => members[index]!.length === 1 && name === `_${members[index]![0]!.name}`,
  );
  const order = [...groups.keys()].sort((a, b) => Number(isSynthetic[a]) - Number(isSynthetic[b]));
  return {
    ...message,
    oneofDecl: order.map((index) => groups[index]!),
    field: fields.map((field) => {
      if (field.oneofIndex === undefined) return field;
      const optional = isSynthetic[field.oneofIndex] ? { proto3Optional: true } : {};
      return { ...field, ...optional, oneofIndex: order.indexOf(field.oneofIndex) };
    }),
  };
}

/** Where the types of the package `google.protobuf` are declared, in every implementation. */
const WELL_KNOWN_FILES: Readonly<Record<string, readonly string[]>> = {
  'google/protobuf/any.proto': ['Any'],
  'google/protobuf/duration.proto': ['Duration'],
  'google/protobuf/empty.proto': ['Empty'],
  'google/protobuf/field_mask.proto': ['FieldMask'],
  'google/protobuf/struct.proto': ['Struct', 'Value', 'NullValue', 'ListValue'],
  'google/protobuf/timestamp.proto': ['Timestamp'],
  'google/protobuf/wrappers.proto': [
    'DoubleValue',
    'FloatValue',
    'Int64Value',
    'UInt64Value',
    'Int32Value',
    'UInt32Value',
    'BoolValue',
    'StringValue',
    'BytesValue',
  ],
};

/** The loader has all of `google.protobuf` in one file, and its names in camel case. */
function splitWellKnown(file: FileDescriptor): readonly FileDescriptor[] {
  const { messageType = [], enumType = [] } = file;
  const placed = new Set(Object.values(WELL_KNOWN_FILES).flat());
  const parts = Object.entries(WELL_KNOWN_FILES).map(([name, types]) => ({ name, has: types }));
  const rest = [...messageType, ...enumType].map(({ name }) => name).filter((name) => !placed.has(name));
  return [...parts, { name: file.name, has: rest }]
    .map(({ name, has }) => ({
      ...file,
      name,
      messageType: messageType.filter((message) => has.includes(message.name)).map(snakeCased),
      enumType: enumType.filter((one: EnumDescriptor) => has.includes(one.name)),
    }))
    .map((part) => ({ ...part, ...tidied(part) }))
    .filter((part) => part.messageType!.length + part.enumType.length > 0);
}

function snakeCased(message: MessageDescriptor): MessageDescriptor {
  const snake = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return { ...message, field: message.field?.map((field) => ({ ...field, name: snake(field.name) })) };
}
