import test from 'ava';
import { Type } from '../../../foundation/base/type.ts';
import { type Claim, requireUndisputed } from '../../../foundation/messages/claims.ts';

const Run = Type.Object({ run_id: Type.String() });

const claimed = (kind: Claim['kind'], ...schemas: readonly Claim['schema'][]): readonly Claim[] =>
  schemas.map((schema, index) => ({ plugin: 'abc'[index]!, kind, id: 'x.y', schema }));

test('a queue is one plugin’s, whatever the others believe it to hold', (t) => {
  for (const kind of ['job', 'hint'] as const)
    t.throws(() => requireUndisputed(claimed(kind, Run, Run)), {
      message: `the ${kind} x.y is worked on by both a and b`,
    });
  const [one, other] = claimed('hint', Run, Run);
  t.notThrows(() => requireUndisputed([one!, { ...other!, plugin: 'a' }]), 'a plugin may have two consumers');
  t.notThrows(() => requireUndisputed([one!, { ...other!, id: 'x.z' }]));
  t.notThrows(() => requireUndisputed([one!, { ...other!, kind: 'job' }]));
});

test('versions and copies of one event agree', (t) => {
  const agreeing = [
    Type.Object({ run_id: Type.String() }),
    Type.Object({ run_id: Type.String(), tenant_id: Type.Optional(Type.String()) }),
    Type.Object({ run_id: Type.String({ maxLength: 64 }), state: Type.String() }),
    Type.Object({ run_id: Type.Union([Type.String(), Type.Null()]) }),
    Type.Object({}),
    Type.Object({ other: Type.Optional(Type.Number()) }),
  ];
  for (const kind of ['event', 'durable-event'] as const)
    for (const one of agreeing)
      for (const other of agreeing) t.notThrows(() => requireUndisputed(claimed(kind, one, other)));
});

test('two events of one name are refused, and both plugins named', (t) => {
  const meanings = [
    Run,
    Type.Object({ run_id: Type.Number() }),
    Type.Object({ order: Type.String() }),
    Type.String(),
  ];
  for (const one of meanings)
    for (const other of meanings) {
      if (one === other) continue;
      t.throws(() => requireUndisputed(claimed('event', one, other)), {
        message: 'the event x.y has two meanings, one in a and one in b',
      });
    }
});
