import type { Ids } from '../../foundation/base/ids.ts';

/** Ids that are the same in every run: `00000000-0000-7000-8000-000000000001` and so on; bytes count up, too. */
export function fakeIds(): Ids {
  let count = 0;
  const next = () => {
    count += 1;
    return `00000000-0000-7000-8000-${count.toString(16).padStart(12, '0')}`;
  };
  return {
    uuid: next,
    opaque: next,
    bytes(length) {
      count += 1;
      return Buffer.alloc(length, count % 256);
    },
  };
}
