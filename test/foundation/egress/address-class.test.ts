import test from 'ava';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { classifyAddress, parseAddress } from '../../../foundation/egress/address-class.ts';
import { createAddressPolicy } from '../../../foundation/egress/allow-private.ts';
import { parseTarget } from '../../../foundation/egress/target.ts';

const classOf = (text: string) => {
  const address = parseAddress(text);
  return address === undefined ? 'no address' : (classifyAddress(address) ?? 'public');
};

const CASES: readonly (readonly [string, string])[] = [
  ['0.0.0.0', 'unspecified'],
  ['0.255.255.255', 'unspecified'],
  ['1.0.0.0', 'public'],
  ['9.255.255.255', 'public'],
  ['10.0.0.0', 'private'],
  ['10.255.255.255', 'private'],
  ['11.0.0.0', 'public'],
  ['100.63.255.255', 'public'],
  ['100.64.0.0', 'carrier-nat'],
  ['100.100.100.200', 'metadata'],
  ['100.127.255.255', 'carrier-nat'],
  ['100.128.0.0', 'public'],
  ['126.255.255.255', 'public'],
  ['127.0.0.0', 'loopback'],
  ['127.0.0.1', 'loopback'],
  ['127.255.255.255', 'loopback'],
  ['128.0.0.0', 'public'],
  ['168.63.129.16', 'metadata'],
  ['168.63.129.17', 'public'],
  ['169.253.255.255', 'public'],
  ['169.254.0.0', 'link-local'],
  ['169.254.169.254', 'metadata'],
  ['169.254.170.2', 'metadata'],
  ['169.254.255.255', 'link-local'],
  ['169.255.0.0', 'public'],
  ['172.15.255.255', 'public'],
  ['172.16.0.0', 'private'],
  ['172.31.255.255', 'private'],
  ['172.32.0.0', 'public'],
  ['192.0.0.0', 'reserved'],
  ['192.0.0.192', 'metadata'],
  ['192.0.1.0', 'public'],
  ['192.0.2.255', 'documentation'],
  ['192.88.99.1', 'tunnel'],
  ['192.167.255.255', 'public'],
  ['192.168.0.0', 'private'],
  ['192.168.255.255', 'private'],
  ['192.169.0.0', 'public'],
  ['198.17.255.255', 'public'],
  ['198.18.0.0', 'benchmark'],
  ['198.19.255.255', 'benchmark'],
  ['198.20.0.0', 'public'],
  ['198.51.100.7', 'documentation'],
  ['203.0.113.7', 'documentation'],
  ['223.255.255.255', 'public'],
  ['224.0.0.0', 'multicast'],
  ['239.255.255.255', 'multicast'],
  ['240.0.0.0', 'reserved'],
  ['255.255.255.254', 'reserved'],
  ['255.255.255.255', 'broadcast'],
  ['::', 'unspecified'],
  ['::1', 'loopback'],
  ['::2', 'reserved'],
  ['::127.0.0.1', 'reserved'],
  ['::ffff:127.0.0.1', 'loopback'],
  ['::ffff:7f00:1', 'loopback'],
  ['::ffff:8.8.8.8', 'public'],
  ['::ffff:0:127.0.0.1', 'reserved'],
  ['64:ff9b::10.0.0.1', 'private'],
  ['64:ff9b::a9fe:a9fe', 'metadata'],
  ['64:ff9b::8.8.8.8', 'public'],
  ['64:ff9b:1::8.8.8.8', 'private'],
  ['100::1', 'reserved'],
  ['2000::1', 'public'],
  ['2001::1', 'tunnel'],
  ['2001:0:4136:e378:8000:63bf:3fff:fdd2', 'tunnel'],
  ['2001:2::1', 'benchmark'],
  ['2001:10::1', 'reserved'],
  ['2001:20::1', 'reserved'],
  ['2001:1ff:ffff::1', 'reserved'],
  ['2001:200::1', 'public'],
  ['2001:db8::1', 'documentation'],
  ['2001:4860:4860::8888', 'public'],
  ['2002:7f00:1::', 'tunnel'],
  ['2002:808:808::1', 'tunnel'],
  ['2003::1', 'public'],
  ['3fff:fff::1', 'documentation'],
  ['3fff:1000::1', 'public'],
  ['4000::1', 'reserved'],
  ['5f00::1', 'reserved'],
  ['fc00::1', 'private'],
  ['fd00:ec2::254', 'metadata'],
  ['fd20:ce::254', 'metadata'],
  ['fdff::1', 'private'],
  ['fe80::1', 'link-local'],
  ['fe80::1%eth0', 'link-local'],
  ['febf::1', 'link-local'],
  ['fec0::1', 'private'],
  ['ff02::1', 'multicast'],
  ['ffff::1', 'multicast'],
  ['localhost', 'no address'],
  ['', 'no address'],
  ['127.1', 'no address'],
];

test('every special network has its class, at both of its ends and beside them', (t) => {
  for (const [address, kind] of CASES) t.is(classOf(address), kind, address);
});

const REFUSED = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];

/** An address of a refused IPv4 network, as its four bytes. */
const refusedBytes = fc.constantFrom(...REFUSED).chain((network) => {
  const [base, bits] = ipaddr.IPv4.parseCIDR(network);
  const start = base.toByteArray().reduce((sum, byte) => sum * 256 + byte, 0);
  return fc.integer({ min: start, max: start + 2 ** (32 - bits) - 1 });
});

const byte = (value: number, index: number) => Math.floor(value / 256 ** (3 - index)) % 256;
const bytesOf = (value: number) => [0, 1, 2, 3].map((index) => byte(value, index));
const hex = (value: number) => `${(value >>> 16).toString(16)}:${(value % 65_536).toString(16)}`;
const inverse = (value: number) => 2 ** 32 - 1 - value;
const wide = (text: string) => text.replace(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit)));

/** The ways in which one IPv4 address can be written as the host of a URL. */
const SPELLINGS: Readonly<Record<string, (value: number) => string>> = {
  dotted: (value) => bytesOf(value).join('.'),
  'trailing dot': (value) => `${bytesOf(value).join('.')}.`,
  decimal: (value) => String(value),
  hexadecimal: (value) => `0x${value.toString(16)}`,
  octal: (value) => `0${value.toString(8)}`,
  'octal parts': (value) =>
    bytesOf(value)
      .map((part) => `0${part.toString(8)}`)
      .join('.'),
  'hexadecimal parts': (value) =>
    bytesOf(value)
      .map((part) => `0X${part.toString(16)}`)
      .join('.'),
  'two parts': (value) => `${byte(value, 0)}.${value % 2 ** 24}`,
  'three parts': (value) => `${byte(value, 0)}.${byte(value, 1)}.${value % 65_536}`,
  'full-width digits': (value) => wide(bytesOf(value).join('.')),
  'percent-encoded': (value) =>
    bytesOf(value)
      .join('.')
      .replace(/\d/g, (digit) => `%3${digit}`),
  'IPv4-mapped': (value) => `[::ffff:${bytesOf(value).join('.')}]`,
  'IPv4-mapped, hexadecimal': (value) => `[0:0:0:0:0:FFFF:${hex(value)}]`,
  'IPv4-compatible': (value) => `[::${hex(value)}]`,
  'SIIT-translated': (value) => `[::ffff:0:${hex(value)}]`,
  NAT64: (value) => `[64:ff9b::${hex(value)}]`,
  'NAT64, local prefix': (value) => `[64:ff9b:1::${hex(value)}]`,
  '6to4': (value) => `[2002:${hex(value)}::1]`,
  Teredo: (value) => `[2001:0:808:808:0:0:${hex(inverse(value))}]`,
};

test('an address that is not public is refused in every spelling', (t) => {
  const policy = createAddressPolicy([]);
  const refuses = (host: string) => {
    const target = parseTarget(`http://${host}/`);
    return target.address === undefined || policy.refuseAddress(target.address, target) !== undefined;
  };
  for (const [name, spell] of Object.entries(SPELLINGS)) {
    fc.assert(
      fc.property(refusedBytes, (value) => refuses(spell(value))),
      { numRuns: 150 },
    );
    const seen = parseTarget(`http://${spell(0x7f000001)}/`).address;
    t.not(seen, undefined, `${name} is an address`);
  }
});

test('a public address is let pass in every spelling that reaches it directly', (t) => {
  const policy = createAddressPolicy([]);
  for (const name of ['dotted', 'decimal', 'two parts', 'IPv4-mapped', 'NAT64']) {
    const target = parseTarget(`http://${SPELLINGS[name]?.(0x08080808)}/`);
    t.is(target.host, '8.8.8.8', name);
    t.is(policy.refuseAddress(target.address!, target), undefined, name);
  }
});

const refusedIpv6 = fc
  .constantFrom(
    'fc00::/7',
    'fe80::/10',
    'fec0::/10',
    'ff00::/8',
    '2001::/32',
    '2001:db8::/32',
    '2002::/16',
    '4000::/2',
  )
  .chain((network) => {
    const [base, bits] = ipaddr.IPv6.parseCIDR(network);
    return fc.array(fc.nat(255), { minLength: 16, maxLength: 16 }).map((noise) => {
      const bytes = base.toByteArray().map((fixed, index) => {
        const own = Math.min(8, Math.max(0, bits - index * 8));
        const mask = (0xff << (8 - own)) & 0xff;
        return (fixed & mask) | ((noise[index] as number) & ~mask & 0xff);
      });
      return new ipaddr.IPv6(bytes);
    });
  });

test('so is every address of a refused IPv6 network, long or short', (t) => {
  const policy = createAddressPolicy([]);
  fc.assert(
    fc.property(refusedIpv6, (address) =>
      [address.toString(), address.toNormalizedString().toUpperCase(), address.toNormalizedString()].every(
        (text) => {
          const target = parseTarget(`http://[${text}]/`);
          return policy.refuseAddress(target.address!, target) !== undefined;
        },
      ),
    ),
  );
  t.pass();
});
