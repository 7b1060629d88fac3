import test from 'ava';
import Type from 'typebox';
import { describeConfig } from '../../../foundation/config/describe-config.ts';
import { field } from '../../../foundation/config/field.ts';
import { readConfig } from '../../../foundation/config/read-config.ts';
import { configHash, redactConfig } from '../../../foundation/config/redact-config.ts';

const about = { description: 'For the test' };
const Config = Type.Object({
  wait: field.duration({ ...about, env: 'T_WAIT', default: '90s' }),
  room: field.size({ ...about, default: '64KiB' }),
  listen: field.address({ ...about, default: '[::1]:80' }),
  names: field.list({ ...about, default: [] }),
  mode: field.choice(['a', 'b'], about),
  link: field.url(about),
  auth: Type.Object({ token: field.string({ ...about, secret: true, unset: 'nobody gets in' }) }),
});
const read = (file: unknown = {}) => readConfig(Config, { env: {}, file });

test('a report shows what one would write into the file, and secrets as ***', (t) => {
  const value = read({ link: 'https://me:geheim@x.example/', auth: { token: 'geheim' } });
  t.deepEqual(redactConfig(Config, value), {
    wait: '1m30s',
    room: '64KiB',
    listen: '[::1]:80',
    names: [],
    link: 'https://***@x.example/',
    auth: { token: '***' },
  });
});

test('what a report shows is read back as the same configuration', (t) => {
  const value = read({ wait: '1500ms', mode: 'b' });
  t.deepEqual(read(redactConfig(Config, value)), value);
});

test('the hash is the same for equal configurations and another for every change, secrets included', (t) => {
  const hash = (file?: unknown) => configHash(Config, read(file));
  t.regex(hash(), /^[0-9a-f]{12}$/);
  t.is(hash({ wait: '2m', room: '1KiB' }), hash({ room: 1024, wait: 120 }));
  const different = [
    {},
    { wait: '2m' },
    { mode: 'a' },
    { auth: { token: 'one' } },
    { auth: { token: 'two' } },
    { link: 'https://me:one@x.example/' },
    { link: 'https://me:two@x.example/' },
  ];
  t.is(new Set(different.map(hash)).size, different.length);
});

test('the description lists every setting with its default, nested ones with their path', (t) => {
  const rows = describeConfig(Config);
  t.deepEqual(
    rows.map(({ key, kind, default: text, hasDefault, secret }) => [key, kind, text, hasDefault, secret]),
    [
      ['wait', 'duration', '90s', true, false],
      ['room', 'size', '64KiB', true, false],
      ['listen', 'address', '[::1]:80', true, false],
      ['names', 'list', 'none', false, false],
      ['mode', 'a | b', 'none', false, false],
      ['link', 'url', 'none', false, false],
      ['auth.token', 'string', 'nobody gets in', false, true],
    ],
  );
  t.is(rows[0]?.env, 'T_WAIT');
});
