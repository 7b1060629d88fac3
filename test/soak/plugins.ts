import Type from 'typebox';
import { defineEvent } from '../../foundation/messages/events/events.ts';
import { defineHint } from '../../foundation/messages/hints/hints.ts';
import { defineKind } from '../../foundation/resources/kind.ts';
import { access } from '../../kernel/api/access.ts';
import { grpcMethod, grpcService } from '../../kernel/api/grpc.ts';
import { extensionPoint, serviceRef } from '../../kernel/api/refs.ts';
import { route } from '../../kernel/api/route.ts';
import { testPlugin } from '../support/plugins.ts';

const Point = extensionPoint<number>('soak.numbers');
const Service = serviceRef<{ readonly one: 1 }>('toggled.service');

const open = {
  method: 'GET',
  summary: 'soak',
  rateLimit: 'none',
  schema: { responses: { 200: Type.Any() } },
} as const;

/** Serves whatever comes and goes beside it. */
export const steady = testPlugin('steady', {
  points: [Point],
  setup(scope) {
    const numbers = scope.contributions(Point);
    scope.route(
      route({ ...open, path: '/steady', access: access.public(), handle: () => ({ numbers: numbers() }) }),
      route({
        ...open,
        path: '/steady/me',
        access: access.authenticated(),
        handle: ({ identity }) => identity.id,
      }),
    );
  },
});

const Event = defineEvent('toggled.event', Type.Object({}));
const Work = defineHint('toggled.work', Type.Object({}));

/** A YAML resource that is saved again and again. */
const Word = defineKind({
  kind: 'Word',
  summary: 'A word',
  spec: Type.Object({ word: Type.String() }),
  build: ({ spec }) => ({ word: spec.word }),
});

/** Shows the words of agents.d. */
export const words = testPlugin('words', {
  setup(scope) {
    const view = scope.kind(Word);
    scope.route(
      route({
        ...open,
        path: '/words/{name}',
        access: access.public(),
        schema: { params: Type.Object({ name: Type.String() }), responses: { 200: Type.Any() } },
        handle: ({ params }) => ({ word: view.get(params.name)?.word ?? null }),
      }),
    );
  },
});

/** Has one of everything that a plugin can register. */
export const toggled = testPlugin('toggled', {
  offers: [Service],
  setup(scope) {
    const calls = scope.metric.counter({ name: 'toggled_calls_total', help: 'Calls.' });
    scope.provide(Service, { one: 1 });
    scope.contribute(Point, 1);
    scope.route(
      route({
        ...open,
        path: '/toggled',
        access: access.public(),
        handle: () => {
          calls.inc();
          return { here: true };
        },
      }),
    );
    scope.every('tick', 10, async () => {});
    scope.probe('fine', async () => {});
    scope.authenticate({ name: 'toggled', authenticate: () => undefined });
    scope.on(Event, () => {});
    scope.onHint(Work, async () => {});
    scope.kind({ ...Word, kind: 'Toggled' });
    scope.grpc(
      grpcService({
        proto: new URL('./toggled.proto', import.meta.url),
        service: 'svc.toggled.v1.ToggledService',
        methods: {
          Get: grpcMethod({
            access: access.public(),
            summary: 'soak',
            rateLimit: 'none',
            handle: () => ({ here: true }),
          }),
        },
      }),
    );
    scope.defer(() => {});
  },
});
