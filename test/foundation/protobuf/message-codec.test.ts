import test from 'ava';
import fc from 'fast-check';
import { loadProto } from '../../../foundation/protobuf/load-proto.ts';
import { ConversionError } from '../../../foundation/protobuf/well-known.ts';
import { NOTES, NOTES_PROTO } from '../../kernel/grpc/kit.ts';

const { methods } = loadProto({
  proto: NOTES_PROTO,
  includeDirs: [new URL('../../kernel/grpc/protos/', import.meta.url)],
  service: NOTES,
});
/** Notes in both directions. */
const { requests: notes } = methods.get('Chat')!;
const { responses: found } = methods.get('GetNote')!;
const round = (note: object) => notes.decode(notes.encode(note)).message;

const DEFAULTS = {
  id: '',
  text: '',
  values: [],
  labels: {},
  revision: '0',
  color: 'RED',
  raw: Buffer.alloc(0),
  readers_by_name: {},
  times: [],
};

test('absent fields have their defaults; messages, optional fields and members of a oneof stay absent', (t) => {
  t.deepEqual(round({}), DEFAULTS);
  t.deepEqual(notes.decode(Buffer.alloc(0)).present, []);
});

test('what was set is told by name, also where it equals the default', (t) => {
  const { message, present } = notes.decode(
    notes.encode({ id: '', size: 0, subtitle: '', imported_from: '' }),
  );
  t.like(message, { size: '0', subtitle: '', imported_from: '' });
  t.deepEqual([...present].sort(), ['id', 'imported_from', 'size', 'subtitle']);
});

test('JSON, times, big numbers, enums and bytes are plain values everywhere in a message', (t) => {
  const author = { name: 'ada', born: '1815-12-10T00:00:00.000Z' };
  const note = {
    extra: { a: [1, null, { b: true }] },
    created_at: '2024-01-02T03:04:05.678Z',
    values: [1, 'two', null, { three: 3 }, [4]],
    labels: { x: { y: 1 }, z: null },
    author,
    size: '9007199254740993',
    revision: '-5',
    color: 'BLUE',
    page: { page: 1, page_size: 2 },
    raw: Buffer.from([0, 255]),
    parent: { ...DEFAULTS, extra: { deep: {} }, created_at: '2024-01-02T03:04:05.678Z' },
    readers_by_name: { ada: author },
    list: [1, 'x'],
    value: { any: 'thing' },
    times: ['2024-01-02T03:04:05.678Z'],
  };
  t.deepEqual(round(note), { ...DEFAULTS, ...note });
});

test('handlers may give dates, numbers and big integers, and leave members out', (t) => {
  const at = new Date('2024-01-02T03:04:05.678Z');
  const note = round({
    created_at: at,
    revision: 7,
    size: 9007199254740993n,
    extra: undefined,
    parent: null,
    unknown: 1,
  });
  t.like(note, { created_at: at.toISOString(), revision: '7', size: '9007199254740993' });
  t.false('extra' in note || 'parent' in note || 'unknown' in note);
});

test('a null value is a value, an absent one is absent', (t) => {
  t.is(round({ value: null }).value, null);
  t.false('value' in round({ value: undefined }));
});

test('nothing is changed in what a handler returned', (t) => {
  const note = Object.freeze({
    extra: Object.freeze({ a: 1 }),
    parent: Object.freeze({ created_at: new Date(0) }),
  });
  t.notThrows(() => notes.encode(note));
  t.deepEqual(note.extra, { a: 1 });
  t.true(note.parent.created_at instanceof Date);
});

test('what cannot be converted is named with its path', (t) => {
  const complaint = (encode: () => unknown) => t.throws(encode, { instanceOf: ConversionError })!.message;
  t.is(
    complaint(() => notes.encode({ extra: [] })),
    'extra must be an object',
  );
  t.is(
    complaint(() => notes.encode({ parent: { parent: { created_at: 'x' } } })),
    'parent.parent.created_at must be a Date or an RFC 3339 time',
  );
  t.is(
    complaint(() => notes.encode({ values: 7 })),
    'values must be a list',
  );
  t.is(
    complaint(() => notes.encode({ labels: 'x' })),
    'labels must be an object',
  );
  t.is(
    complaint(() => notes.encode({ parent: 7 })),
    'parent must be an object',
  );
  t.is(
    complaint(() => notes.encode('text')),
    'must be an object',
  );
  t.is(
    complaint(() => found.encode({ note: { times: ['never'] } })),
    'note.times must be a Date or an RFC 3339 time',
  );
});

test('a response that is not there is an empty message', (t) => {
  t.is(found.encode(undefined).length, 0);
  t.is(found.encode(null).length, 0);
});

test('any JSON in any place survives', (t) => {
  const json = fc.jsonValue({ maxDepth: 5 });
  const object = fc.dictionary(fc.string(), json);
  const note = fc.record({
    extra: object,
    values: fc.array(json),
    labels: object,
    value: json,
    list: fc.array(json),
  });
  fc.assert(
    fc.property(note, (given) => {
      const back = round({ ...given, parent: given });
      t.deepEqual({ ...back, parent: undefined }, { ...DEFAULTS, ...given, parent: undefined });
      t.deepEqual(back.parent, { ...DEFAULTS, ...given });
    }),
    { numRuns: 200 },
  );
});

test('any bytes are a message or an error, in little time', (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      try {
        notes.decode(Buffer.from(bytes));
      } catch (error) {
        t.true(error instanceof Error);
      }
    }),
    { numRuns: 2000 },
  );
  t.pass();
});

test('messages that are nested without end are refused', (t) => {
  // Field 14 (parent) of itself, ten thousand times.
  let bytes = Buffer.alloc(0);
  for (let level = 0; level < 10_000; level += 1) {
    const length: number[] = [];
    for (let rest = bytes.length; ; rest >>>= 7) {
      length.push(rest > 127 ? (rest & 127) | 128 : rest);
      if (rest <= 127) break;
    }
    bytes = Buffer.concat([Buffer.from([0x72, ...length]), bytes]);
  }
  t.throws(() => notes.decode(bytes), { message: /depth/ });
});

test('keys of maps are text, also those of 64 bits and those that are true or false', (t) => {
  const { methods } = loadProto({
    proto: new URL('keys.proto', import.meta.url),
    service: 'svc.keys.v1.KeysService',
  });
  const { requests: keys } = methods.get('Echo')!;
  const none = {
    int64s: {},
    uint64s: {},
    sint64s: {},
    fixed64s: {},
    sfixed64s: {},
    bools: {},
    int32s: {},
    strings: {},
  };
  const signed = { '0': 'zero', '-1': 'a', '9223372036854775807': 'b', '-9223372036854775808': 'c' };
  const unsigned = { '0': 'zero', '1': 'a', '18446744073709551615': 'b' };
  const message = {
    int64s: signed,
    uint64s: { '12345678': '-5', '18446744073709551615': '6' },
    sint64s: { '-1': { deep: [1] }, '5': {} },
    fixed64s: unsigned,
    sfixed64s: signed,
    bools: { true: 'yes', false: 'no' },
    int32s: { '-1': 'a', '7': 'b' },
    strings: { '12345678': 'digits', false: 'a word' },
  };
  t.deepEqual(keys.decode(keys.encode(message)).message, message);
  // As any other library writes {-1: "x"}, {false: "n"}, and a key that is left out, since it is 0.
  const minusOne = Buffer.from('0a0e08ffffffffffffffffff01120178', 'hex');
  t.deepEqual(keys.decode(minusOne).message, { ...none, int64s: { '-1': 'x' } });
  t.deepEqual(keys.decode(Buffer.from('0a03120178', 'hex')).message, { ...none, int64s: { '0': 'x' } });
  t.is(keys.encode({ bools: { false: 'n' } }).toString('hex'), '3205080012016e');
});
