/** Whether `work` ended, in whatever way, within `milliseconds`. Never rejects. */
export async function endsWithin(milliseconds: number, work: Promise<unknown>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), milliseconds);
  const ended = () => resolve(true);
  work.then(ended, ended);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}
