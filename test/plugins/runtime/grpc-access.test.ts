import { createRequire } from 'node:module';
import { ChannelCredentials, type Client, loadPackageDefinition, Metadata } from '@grpc/grpc-js';
import protoLoader from '@grpc/proto-loader';
import test from 'ava';
import { decodeFile } from '../../../foundation/protobuf/descriptors.ts';
import { plain, stream } from '../../support/fake-provider.ts';
import { SERVICES, startGrpcRuntime } from './grpc-kit.ts';

const ADMIN_KEY = 'an_admin_key_of_one_test_0123456789';
const REFLECTION = createRequire(import.meta.url).resolve(
  '@grpc/reflection/build/proto/grpc/reflection/v1/reflection.proto',
);
const HEALTH = new URL('../../../kernel/grpc/proto/grpc/health/v1/health.proto', import.meta.url);

/** Every method with a request that is good enough to be refused for no other reason. */
const METHODS = [
  ['agent', 'GetAgent', { id: 'payer' }, 'read'],
  ['agent', 'ListAgents', {}, 'read'],
  ['agent', 'CreateAgent', { name: 'a b' }, 'admin'],
  ['agent', 'UpdateAgent', { id: 'payer' }, 'admin'],
  ['agent', 'DeleteAgent', { id: 'payer' }, 'admin'],
  ['agent', 'LoadAgentFromYAML', { yaml: 'x' }, 'admin'],
  ['conversation', 'Chat', { message: 'hi' }, 'execute'],
  ['conversation', 'CreateConversation', { bot_id: 'payer' }, 'write'],
  ['conversation', 'ListConversations', {}, 'read'],
  ['model', 'ListModels', {}, 'read'],
  ['model', 'GetModel', { id: 'default' }, 'read'],
  ['model', 'CreateModel', { name: 'x', provider: 'none' }, 'admin'],
  ['model', 'TestModel', { model_id: 'default' }, 'execute'],
  ['tool', 'ListTools', {}, 'read'],
  ['tool', 'GetTool', { id: 'calculator' }, 'read'],
  ['tool', 'InvokeTool', { tool_id: 'calculator', parameters: { expression: '1' } }, 'execute'],
] as const;

/** Refused for who calls, not for what is asked. */
const isRefused = (code: string) => code === 'UNAUTHENTICATED' || code === 'PERMISSION_DENIED';

test('each method asks for its scope or the administrator; local callers need no credential for the rest', async (t) => {
  const { gateway, client } = await startGrpcRuntime(t, [stream(['Hi.']), plain('ok'), stream(['Hi.'])]);
  const tenant = await gateway.makeTenant();
  const { apiKeys } = gateway.gateway.services;
  const tokens = new Map<string, string>();
  for (const scope of ['read', 'write', 'execute']) {
    const wanted = { tenantId: tenant.id, name: scope, roles: [], scopes: [scope] };
    const { key } = await apiKeys.create({ ...wanted, expiresAt: null, createdBy: null });
    tokens.set(scope, key);
  }
  for (const [name, method, request, needs] of METHODS) {
    for (const [scope, token] of tokens) {
      const { code } = await client(name, { token }).call(method, request);
      t.is(isRefused(code), scope !== needs, `${method} with ${scope}: ${code}`);
    }
    const local = await client(name, { token: null }).call(method, request);
    t.is(isRefused(local.code), needs === 'admin', `${method} without a credential: ${local.code}`);
    const metadata = { 'x-forwarded-for': '203.0.113.9' };
    const remote = await client(name, { token: null }).call(method, request, { metadata });
    t.is(remote.code, 'UNAUTHENTICATED', method);
  }
});

test('ADMIN_API_KEY is an administrator of the default tenant, as bearer and as x-api-key', async (t) => {
  const { client, gateway } = await startGrpcRuntime(t, [], { ADMIN_API_KEY: ADMIN_KEY });
  const agents = client('agent', { token: ADMIN_KEY });
  const made = await agents.call('CreateAgent', { name: 'mine' });
  t.is(made.code, 'OK', made.details);
  t.truthy(made.message.agent.configuration);
  const metadata = { 'x-api-key': ADMIN_KEY };
  const removed = await client('agent', { token: null }).call('DeleteAgent', { id: 'mine' }, { metadata });
  t.is(removed.code, 'OK', removed.details);
  const wrong = await client('agent', { token: `${ADMIN_KEY}x` }).call('ListAgents');
  t.is(wrong.code, 'UNAUTHENTICATED');
  const asked = await gateway
    .grpc({ proto: REFLECTION, service: 'grpc.reflection.v1.ServerReflection', token: ADMIN_KEY })
    .call('ServerReflectionInfo', [{ list_services: '' }]);
  t.is(asked.code, 'OK');
});

test('a client made of what reflection says alone works, and health knows the services', async (t) => {
  const { gateway } = await startGrpcRuntime(t, [stream(['Hello.'])]);
  const reflection = gateway.grpc({ proto: REFLECTION, service: 'grpc.reflection.v1.ServerReflection' });
  const { message } = await reflection.call('ServerReflectionInfo', [{ list_services: '' }]);
  const names = message.list_services_response.service.map(({ name }: { name: string }) => name);
  t.deepEqual(names.filter((name: string) => name.startsWith('svc.')).sort(), Object.values(SERVICES).sort());
  const health = gateway.grpc({ proto: HEALTH, service: 'grpc.health.v1.Health', token: null });
  for (const service of Object.values(SERVICES))
    t.is((await health.call('Check', { service })).message.status, 'SERVING', service);

  const told = await reflection.call('ServerReflectionInfo', [
    { file_containing_symbol: SERVICES.conversation },
  ]);
  const files = told.message.file_descriptor_response.file_descriptor_proto.map(decodeFile);
  const set = protoLoader.loadSync('google/protobuf/descriptor.proto')['google.protobuf.FileDescriptorSet'];
  const bytes = (set as protoLoader.MessageTypeDefinition<object, object>).serialize({ file: files });
  // biome-ignore lint/suspicious/noExplicitAny: a client whose methods only reflection knows
  const loaded: any = loadPackageDefinition(
    protoLoader.loadFileDescriptorSetFromBuffer(bytes, { keepCase: true, defaults: true }),
  );
  const Service = loaded.svc.conversation.v1.ConversationService;
  const client = new Service(gateway.gateway.grpcAddress(), ChannelCredentials.createInsecure());
  t.teardown(() => (client as Client).close());
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${gateway.token}`);
  const fields = [{ key: 'agent_name', value: { string_value: 'payer' } }];
  const events: string[] = [];
  for await (const event of client.Chat({ message: 'hi', extra: { fields } }, metadata))
    events.push(`${event.event_type}:${event.delta}`);
  t.deepEqual(events, ['delta:Hello.', 'message:', 'done:']);
});
