import { createRequire } from 'node:module';
import protoLoader from '@grpc/proto-loader';
import test from 'ava';
import { decodeFile, encodeFile, type FileDescriptor } from '../../../foundation/protobuf/descriptors.ts';
import type { GrpcClient } from '../../../testing/grpc-client.ts';
import { type GrpcTest, notesService, pingService, startGrpc } from './kit.ts';

const require = createRequire(import.meta.url);
// Not our own files: what other people's tools ask with.
const OFFICIAL = {
  v1: require.resolve('@grpc/reflection/build/proto/grpc/reflection/v1/reflection.proto'),
  v1alpha: require.resolve('@grpc/reflection/build/proto/grpc/reflection/v1alpha/reflection.proto'),
};
type Version = keyof typeof OFFICIAL;

const clientOf = (grpc: GrpcTest, version: Version = 'v1', token?: null): GrpcClient =>
  grpc.client({
    proto: OFFICIAL[version],
    service: `grpc.reflection.${version}.ServerReflection`,
    ...(token === null ? { token } : {}),
  });

const ask = async (client: GrpcClient, request: object) =>
  (await client.call('ServerReflectionInfo', [request])).message;

const filesOf = (answer: {
  file_descriptor_response: { file_descriptor_proto: Buffer[] };
}): FileDescriptor[] => answer.file_descriptor_response.file_descriptor_proto.map(decodeFile);

for (const version of Object.keys(OFFICIAL) as Version[]) {
  test(`${version} lists the live services, and follows them within one call`, async (t) => {
    await using grpc = await startGrpc();
    const call = clientOf(grpc, version).open('ServerReflectionInfo');
    const list = async () => {
      call.send({ host: 'h', list_services: '*' });
      // biome-ignore lint/suspicious/noExplicitAny: the proto file types it
      const { value } = (await call.messages.next()) as any;
      t.deepEqual([value.valid_host, value.original_request.list_services], ['h', '*']);
      return value.list_services_response.service.map(({ name }: { name: string }) => name);
    };
    const kernels = [
      'grpc.health.v1.Health',
      'grpc.reflection.v1.ServerReflection',
      'grpc.reflection.v1alpha.ServerReflection',
    ];
    t.deepEqual(await list(), [...kernels, 'svc.notes.v1.NotesService']);
    grpc.server.prepare([grpc.compile(pingService('a'))])();
    t.deepEqual(await list(), [...kernels, 'svc.notes.v1.PingService']);
    call.end();
    t.is((await call.answer).code, 'OK');
  });
}

test('a tool can build a client from what it is told alone', async (t) => {
  await using grpc = await startGrpc();
  const files = filesOf(await ask(clientOf(grpc), { file_containing_symbol: 'svc.notes.v1.NotesService' }));
  t.deepEqual(files.map(({ name }) => name).sort(), [
    'google/protobuf/struct.proto',
    'google/protobuf/timestamp.proto',
    'svc_common_v1.proto',
    'svc_notes_v1.proto',
  ]);
  const set = protoLoader.loadSync('google/protobuf/descriptor.proto')['google.protobuf.FileDescriptorSet'];
  const bytes = (set as protoLoader.MessageTypeDefinition<object, object>).serialize({ file: files });
  const definition = protoLoader.loadFileDescriptorSetFromBuffer(bytes, { keepCase: true });
  const type = definition['svc.notes.v1.Note'] as protoLoader.MessageTypeDefinition<object, object>;
  // The loader reads maps of descriptors as what they are on the wire: lists of entries.
  const fields = [{ key: 'a', value: { string_value: 'b' } }];
  const note = { id: '1', extra: { fields }, page: { page: 2 }, parent: { id: '2' } };
  t.like(type.deserialize(type.serialize(note)), note);
  t.truthy(definition['svc.notes.v1.NotesService']);
});

test('files say what linkers ask for: full names, imports, map entries, optional fields', async (t) => {
  await using grpc = await startGrpc();
  const files = filesOf(await ask(clientOf(grpc), { file_containing_symbol: 'svc.notes.v1.Note' }));
  const file = files[0]!;
  t.like(file, {
    name: 'svc_notes_v1.proto',
    package: 'svc.notes.v1',
    syntax: 'proto3',
    dependency: ['google/protobuf/struct.proto', 'google/protobuf/timestamp.proto', 'svc_common_v1.proto'],
  });
  const note = file.messageType!.find(({ name }) => name === 'Note')!;
  const field = (name: string) => note.field!.find((one) => one.name === name)!;
  t.is(field('extra').typeName, '.google.protobuf.Struct');
  t.is(field('page').typeName, '.svc.common.v1.Page');
  t.is(field('parent').typeName, '.svc.notes.v1.Note');
  t.is(field('author').typeName, '.svc.notes.v1.Note.Author');
  t.is(field('color').typeName, '.svc.notes.v1.Color');
  t.is(field('readers_by_name').typeName, '.svc.notes.v1.Note.ReadersByNameEntry');
  t.is(field('labels').typeName, '.svc.notes.v1.Note.LabelsEntry');
  t.deepEqual(note.nestedType!.map(({ name }) => name).sort(), [
    'Author',
    'LabelsEntry',
    'ReadersByNameEntry',
  ]);
  t.deepEqual(note.oneofDecl, [{ name: 'origin' }, { name: '_size' }, { name: '_subtitle' }]);
  t.like(field('size'), { proto3Optional: true, oneofIndex: 1 });
  t.like(field('subtitle'), { proto3Optional: true, oneofIndex: 2 });
  t.is(field('imported_from').oneofIndex, 0);
  t.is(field('imported_from').proto3Optional, undefined);
  t.is(field('id').oneofIndex, undefined);
  const struct = files.find(({ name }) => name === 'google/protobuf/struct.proto')!;
  const value = struct.messageType!.find(({ name }) => name === 'Value')!;
  t.true(value.field!.some(({ name }) => name === 'string_value'));
  t.deepEqual(decodeFile(encodeFile(file)), file);
});

test('every symbol is found in its file', async (t) => {
  await using grpc = await startGrpc();
  const client = clientOf(grpc);
  for (const symbol of [
    'svc.notes.v1.NotesService',
    'svc.notes.v1.NotesService.GetNote',
    'svc.notes.v1.Note',
    'svc.notes.v1.Note.Author',
    'svc.notes.v1.Note.id',
    'svc.notes.v1.Note.origin',
    'svc.notes.v1.Color',
    'svc.notes.v1.BLUE',
  ]) {
    const [file] = filesOf(await ask(client, { file_containing_symbol: symbol }));
    t.is(file?.name, 'svc_notes_v1.proto', symbol);
  }
  const byName = filesOf(await ask(client, { file_by_filename: 'svc_common_v1.proto' }));
  t.deepEqual(
    byName.map(({ name }) => name),
    ['svc_common_v1.proto'],
  );
});

test('what is not there is not found, and other questions have their answers', async (t) => {
  await using grpc = await startGrpc();
  const client = clientOf(grpc);
  const codeOf = async (request: object) => (await ask(client, request)).error_response?.error_code;
  t.is(await codeOf({ file_containing_symbol: 'svc.Nothing' }), 5);
  t.is(await codeOf({ file_containing_symbol: '__proto__' }), 5);
  t.is(await codeOf({ file_by_filename: 'nothing.proto' }), 5);
  t.is(
    await codeOf({
      file_containing_extension: { containing_type: 'svc.notes.v1.Note', extension_number: 1 },
    }),
    5,
  );
  t.is(await codeOf({ all_extension_numbers_of_type: 'svc.Nothing' }), 5);
  t.is(await codeOf({ host: 'h' }), 3);
  t.like(await ask(client, { all_extension_numbers_of_type: 'svc.notes.v1.Note' }), {
    all_extension_numbers_response: { base_type_name: 'svc.notes.v1.Note', extension_number: [] },
  });
});

test('services of one package, of several plugins, are in one file', async (t) => {
  await using grpc = await startGrpc({ services: [notesService(), pingService('a')] });
  const client = clientOf(grpc);
  for (const symbol of [
    'svc.notes.v1.PingService',
    'svc.notes.v1.NotesService',
    'svc.notes.v1.PingRequest',
  ]) {
    const [file] = filesOf(await ask(client, { file_containing_symbol: symbol }));
    t.deepEqual(file!.service!.map(({ name }) => name).sort(), ['NotesService', 'PingService']);
  }
});

test('who may read may ask, and without a credential callers on this machine', async (t) => {
  const codeOf = async (anonymousAllowed: boolean | undefined, metadata: Record<string, string> = {}) => {
    await using grpc = await startGrpc({ ...(anonymousAllowed === undefined ? {} : { anonymousAllowed }) });
    return (
      await clientOf(grpc, 'v1', null).call('ServerReflectionInfo', [{ list_services: '' }], { metadata })
    ).code;
  };
  t.is(await codeOf(undefined), 'OK');
  t.is(await codeOf(undefined, { 'x-forwarded-for': '203.0.113.1' }), 'UNAUTHENTICATED');
  t.is(await codeOf(false), 'UNAUTHENTICATED');
});
