/**
 * Gives the calls of one answer ids by which they find their results: each keeps the one that it has, unless that is
 * empty or another call's.
 *
 * @param newId makes an id that no call has
 */
export function createCallIds(newId: () => string): (given: string) => string {
  const used = new Set<string>();
  return (given) => {
    const id = given === '' || used.has(given) ? newId() : given;
    used.add(id);
    return id;
  };
}
