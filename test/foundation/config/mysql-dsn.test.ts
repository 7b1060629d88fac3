import test from 'ava';
import fc from 'fast-check';
import { mysqlUrlOf } from '../../../foundation/config/mysql-dsn.ts';

const good: [string, string][] = [
  ['user:pass@tcp(db.example:3307)/app', 'mysql://user:pass@db.example:3307/app'],
  ['user:pass@tcp(db.example)/app', 'mysql://user:pass@db.example:3306/app'],
  ['user@tcp([::1]:3306)/app', 'mysql://user@[::1]:3306/app'],
  ['root@/test', 'mysql://root@127.0.0.1:3306/test'],
  ['u:p@tcp(h:1)/d?parseTime=true&charset=utf8mb4,utf8&loc=UTC', 'mysql://u:p@h:1/d?charset=utf8mb4'],
  ['u:p@tcp(h:1)/d?tls=true', 'mysql://u:p@h:1/d?ssl-mode=VERIFY_IDENTITY'],
  ['u:p@tcp(h:1)/d?tls=skip-verify', 'mysql://u:p@h:1/d?ssl-mode=REQUIRED'],
  ['u:p@tcp(h:1)/d?tls=false', 'mysql://u:p@h:1/d'],
];
for (const [dsn, url] of good) {
  test(`${dsn} is ${url}`, (t) => t.deepEqual(mysqlUrlOf(dsn), { url }));
}

for (const dsn of [
  '',
  'geheim',
  'u:geheim@tcp(h:1)',
  'u:geheim@tcp(h:1)/',
  'u:geheim@unix(/run/x.sock)/d',
  'u:geheim@tcp(:1)/d',
  'u:geheim@tcp(h:99999)/d',
  'u:geheim@tcp(h:1)/d?tls=geheim',
]) {
  test(`"${dsn}" is refused without being quoted`, (t) => {
    const result = mysqlUrlOf(dsn);
    t.true('problem' in result && !result.problem.includes('geheim'));
  });
}

test('a password with any characters arrives unchanged', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (password) => {
      const result = mysqlUrlOf(`user:${password}@tcp(db:3306)/app`);
      t.true('url' in result);
      const url = new URL('url' in result ? result.url : '');
      t.is(decodeURIComponent(url.password), password);
      t.is(url.hostname, 'db');
    }),
  );
});

test('no text makes it throw', (t) => {
  fc.assert(fc.property(fc.string(), (text) => void mysqlUrlOf(text)));
  fc.assert(fc.property(fc.string(), fc.string(), (a, b) => void mysqlUrlOf(`u:p@tcp(${a})/${b}`)));
  t.pass();
});
