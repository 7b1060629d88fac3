/**
 * Milliseconds of processor time that this thread has used. The difference around work that does not wait tells what it
 * costs, whatever else the machine does meanwhile.
 */
export function cpuNow(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
