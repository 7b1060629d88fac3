/** Characters of one statement, about: MySQL takes 16 MiB in bytes, with everything around them and escaped. */
const MAX_STATEMENT = 2 * 1024 * 1024;

/** Rows in as few groups as statements can hold; nearly always it is one. */
export function inStatements<Row extends object>(rows: readonly Row[]): Row[][] {
  const batches: Row[][] = [];
  let room = 0;
  for (const row of rows) {
    const size = sizeOf(row);
    const last = batches.at(-1);
    if (last === undefined || size > room) {
      batches.push([row]);
      room = MAX_STATEMENT - size;
      continue;
    }
    last.push(row);
    room -= size;
  }
  return batches;
}

/** Characters of the texts in a row. */
export function sizeOf(row: object): number {
  let size = 0;
  for (const value of Object.values(row)) size += typeof value === 'string' ? value.length : 0;
  return size;
}
