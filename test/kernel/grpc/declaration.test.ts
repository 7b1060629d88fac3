import test from 'ava';
import Type from 'typebox';
import { InFlight } from '../../../foundation/base/in-flight.ts';
import { access } from '../../../kernel/api/access.ts';
import { type GrpcMethod, type GrpcService, grpcMethod } from '../../../kernel/api/grpc.ts';
import { compileService, MethodTable } from '../../../kernel/grpc/compiled-service.ts';
import { requireDistinct } from '../../../kernel/grpc/distinct-services.ts';
import { notesService, OTHER_PROTO, pingService } from './kit.ts';

const compile = (service: GrpcService, owner = 'notes') => compileService(service, owner, new InFlight());

test('a method of the proto file that is not implemented is named', (t) => {
  const { Chat: _, ...methods } = notesService().methods;
  t.throws(() => compile({ ...notesService(), methods }), {
    name: 'GrpcDeclarationError',
    message: 'svc.notes.v1.NotesService: the method Chat of the proto file is not implemented',
  });
});

test('an implementation without a method in the proto file is named', (t) => {
  const service = notesService();
  const methods = { ...service.methods, getNote: service.methods.GetNote! };
  t.throws(() => compile({ ...service, methods }), { message: /the proto file has no method getNote/ });
});

test('a method without access rule, summary or handler does not mount', (t) => {
  const without = (part: keyof GrpcMethod) =>
    notesService({ GetNote: { [part]: undefined } as Partial<GrpcMethod> });
  t.throws(() => compile(without('access')), {
    message: /NotesService\/GetNote: "access" is undefined, and should be a rule/,
  });
  t.throws(() => compile(without('summary')), {
    message: /GetNote: "summary" is undefined, and should be a sentence/,
  });
  t.throws(() => compile(without('handle')), {
    message: /GetNote: "handle" is undefined, and should be a function/,
  });
});

test('a misspelled member of a method does not mount', (t) => {
  const members: Required<Record<keyof GrpcMethod, true>> = {
    access: true,
    summary: true,
    effect: true,
    request: true,
    rateLimit: true,
    countsAsStream: true,
    timeout: true,
    handle: true,
  };
  for (const member of Object.keys(members))
    t.throws(() => compile(notesService({ GetNote: { [`${member}s`]: 1 } as Partial<GrpcMethod> })), {
      message: `svc.notes.v1.NotesService/GetNote: there is no member "${member}s", did you mean "${member}"?`,
    });
});

test('a file that cannot be read and a service that it does not declare are named', (t) => {
  const proto = new URL('./protos/missing.proto', import.meta.url);
  t.throws(() => compile({ ...pingService('x'), proto }), {
    message: /^svc.notes.v1.PingService: .*missing.proto cannot be loaded: .*ENOENT/,
  });
  t.throws(() => compile({ ...pingService('x'), service: 'svc.notes.v1.Nothing' }), {
    message: /^svc.notes.v1.Nothing: .*other.proto declares no such service/,
  });
  t.throws(() => compile({ ...pingService('x'), service: 'svc.notes.v1.PingRequest' }), {
    message: /declares no such service/,
  });
});

test('a schema that is none is refused by the first request, not at the start', (t) => {
  const request = { type: 'nonsense' } as never;
  const { methods } = compile(notesService({ GetNote: { request } }));
  t.throws(() => methods[0]?.validate?.({}), { message: /type/ });
});

test('the request of a handler has the type of its schema', (t) => {
  const method = grpcMethod({
    access: access.public(),
    summary: 'typed',
    request: Type.Object({ id: Type.String(), count: Type.Integer() }),
    handle: ({ request }) => {
      const id: string = request.id;
      const count: number = request.count;
      return { id, count };
    },
  });
  t.truthy(method.request);
});

test('one service of two plugins is refused, and both are named', (t) => {
  const services = [compile(pingService('a'), 'alpha'), compile(pingService('b'), 'beta')];
  const error = t.throws(() => requireDistinct(services), { name: 'ServiceCollision' }) as Error & {
    owners: string[];
  };
  t.is(error.message, 'the gRPC service svc.notes.v1.PingService is served by both alpha and beta');
  t.deepEqual(error.owners, ['alpha', 'beta']);
});

test('methods are found by their whole path alone', (t) => {
  const table = new MethodTable([compile(pingService('a')), compile(notesService())]);
  t.is(table.find('/svc.notes.v1.PingService/Ping')?.name, 'svc.notes.v1.PingService/Ping');
  for (const path of [
    'svc.notes.v1.PingService/Ping',
    '/svc.notes.v1.PingService/ping',
    '/',
    '',
    '/__proto__/x',
  ]) {
    t.is(table.find(path), undefined, path);
  }
  t.true(table.has('svc.notes.v1.NotesService'));
  t.false(table.has(OTHER_PROTO.pathname));
});
