import {
  eachMessage,
  encodeFile,
  type FieldDescriptor,
  type FileDescriptor,
  fullName,
  type MessageDescriptor,
} from './descriptors.ts';

/** What reflection asks about the files of the live services. */
export type DescriptorIndex = ReturnType<typeof indexDescriptors>;

/**
 * Indexes linked files. Services of several plugins may share a package, and so a file: its types are joined by their
 * names, of which the first counts.
 */
export function indexDescriptors(
  services: readonly { readonly name: string; readonly files: readonly FileDescriptor[] }[],
) {
  const files = mergeFiles(services.flatMap((service) => service.files));
  const symbols = symbolsOf([...files.values()]);
  const extensions = extensionsOf([...files.values()]);
  const encoded = new Map<string, Buffer>();

  function encodedFile(name: string): Buffer {
    let bytes = encoded.get(name);
    if (bytes === undefined) {
      bytes = encodeFile(files.get(name)!);
      encoded.set(name, bytes);
    }
    return bytes;
  }

  function withImports(name: string | undefined): readonly Buffer[] | undefined {
    if (name === undefined || !files.has(name)) return undefined;
    const found = new Set([name]);
    // A set that grows while it is walked through: imports of imports are among it.
    for (const each of found) for (const other of files.get(each)!.dependency ?? []) found.add(other);
    return [...found].map(encodedFile);
  }

  return {
    /** Full names of the services that are served. */
    services: services.map(({ name }) => name).sort(),
    /** The encoded file that declares a symbol (message, field, enum, service, method …), and all that it imports. */
    bySymbol: (name: string) => withImports(symbols.get(name)),
    byFile: withImports,
    /** The file that declares extension `number` of a message. */
    byExtension: (message: string, number: number) => withImports(extensions.get(message)?.get(number)),
    /** Numbers of a message's extensions; `undefined` for what is no message. */
    extensionNumbers: (message: string) =>
      symbols.has(message) ? [...(extensions.get(message)?.keys() ?? [])] : undefined,
  };
}

function mergeFiles(all: readonly FileDescriptor[]): ReadonlyMap<string, FileDescriptor> {
  const files = new Map<string, FileDescriptor>();
  for (const file of all) {
    const known = files.get(file.name);
    files.set(file.name, known === undefined ? file : merge(known, file));
  }
  return files;
}

function merge(one: FileDescriptor, other: FileDescriptor): FileDescriptor {
  return {
    ...one,
    dependency: [...new Set([...(one.dependency ?? []), ...(other.dependency ?? [])])].sort(),
    messageType: union(one.messageType, other.messageType),
    enumType: union(one.enumType, other.enumType),
    service: union(one.service, other.service),
    extension: union(one.extension, other.extension),
  };
}

function union<T extends { readonly name: string }>(one: readonly T[] = [], other: readonly T[] = []): T[] {
  const names = new Set(one.map(({ name }) => name));
  return [...one, ...other.filter(({ name }) => !names.has(name))];
}

function symbolsOf(files: readonly FileDescriptor[]): ReadonlyMap<string, string> {
  const symbols = new Map<string, string>();
  const note = (file: FileDescriptor, scope: string | undefined, named: readonly { name: string }[] = []) => {
    for (const { name } of named) symbols.set(fullName(scope, name), file.name);
  };
  for (const file of files) {
    note(file, file.package, file.enumType);
    note(file, file.package, file.extension);
    note(file, file.package, file.service);
    for (const one of file.enumType ?? []) note(file, file.package, one.value);
    for (const service of file.service ?? [])
      note(file, fullName(file.package, service.name), service.method);
  }
  eachMessage(files, (name, message: MessageDescriptor, file) => {
    symbols.set(name, file.name);
    for (const named of [message.field, message.oneofDecl, message.enumType, message.extension]) {
      note(file, name, named);
    }
    for (const one of message.enumType ?? []) note(file, name, one.value);
  });
  return symbols;
}

/** File of each extension, by the extended message and the number. */
function extensionsOf(files: readonly FileDescriptor[]): ReadonlyMap<string, ReadonlyMap<number, string>> {
  const extensions = new Map<string, Map<number, string>>();
  const note = (file: FileDescriptor, fields: readonly FieldDescriptor[] = []) => {
    for (const { extendee, number } of fields) {
      const message = extendee?.slice(1) ?? '';
      const numbers = extensions.get(message) ?? new Map<number, string>();
      extensions.set(message, numbers.set(number, file.name));
    }
  };
  for (const file of files) note(file, file.extension);
  eachMessage(files, (_name, message, file) => note(file, message.extension));
  return extensions;
}
