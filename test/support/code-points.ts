import fc from 'fast-check';

const SURROGATES = { first: 0xd800, count: 0x800 };

/**
 * Characters for `fc.string({ unit })`: any code point but half surrogates. What `unit: 'binary'` gives, which makes a
 * table of all of them in each process, for a second of its time and a hundred megabytes that stay.
 */
export const anyCodePoint = fc.nat({ max: 0x10ffff - SURROGATES.count }).map(
  (index) => String.fromCodePoint(index < SURROGATES.first ? index : index + SURROGATES.count),
  (text) => {
    const point = typeof text === 'string' ? (text.codePointAt(0) ?? -1) : -1;
    if (point < 0 || String.fromCodePoint(point) !== text || !text.isWellFormed())
      throw new Error('this is no code point');
    return point < SURROGATES.first ? point : point - SURROGATES.count;
  },
);
